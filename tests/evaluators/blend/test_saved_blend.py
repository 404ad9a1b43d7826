"""The folder of a blend with pretrained members: one copy of each model, and nothing outside the folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import rejoinder
from rejoinder.errors import CallError, DataError
from rejoinder.evaluators.blend.blend import Blend
from rejoinder.folders.foreign import checked_source
from rejoinder.models.causal import COPY, CausalModel
from saved_folders import copied_folder, saved_folder
from small_dialogues import tiny_encoder
from small_evaluators import judged
from tiny_causal import tiny_causal

KIND = "blend of pretrained models"
EXAMPLES = [item.example for item in judged()[:6]]


def change(path: Path, make: Callable[[dict[str, Any]], object]) -> None:
    """Change the content of a JSON file, which is a hard link."""
    config = json.loads(path.read_text(encoding="utf-8"))
    make(config)
    path.unlink()
    path.write_text(json.dumps(config), encoding="utf-8")


def with_place(number: int, place: dict[str, Any], folder: Path) -> Path:
    """A folder that says that a member is at this place."""
    copied_folder(KIND, folder)
    change(folder / "config.json", lambda config: config["learned"]["members"].__setitem__(number, place))
    return folder


def test_members_with_one_model_share_its_copy(tmp_path: Path) -> None:
    folder = saved_folder(KIND)
    assert sorted(path.name for path in folder.glob("member-*")) == ["member-1", "member-3"]
    assert len(list(folder.glob("member-*/**/model.safetensors"))) == 2
    loaded = rejoinder.load(folder)
    _, first, second, conditional, pmi = loaded.members_
    assert conditional.model_ is pmi.model_, "and it is loaded once"
    assert first.encoder_.network is second.encoder_.network
    assert (first.encoder_.max_length, second.encoder_.max_length) == (32, 16)
    assert (conditional.form, pmi.form) == ("conditional", "pmi")
    loaded.save(tmp_path / "again")
    again = rejoinder.load(tmp_path / "again")
    assert again.signature == loaded.signature
    np.testing.assert_array_equal(again.score(EXAMPLES), loaded.score(EXAMPLES))


def test_a_moved_folder_needs_no_other_files(tmp_path: Path) -> None:
    encoder, model = tmp_path / "encoder", tmp_path / "language model"
    shutil.copytree(tiny_encoder(), encoder)
    shutil.copytree(tiny_causal(), model)
    members = (
        f"encoder-cosine(encoder='{encoder}', against=last-turn, max_length=32)",
        f"likelihood(model='{model}', form=conditional)",
        f"likelihood(model='{model}', form=pmi)",
    )
    made = Blend(members=members, models=("ridge",)).fit((), judged())
    made.save(tmp_path / "mine")
    scores = made.score(EXAMPLES)
    shutil.rmtree(encoder)
    shutil.rmtree(model)
    (tmp_path / "mine").rename(tmp_path / "moved")
    moved = rejoinder.load(tmp_path / "moved")
    np.testing.assert_allclose(moved.score(EXAMPLES), scores, atol=1e-6)
    assert moved.signature == made.signature
    moved.save(tmp_path / "saved again")
    np.testing.assert_array_equal(rejoinder.load(tmp_path / "saved again").score(EXAMPLES), moved.score(EXAMPLES))


def test_of_a_gguf_file_only_the_file_is_copied(tmp_path: Path) -> None:
    for name in ("model.gguf", "other.gguf", "notes.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "saved").mkdir()
    CausalModel(None, None, tmp_path / "model.gguf").save(tmp_path / "saved")
    copy = tmp_path / "saved" / COPY
    assert [path.name for path in copy.iterdir()] == ["model.gguf"]
    assert checked_source(copy) == (str(copy), {"gguf_file": "model.gguf"}), "it is found without its name"


@pytest.mark.parametrize(
    "place",
    [
        {"folder": "/etc"},
        {"folder": ".."},
        {"folder": "../model"},
        {"folder": "../model", "parameters": {}},
        {"folder": "C:\\model"},
        {"shipped": "../model", "signature": ""},
        {"shipped": "likelihood(model='/somewhere')", "signature": ""},
        {"pretrained": "likelihood(model='/somewhere')", "signature": ""},
        {"open": "smollm2"},
    ],
)
def test_a_place_outside_the_folder_is_refused(place: dict[str, Any], tmp_path: Path) -> None:
    folder = with_place(3, place, tmp_path / "model")
    with pytest.raises(DataError, match=r"config\.json: field 'learned\.members") as caught:
        rejoinder.load(folder)
    assert "\n" not in str(caught.value)


ELSEWHERE = pytest.param(tiny_causal(), id="a folder elsewhere")


@pytest.mark.parametrize("name", ["someone/unheard-of", "../model", ELSEWHERE])
def test_a_language_model_that_is_neither_copied_nor_cached_is_refused(name: str, tmp_path: Path) -> None:
    folder = copied_folder(KIND, tmp_path / "model")
    shutil.rmtree(folder / "member-3" / "language-model")
    change(folder / "member-3" / "config.json", lambda config: config["parameters"].update(model=name))
    with pytest.raises(DataError, match="expected one within the folder, or a Hugging Face model that is in the cache"):
        rejoinder.load(folder)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"encoder": "x", "max_length": 9999}, "'max_length': must be from"),
        ({"encoder": "x", "refs": "least"}, "refs must be one of"),
        ({"model": "x"}, "unknown parameter of encoder-cosine"),
        (3, "must be an object"),
    ],
)
def test_parameters_of_a_shared_model_are_checked(parameters: object, message: str, tmp_path: Path) -> None:
    folder = with_place(2, {"folder": "member-1", "parameters": parameters}, tmp_path / "model")
    with pytest.raises(DataError, match=message):
        rejoinder.load(folder)


def test_a_folder_with_too_few_members_is_refused(tmp_path: Path) -> None:
    folder = copied_folder("blend", tmp_path / "model")
    change(folder / "config.json", lambda config: config["learned"]["members"].pop())
    with pytest.raises(DataError, match="one entry per member"):
        rejoinder.load(folder)


def test_a_column_that_no_member_has(tmp_path: Path) -> None:
    folder = copied_folder("blend", tmp_path / "model")
    change(folder / "config.json", lambda config: config["learned"]["columns"].__setitem__(0, "unheard-of"))
    with pytest.raises(CallError, match="no member gives the column"):
        rejoinder.load(folder).score(EXAMPLES)

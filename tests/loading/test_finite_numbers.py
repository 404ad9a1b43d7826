"""No folder is opened whose arrays have numbers that are not finite, whatever its kind, and however few they are."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from safetensors.torch import load_file, save

import rejoinder
from rejoinder.errors import CallError, DataError
from rejoinder.evaluators.calibration import OVERFLOW
from rejoinder.registry import load_folder
from saved_folders import EXAMPLE, KINDS, copied_folder, saved_folder
from small_evaluators import Lengthy, judged

LOGARITHMS = ("log_prob", "back_off", "pair_log_prob")
"""Arrays that may have -inf, as the logarithm of 0, but nothing else that is not finite."""


def with_array(folder: Path, file: Path, name: str, array: torch.Tensor) -> None:
    """Replace an array of a file, which may be a hard link."""
    content = save({**load_file(folder / file), name: array})
    os.unlink(folder / file)
    (folder / file).write_bytes(content)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_number_that_is_not_finite_is_refused_when_the_folder_is_opened(kind: str, tmp_path: Path) -> None:
    saved = saved_folder(kind)
    number = 0
    for path in sorted(saved.rglob("*.safetensors")):
        for name, array in load_file(path).items():
            if not array.is_floating_point() or not array.numel():
                continue
            number += 1
            folder, file = copied_folder(kind, tmp_path / str(number)), path.relative_to(saved)
            # Of three values one for each array; for a logarithm, -inf is right.
            values = [torch.nan, torch.inf, -torch.inf]
            wrong = values[number % (2 if name.partition(".")[0] in LOGARITHMS else 3)]
            array.view(-1)[number % array.numel()] = wrong
            with_array(folder, file, name, array)
            with pytest.raises(DataError, match="holds numbers that are not finite") as caught:
                load_folder(folder, {})
            assert caught.value.file == str(folder / file)
            assert caught.value.field == name
            assert "\n" not in str(caught.value)


def test_a_learned_array_of_any_evaluator_must_be_finite(tmp_path: Path) -> None:
    made = Lengthy().fit((), judged())
    made.save(tmp_path / "model")
    with_array(tmp_path / "model", Path("learned.safetensors"), "line_", torch.tensor([1.0, torch.nan]).double())
    with pytest.raises(DataError, match=r"learned\.safetensors: field 'line_': holds numbers that are not finite"):
        Lengthy.load(tmp_path / "model")
    made.line_[0] = np.inf
    with pytest.raises(CallError, match="lengthy cannot be saved: line_ holds numbers that are not finite"):
        made.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()


OVERFLOWING = {
    "encoder": "encoder.encoder.layer.0.attention.self.query.weight",
    "encoder-cosine": "encoder.layer.0.attention.self.key.weight",
    "skip-thought": "reader.gru.weight_hh_l0",
    "likelihood": "model.layers.0.self_attn.q_proj.weight",
    "static": "bridge",
    "am": "vectors",
    "am-fm": "vectors",
    "fm, causal language model": "model.layers.0.self_attn.q_proj.weight",
    "ruber": "head.matrix",
    "ruber-unref": "head.matrix",
    "adem": "forwards.weight_hh_l0",
    "c-adem": "forwards.weight_hh_l0",
    "r-adem": "forwards.weight_hh_l0",
    "encoder-dot": "forwards.weight_hh_l0",
    "vhred-dot": "reader.gru.weight_hh_l0",
    "human-likeness": "forwards.weight_hh_l0",
}
"""Kind of folder -> weights that are finite, but with which its network gives NaN."""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", OVERFLOWING)
def test_finite_weights_that_overflow_give_no_score_for_that_reason(kind: str, tmp_path: Path) -> None:
    folder, name = copied_folder(kind, tmp_path / "model"), OVERFLOWING[kind]
    [path] = [path for path in folder.rglob("*.safetensors") if name in load_file(path)]
    array = load_file(path)[name]
    signs = torch.randn(array.shape, generator=torch.Generator().manual_seed(1)).sign()
    with_array(folder, path.relative_to(folder), name, (signs * 0.9 * torch.finfo(array.dtype).max).to(array.dtype))
    with pytest.warns(rejoinder.ScoreWarning):
        table = rejoinder.score([EXAMPLE], metrics=[str(folder)])
    assert np.isnan(table[str(folder)]).all()
    assert any("could not score 1 of 1 replies (no" in note and OVERFLOW in note for note in table.notes)

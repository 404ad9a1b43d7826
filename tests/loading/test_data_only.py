"""A model folder is data: nothing in it is run, nothing is asked, and nothing outside it is opened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import rejoinder
from rejoinder.errors import CallError, DataError, RejoinderError
from rejoinder.evaluators.am_fm import AmFm
from rejoinder.evaluators.blend.blend import Blend
from rejoinder.evaluators.ensemble import Ensemble
from rejoinder.evaluators.ruber.unref import RuberRef
from rejoinder.folders.foreign import checked_source, shaped
from rejoinder.models.causal import CausalModel
from rejoinder.models.text_encoder import pretrained
from saved_folders import EXAMPLE, WITH_TRANSFORMERS, copied_folder, saved_folder
from small_evaluators import dialogues, judged
from tiny_causal import tiny_causal
from tiny_encoder import write_encoder

OWN_CODE = """
import pathlib
pathlib.Path({proof!r}).write_text("code of the folder was run")
from transformers import BertConfig as Config, BertModel as Model, PreTrainedTokenizerFast as Tokenizer
"""
AUTO_MAP = {
    "AutoConfig": "own_code.Config",
    "AutoModel": "own_code.Model",
    "AutoModelForCausalLM": "own_code.Model",
    "AutoTokenizer": ["own_code.Tokenizer", "own_code.Tokenizer"],
}


def plant(folder: Path, proof: Path, *, model_type: str | None) -> None:
    """Put a module into the folder, and name it in every JSON object of it that transformers could read."""
    for home in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        (home / "own_code.py").write_text(OWN_CODE.format(proof=str(proof)))
    for path in set(folder.rglob("*.json")) - set(folder.rglob("tokenizer.json")):
        content: dict[str, Any] = json.loads(path.read_text())
        if "model_type" in content and model_type is not None:
            content["model_type"] = model_type
        path.unlink()  # it may be a hard link
        path.write_text(json.dumps(content | {"auto_map": AUTO_MAP}))


@pytest.mark.parametrize("model_type", [None, "unheard-of"])
@pytest.mark.parametrize("kind", WITH_TRANSFORMERS)
def test_code_in_a_folder_is_not_run(
    kind: str, model_type: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, where standard input would answer yes."""
    folder, proof = copied_folder(kind, tmp_path / "model"), tmp_path / "proof"
    plant(folder, proof, model_type=model_type)
    asked: list[str] = []

    def yes(*words: object) -> str:
        asked.append(str(words))
        return "y"

    monkeypatch.setattr("builtins.input", yes)
    monkeypatch.syspath_prepend(str(tmp_path))
    with suppress(RejoinderError):
        rejoinder.load(folder)
    assert not asked
    assert not proof.exists()


def test_the_data_on_standard_input_answer_no_question(tmp_path: Path) -> None:
    """`printf 'y\\ny\\n{...}\\n' | rejoinder score - -m FOLDER` once ran the module of the folder."""
    folder, proof = copied_folder("likelihood", tmp_path / "model"), tmp_path / "proof"
    plant(folder, proof, model_type="unheard-of")
    example = json.dumps({"response": EXAMPLE.response, "context": list(EXAMPLE.context)})
    command = [sys.executable, "-m", "rejoinder", "score", "-", "-m", str(folder)]
    ran = subprocess.run(command, input=f"y\ny\n{example}\n", capture_output=True, text=True, check=False, timeout=240)
    assert not proof.exists()
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "run the custom code" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("auto_map", [True, False])
def test_code_in_a_pretrained_folder_is_not_run(tmp_path: Path, auto_map: bool) -> None:
    folder, proof = write_encoder(tmp_path / "encoder"), tmp_path / "proof"
    plant(folder, proof, model_type=None if auto_map else "unheard-of")
    if auto_map:
        pretrained(str(folder))  # BERT is known without the module
    else:
        with pytest.raises(CallError, match=r"encoder cannot be loaded \(it needs code of its own"):
            pretrained(str(folder))
    assert not proof.exists()


@pytest.mark.parametrize("key", ["num_hidden_layers", "num_local_experts", "depths"])
def test_a_network_of_a_million_layers_is_not_built(key: str, tmp_path: Path) -> None:
    many: Any = [3, 10**6] if key == "depths" else 10**6
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_size": 8, key: many}))
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(DataError, match=f"field '{key}': must be at most 1000, not"):
        checked_source(tmp_path)
    with pytest.raises(DataError, match=f"field '{key}': must be at most 1000, not"):
        shaped("AutoModel", (tmp_path / "config.json").read_text(), "config.json", 100)


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder")
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(CallError, match=r"expected weights in model\.safetensors \(pytorch_model\.bin is a pickle"):
        pretrained(str(folder))
    with pytest.raises(CallError, match=r"pytorch_model\.bin is a pickle, which can run code"):
        CausalModel.load(str(folder))


@pytest.mark.parametrize(
    ("file", "change", "problem"),
    [
        ("config.json", {"_attn_implementation": "someone/kernel"}, "must be eager or sdpa"),
        ("config.json", {"quantization_config": {"quant_method": "x"}}, "names code"),
        ("adapter_config.json", {"base_model_name_or_path": "/elsewhere"}, "expected a whole model, not an adapter"),
        ("model.safetensors.index.json", {"weight_map": {"a": "../b.safetensors"}}, "a file within the folder"),
    ],
)
def test_what_leads_elsewhere_is_refused(file: str, change: dict[str, Any], problem: str, tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder")
    path = folder / file
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | change))
    with pytest.raises(DataError, match=problem):
        pretrained(str(folder))


@pytest.mark.parametrize(
    "kind",
    ["am", "encoder-cosine", "adem", "likelihood", "stored-vectors", "default-fast", "blend of pretrained models"],
)
def test_links_that_leave_the_folder(kind: str, tmp_path: Path) -> None:
    folder = copied_folder(kind, tmp_path / "model")
    file = next(path for path in sorted(folder.rglob("*.safetensors")))
    outside = tmp_path / "outside.safetensors"
    os.link(file, outside)
    file.unlink()
    file.symlink_to(outside)
    with pytest.raises(DataError, match=f"{file.name}: is a link to a place outside the model folder"):
        rejoinder.load(folder)


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(saved_folder("am"))
    assert rejoinder.load(tmp_path / "link").score([EXAMPLE]).shape == (1,)


@pytest.mark.parametrize("name", ["likelihood", "fm"])
def test_a_local_language_model_is_part_of_the_folder(name: str, tmp_path: Path) -> None:
    given = {"model": tiny_causal()} if name == "likelihood" else {"lm": tiny_causal()}
    rejoinder.load(f"{name}", **given).fit().save(tmp_path / "model")
    folder = tmp_path / "model"
    before = rejoinder.load(folder).score([EXAMPLE])
    config = json.loads((folder / "config.json").read_text())
    config["parameters"] |= dict.fromkeys(given, str(tmp_path / "gone"))
    (folder / "config.json").write_text(json.dumps(config))
    assert rejoinder.load(folder).score([EXAMPLE]) == before
    for path in (folder / "language-model").iterdir():
        path.unlink()
    (folder / "language-model").rmdir()
    for elsewhere in (tiny_causal(), "../model", "someone/unheard-of"):
        config["parameters"] |= dict.fromkeys(given, elsewhere)
        (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(
            DataError, match="expected one within the folder, or a Hugging Face model that is in the cache"
        ):
            rejoinder.load(folder)


def test_given_word_vectors_are_part_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_CACHE", str(tmp_path / "cache"))
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("how 1 2\nare 2 1\nfine -1 1\nwell 3 1\nvery 1 0\nyou 0 1\n")
    made = RuberRef(vectors=str(vectors)).fit(dialogues())
    made.save(tmp_path / "model")
    vectors.unlink()
    loaded = RuberRef.load(tmp_path / "model")
    assert loaded.score([EXAMPLE]) == made.score([EXAMPLE])
    assert loaded.signature == made.signature
    (tmp_path / "model" / "vectors.safetensors").unlink()
    with pytest.raises(DataError, match="expected word vectors within the folder"):
        RuberRef.load(tmp_path / "model")


def test_the_evaluator_behind_pm_is_part_of_the_folder(tmp_path: Path) -> None:
    pm = copied_folder("am, calibrated", tmp_path / "am")
    made = AmFm(pm=str(pm)).fit(dialogues())
    made.save(tmp_path / "model")
    expected = made.score([EXAMPLE])
    pm.rename(tmp_path / "gone")
    loaded = AmFm.load(tmp_path / "model")
    assert loaded.score([EXAMPLE]) == expected
    assert loaded.signature == made.signature


@pytest.mark.parametrize(
    ("metric", "parameters"),
    [
        ("judge", {"model": "m", "url": "http://somewhere"}),
        ("embedding-average", {"vectors": "/etc/passwd"}),
        ("embedding-average", {"vectors": "file-beside"}),
        ("meteor", {"paraphrases": "../table.gz"}),
        ("pm", {"by": "judge(model=m, url='http://somewhere')"}),
        ("../am", {}),
    ],
)
@pytest.mark.parametrize("kind", ["ensemble", "blend"])
def test_members_that_read_files_or_ask_someone(
    kind: str, metric: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    folder = copied_folder(kind, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["learned"]["members"][0] = {"metric": metric, "parameters": parameters}
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(CallError, match="cannot be part of a model folder"):
        rejoinder.load(folder)
    config["learned"]["members"][0] = {"folder": "../member"}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match="must be the name of a file within the folder"):
        rejoinder.load(folder)


@pytest.mark.parametrize("kind", [Ensemble, Blend])
def test_a_member_that_reads_files_cannot_be_saved(kind: type[Ensemble | Blend], tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("how 1 2\nare 2 1\nfine -1 1\nhello 0 1\nhi 0.5 1\nwell 3 1\nword 2 1\n")
    made = kind(members=("length", f"embedding-average(vectors='{vectors}')")).fit(dialogues(), judged())
    with pytest.raises(CallError, match="a metric that reads other files cannot be part of a model folder"):
        made.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()

"""`setup`: the weights of a blend with models that lie elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from rejoinder.errors import CallError
from rejoinder.evaluators.blend.blend import Blend
from rejoinder.metrics.base import ScoreWarning
from rejoinder.registry import load
from rejoinder.training.train import opened, setup
from small_dialogues import tiny_encoder
from small_evaluators import judged
from tiny_causal import tiny_causal


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Blend]:
    home = tmp_path_factory.mktemp("blend")
    members = (
        "length",
        f"encoder-cosine(encoder='{tiny_encoder()}', against=last-turn, max_length=32)",
        f"likelihood(model='{tiny_causal()}', form=conditional)",
    )
    blend = Blend(members=members, models=("ridge",)).fit((), judged())
    blend.save(home / "fitted")
    opened(home / "fitted", home / "template", {"mpnet": tiny_encoder(), "smollm2": tiny_causal()})
    return home / "template", blend


def test_the_same_models_elsewhere_give_the_same_scores(fitted: tuple[Path, Blend], tmp_path: Path) -> None:
    template, blend = fitted
    text = (template / "config.json").read_text()
    assert tiny_encoder() not in text
    assert tiny_causal() not in text
    assert not list(template.glob("member-*")), "a template has no models"
    models = {
        "mpnet": str(shutil.copytree(tiny_encoder(), tmp_path / "encoder here")),
        "smollm2": str(shutil.copytree(tiny_causal(), tmp_path / "model")),
    }
    made = setup("default-large", tmp_path / "large", **models, template=template)
    examples = [item.example for item in judged()[:6]]
    np.testing.assert_allclose(made.score(examples), blend.score(examples), atol=1e-6)
    for model in models.values():
        shutil.rmtree(model)
    (tmp_path / "large").rename(tmp_path / "moved")
    np.testing.assert_array_equal(load(tmp_path / "moved").score(examples), made.score(examples))


def test_another_encoder_is_refused_and_nothing_written(fitted: tuple[Path, Blend], tmp_path: Path) -> None:
    other = shutil.copytree(tiny_encoder(), tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    weights["embeddings.LayerNorm.bias"][0] += 1
    save_file(weights, other / "model.safetensors", {"format": "pt"})
    models = {"mpnet": str(other), "smollm2": tiny_causal()}
    with pytest.raises(
        CallError, match=r"other is not the encoder .* expected sentence-transformers/all-mpnet-base-v2"
    ):
        setup("default-large", tmp_path / "large", **models, template=fitted[0])
    assert not (tmp_path / "large").exists()


def test_what_is_missing_is_said_in_one_line(fitted: tuple[Path, Blend], tmp_path: Path) -> None:
    models = {"mpnet": tiny_encoder(), "smollm2": str(tmp_path / "nowhere")}
    with pytest.raises(CallError, match=r"no model .*there is no such file or folder"):
        setup("default-large", tmp_path / "large", **models, template=fitted[0])
    both = {"mpnet": str(tmp_path / "a"), "smollm2": str(tmp_path / "b")}
    with pytest.raises(
        CallError, match=r"needs .*a and .*b, which are neither .* expected --mpnet FOLDER --smollm2 FO"
    ):
        setup("default-large", tmp_path / "large", **both, template=fitted[0])
    assert not (tmp_path / "large").exists()
    with pytest.raises(CallError, match="rejoinder setup default-large --mpnet MODEL --smollm2 MODEL"):
        load("default-large")
    with pytest.raises(CallError, match="did you mean default-large"):
        setup("default-larg", tmp_path / "large")


def test_another_form_of_the_language_model_is_told(fitted: tuple[Path, Blend], tmp_path: Path) -> None:
    other = shutil.copytree(tiny_causal(), tmp_path / "other")
    [path] = other.glob("*.safetensors")
    weights = {name: array * np.float32(1.01) for name, array in load_file(path).items()}
    save_file(weights, path, {"format": "pt"})
    with pytest.warns(ScoreWarning, match="other weights"):
        setup("default-large", tmp_path / "large", mpnet=tiny_encoder(), smollm2=str(other), template=fitted[0])

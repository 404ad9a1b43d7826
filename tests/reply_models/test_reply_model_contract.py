"""What every reply model of the registry must do."""

from __future__ import annotations

import inspect
import json
from dataclasses import FrozenInstanceError
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from interrupted import files_of, resumed
from rejoinder.errors import CallError, NeedsError, UnknownNameError
from rejoinder.registry import EVALUATORS, REPLY_MODELS, build_reply_model, load_reply_model, reply_model_class
from rejoinder.replies.base import Decoding, ReplyModel
from rejoinder.types import Dialogue, Example, JudgedExample
from small_dialogues import CONTEXTS, DIALOGUES, HOSTILE, LEXICAL, SMALL, small_parameters


def unfitted_model(name: str) -> ReplyModel:
    model: ReplyModel = build_reply_model(name, small_parameters(name))
    return model


@cache
def fitted_model(name: str) -> ReplyModel:
    return unfitted_model(name).fit(DIALOGUES, seed=3)


@pytest.fixture(params=SMALL)
def unfitted(request: pytest.FixtureRequest) -> ReplyModel:
    return unfitted_model(request.param)


@pytest.fixture(params=SMALL)
def fitted(request: pytest.FixtureRequest) -> ReplyModel:
    return fitted_model(request.param)


def test_every_reply_model_is_tested() -> None:
    assert SMALL.keys() == REPLY_MODELS.keys()


def test_names_and_classes_agree() -> None:
    assert not REPLY_MODELS.keys() & EVALUATORS.keys(), "config.json distinguishes them by name"
    for name in REPLY_MODELS:
        cls = reply_model_class(name)
        assert (cls.name, cls.kind) == (name, "reply model")
        assert cls.__doc__
        assert cls.about
        assert cls.citation
        assert list(inspect.signature(cls.fit).parameters) == ["self", "dialogues", "judged", "valid", "seed", "run"]
    with pytest.raises(UnknownNameError, match="did you mean bm25"):
        reply_model_class("bm26")


def test_unfitted_use_is_refused(unfitted: ReplyModel, tmp_path: Path) -> None:
    with pytest.raises(CallError, match="is not fitted"):
        unfitted.reply(CONTEXTS)
    with pytest.raises(CallError, match="is not fitted"):
        unfitted.save(tmp_path / "model")
    with pytest.raises(NeedsError, match="expected at least one"):
        unfitted.fit([])
    with pytest.raises(NeedsError, match="the validation dialogues contain no reply"):
        unfitted.fit(DIALOGUES, valid=[Dialogue("1", ("Will it rain today?", " "))])
    with pytest.raises(CallError, match="takes no judged examples"):
        unfitted.fit(DIALOGUES, [JudgedExample(Example("1", ("a",), "b"), {"overall": (1.0,)})])
    assert not list(tmp_path.iterdir())


def test_one_reply_per_context(fitted: ReplyModel) -> None:
    replies = fitted.reply(CONTEXTS)
    assert len(replies) == len(CONTEXTS)
    assert all(isinstance(reply, str) for reply in replies)
    assert fitted.reply([]) == []
    assert fitted.reply([list(context) for context in CONTEXTS]) == replies


def test_neither_order_nor_company_matters(fitted: ReplyModel) -> None:
    together = fitted.reply(CONTEXTS, seed=1)
    assert fitted.reply(CONTEXTS[::-1], seed=1) == together[::-1]
    assert [fitted.reply([context], seed=1)[0] for context in CONTEXTS] == together


def test_hostile_contexts_get_a_reply(fitted: ReplyModel) -> None:
    assert len(fitted.reply(HOSTILE)) == len(HOSTILE)


def test_a_text_is_no_context(fitted: ReplyModel) -> None:
    with pytest.raises(CallError, match="a context is a list of turns"):
        fitted.reply(["Hello there."])
    with pytest.raises(CallError, match="1 true replies for 2 contexts"):
        fitted.reply(CONTEXTS[:2], true_replies=["Yes."])


def test_the_seed_decides(fitted: ReplyModel) -> None:
    again = unfitted_model(fitted.name).fit(DIALOGUES, seed=3)
    assert again == fitted
    assert again.reply(CONTEXTS, seed=5) == fitted.reply(CONTEXTS, seed=5)
    assert again.signature == fitted.signature


@pytest.mark.parametrize("name", [name for name in SMALL if name not in LEXICAL])
def test_resumed_training_gives_the_same_model(name: str, tmp_path: Path) -> None:
    again = resumed(lambda run: unfitted_model(name).fit(DIALOGUES, seed=3, run=run), tmp_path / "checkpoints")
    fitted_model(name).save(tmp_path / "whole")
    again.save(tmp_path / "resumed")
    assert files_of(tmp_path / "resumed") == files_of(tmp_path / "whole")


def test_saved_and_loaded_it_is_the_same(fitted: ReplyModel, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = load_reply_model(tmp_path / "model")
    assert loaded == fitted
    assert hash(loaded) == hash(fitted)
    assert loaded.signature == fitted.signature
    assert loaded.reply([*CONTEXTS, *HOSTILE]) == fitted.reply([*CONTEXTS, *HOSTILE])
    np.testing.assert_array_equal(loaded.trained_contexts.keys, fitted.trained_contexts.keys)
    if fitted.has_encoder:
        np.testing.assert_array_equal(loaded.encode(CONTEXTS), fitted.encode(CONTEXTS))


def test_nothing_saved_can_run_code(fitted: ReplyModel, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    assert {path.suffix for path in (tmp_path / "model").iterdir()} <= {".json", ".safetensors"}
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert (config["name"], config["signature"]) == (fitted.name, fitted.signature)
    assert config["parameters"].keys() == fitted.parameters.keys()


def test_a_folder_of_something_else_is_left_alone(fitted: ReplyModel, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CallError, match="holds something else: expected a new folder, or one that a reply model was"):
        fitted.save(tmp_path)
    with pytest.raises(CallError, match="holds no reply model"):
        load_reply_model(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_encoder_makes_vectors(fitted: ReplyModel) -> None:
    if not fitted.has_encoder:
        with pytest.raises(CallError, match="has no encoder"):
            fitted.encode(["Hello."])
        return
    vectors = fitted.encode(CONTEXTS)
    assert vectors.shape[0] == len(CONTEXTS)
    assert vectors.dtype == np.float32
    assert fitted.encode([]).shape == (0, vectors.shape[1])
    assert np.isfinite(fitted.encode(HOSTILE)).all()
    np.testing.assert_allclose(fitted.encode(["Hello."]), fitted.encode([("Hello.",)]))
    np.testing.assert_allclose(fitted.encode(CONTEXTS[::-1]), vectors[::-1], atol=1e-6, rtol=0)
    alone = np.concatenate([fitted.encode([context]) for context in CONTEXTS])
    np.testing.assert_allclose(alone, vectors, atol=1e-6, rtol=0)


def test_decoding_is_for_models_that_decode(fitted: ReplyModel) -> None:
    if fitted.decodes:
        assert len(fitted.reply(CONTEXTS[:2], decoding=Decoding(method="nucleus", max_tokens=5))) == 2
    else:
        with pytest.raises(CallError, match="takes no decoding"):
            fitted.reply(CONTEXTS[:2], decoding=Decoding())


def test_parameters_are_fixed_and_learned_fields_are_none(fitted: ReplyModel) -> None:
    unfitted = type(fitted)(**fitted.parameters)
    assert unfitted.parameters == fitted.parameters
    assert unfitted != fitted
    assert not any(name.endswith("_") for name in fitted.parameters)
    with pytest.raises(FrozenInstanceError):
        fitted.fit_ = None  # type: ignore[misc]


def test_what_it_was_trained_on_is_known(fitted: ReplyModel) -> None:
    assert (fitted.fitted.dialogues, fitted.fitted.seed) == (len(DIALOGUES), 3)
    assert len(fitted.trained_contexts)

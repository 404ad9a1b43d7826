"""What every sentence encoder of the registry must do."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs what training needs")

from interrupted import files_of, resumed  # noqa: E402
from rejoinder.errors import CallError, NeedsError  # noqa: E402
from rejoinder.evaluators.simple import SkipThought  # noqa: E402
from rejoinder.models.sentence_encoders import PretrainedEncoder, SentenceEncoder, StoredVectors, Text, sentence_encoder  # noqa: E402  # noqa: E402
from rejoinder.models.tweet2vec import Tweet2Vec  # noqa: E402
from rejoinder.registry import ENCODERS, REPLY_MODELS  # noqa: E402
from small_dialogues import CONTEXTS, DIALOGUES, HOSTILE, SMALL_RECURRENT, tiny_encoder  # noqa: E402

TEXTS = [*CONTEXTS, *(turn for dialogue in DIALOGUES for turn in dialogue.turns)]
STRANGE = [*HOSTILE, *(turn for context in HOSTILE for turn in context[:2])]

TRAINED: Mapping[str, Callable[[], Any]] = {
    "tweet2vec": lambda: Tweet2Vec(embedding=4, hidden=6, width=8, longest=40, steps=3, batch=6),
    "skip-thought": lambda: SkipThought(**SMALL_RECURRENT),
}
"""Encoders that have `fit`."""


def stored() -> StoredVectors:
    """A random vector for each text; a text has the same one as a context of that one turn."""
    rng = np.random.default_rng(0)
    vector_of: dict[Text, Any] = {}
    for text in (*TEXTS, *STRANGE):
        turns = (text,) if isinstance(text, str) else tuple(text) or ("",)
        vector_of.setdefault(turns, rng.normal(size=6))
    return StoredVectors.of(vector_of, "random|0", made("tweet2vec").trained_contexts)


MAKERS: Mapping[str, Callable[[], SentenceEncoder]] = {
    **{name: lambda make=make: make().fit(DIALOGUES, seed=3) for name, make in TRAINED.items()},  # type: ignore[misc]
    "stored-vectors": stored,
    "pretrained": lambda: PretrainedEncoder.start(tiny_encoder(), 32),
}


@cache
def made(name: str) -> SentenceEncoder:
    return MAKERS[name]()


@pytest.fixture(params=MAKERS)
def encoder(request: pytest.FixtureRequest) -> SentenceEncoder:
    return made(request.param)


@pytest.fixture(params=TRAINED)
def trained(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_every_encoder_is_tested() -> None:
    assert MAKERS.keys() == ENCODERS.keys()
    assert not ENCODERS.keys() & REPLY_MODELS.keys(), "config.json distinguishes them by name"


def test_names_and_classes_agree(encoder: SentenceEncoder) -> None:
    cls = type(encoder)
    assert f"{cls.__module__}:{cls.__qualname__}" == ENCODERS[encoder.name]
    if encoder.name in TRAINED:
        parameters = inspect.signature(cls.fit).parameters  # type: ignore[attr-defined]
        assert list(parameters) == ["self", "dialogues", "judged", "valid", "seed", "run"]
    else:
        assert not hasattr(cls, "fit")


def test_one_vector_per_text(encoder: SentenceEncoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape[0] == len(TEXTS)
    assert vectors.dtype == np.float32
    assert len(np.unique(vectors, axis=0)) > len(TEXTS) // 2, "different texts have different vectors"
    assert encoder.encode([]).shape == (0, vectors.shape[1])
    np.testing.assert_array_equal(encoder.encode(["Thanks!"]), encoder.encode([("Thanks!",)]))


def test_neither_order_nor_company_matters(encoder: SentenceEncoder) -> None:
    together = encoder.encode(TEXTS)
    np.testing.assert_allclose(encoder.encode(TEXTS[::-1]), together[::-1], atol=1e-6, rtol=0)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(alone, together, atol=1e-6, rtol=0)


def test_hostile_texts_have_vectors(encoder: SentenceEncoder) -> None:
    vectors = encoder.encode(STRANGE)
    assert vectors.shape == (len(STRANGE), encoder.encode(TEXTS[:1]).shape[1])
    assert np.isfinite(vectors).all()


def test_saved_and_loaded_it_is_the_same(encoder: SentenceEncoder, tmp_path: Path) -> None:
    encoder.save(tmp_path / "encoder")
    loaded = sentence_encoder(str(tmp_path / "encoder"))
    assert type(loaded) is type(encoder)
    assert loaded.signature == encoder.signature
    np.testing.assert_array_equal(loaded.encode([*TEXTS, *STRANGE]), encoder.encode([*TEXTS, *STRANGE]))
    np.testing.assert_array_equal(loaded.trained_contexts.keys, encoder.trained_contexts.keys)
    assert {path.suffix for path in (tmp_path / "encoder").iterdir()} <= {".json", ".safetensors"}
    config = json.loads((tmp_path / "encoder" / "config.json").read_text())
    assert (config["name"], config["signature"]) == (encoder.name, encoder.signature)


def test_a_folder_of_something_else_is_left_alone(encoder: SentenceEncoder, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CallError, match="holds something else"):
        encoder.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_seed_decides(trained: str) -> None:
    same, other = (TRAINED[trained]().fit(DIALOGUES, seed=seed) for seed in (3, 4))
    assert same.signature == made(trained).signature != other.signature
    np.testing.assert_array_equal(same.encode(TEXTS), made(trained).encode(TEXTS))
    assert not np.allclose(other.encode(TEXTS), same.encode(TEXTS))


def test_resumed_training_gives_the_same_encoder(trained: str, tmp_path: Path) -> None:
    again = resumed(lambda run: TRAINED[trained]().fit(DIALOGUES, seed=3, run=run), tmp_path / "checkpoints")
    made(trained).save(tmp_path / "whole")
    again.save(tmp_path / "resumed")
    assert files_of(tmp_path / "resumed") == files_of(tmp_path / "whole")


def test_unfitted_use_is_refused(trained: str, tmp_path: Path) -> None:
    unfitted = TRAINED[trained]()
    with pytest.raises(CallError, match=f"{trained} is not fitted"):
        unfitted.encode(["a"])
    with pytest.raises(CallError, match=f"{trained} is not fitted"):
        unfitted.save(tmp_path / "encoder")
    with pytest.raises(NeedsError, match="expected at least one"):
        unfitted.fit([])
    assert not list(tmp_path.iterdir())


def test_what_it_was_trained_on_is_known(trained: str) -> None:
    assert (made(trained).fitted.dialogues, made(trained).fitted.seed) == (len(DIALOGUES), 3)  # type: ignore[attr-defined]
    assert len(made(trained).trained_contexts)

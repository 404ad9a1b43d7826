"""Vectors that were computed before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rejoinder.data.contexts import TrainedContexts
from rejoinder.errors import CallError, DataError
from rejoinder.folders.saved import write_arrays
from rejoinder.models.sentence_encoders import StoredVectors, encoder_digest, sentence_encoder

VECTORS = {"hello": np.array([1.0, 2.0]), ("hello", "hi"): np.array([3.0, 4.0]), "lone \ud800": np.array([5.0, 6.0])}


def test_each_text_has_its_own_vector() -> None:
    stored = StoredVectors.of(VECTORS, "made|1")
    assert stored.encode([("hello", "hi"), "hello", ("hello",)]).tolist() == [[3, 4], [1, 2], [1, 2]]
    assert stored.encode([]).shape == (0, 2)
    assert "hello" in stored
    assert ("hi", "hello") not in stored
    with pytest.raises(CallError, match="no vector is stored for 1 of 2 texts; the first is 'what'"):
        stored.encode(["hello", "what"])
    with pytest.raises(CallError, match="at least one text"):
        StoredVectors.of({}, "made|1")


def test_saved_and_loaded_they_are_the_same(tmp_path: Path) -> None:
    contexts = TrainedContexts(np.array([7], np.uint64))
    StoredVectors.of(VECTORS, "made|1", contexts).save(tmp_path / "vectors")
    loaded = sentence_encoder(str(tmp_path / "vectors"))
    assert loaded.encode(list(VECTORS)).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert loaded.signature == "made|1"
    assert loaded.trained_contexts.keys.tolist() == [7]
    first = encoder_digest(str(tmp_path / "vectors"))
    StoredVectors.of(VECTORS, "made|2").save(tmp_path / "vectors")
    assert encoder_digest(str(tmp_path / "vectors")) != first
    write_arrays(tmp_path / "vectors" / "learned.safetensors", {"keys": loaded.trained_contexts.keys})
    with pytest.raises(DataError, match="'vectors': is missing"):
        StoredVectors.load(tmp_path / "vectors")

"""Candidate replies: of every kind, always the same, and worse where they say so."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from rejoinder.data.negatives import places_of
from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.replay import CANDIDATE_KINDS, WORSE, candidate_kind, candidates_of, reply_vectors
from tiny_encoder import dialogues


def test_candidates_of_every_kind() -> None:
    found = candidates_of(dialogues(), 40)
    counts = Counter(map(candidate_kind, found))
    assert counts["true"] == len({example.context_id for example in found}) == 40
    assert set(counts) <= {"true", *CANDIDATE_KINDS}
    assert min(counts[kind] for kind in ("random", "same_dialogue", "echo", "shuffled", "truncated", "repeated")) > 20
    assert len({(example.context_id, example.response) for example in found}) == len(found)
    assert all(example.context and example.response.strip() for example in found)
    assert found == candidates_of(dialogues(), 40)
    assert found != candidates_of(dialogues(), 40, seed=1)


def test_only_the_kinds_that_are_asked_for() -> None:
    counts = Counter(map(candidate_kind, candidates_of(dialogues(), 40, kinds=WORSE)))
    assert set(counts) == {"true", *WORSE}
    assert set(map(candidate_kind, candidates_of(dialogues(), 40, kinds=()))) == {"true"}
    with pytest.raises(CallError, match="expected at least two replies in them"):
        candidates_of(dialogues()[:0], 1)


def test_vectors_of_replies() -> None:
    places = places_of(dialogues())
    vectors = reply_vectors(places)
    assert vectors.shape[0] == len(places)
    assert np.isfinite(vectors).all()
    assert (np.linalg.norm(vectors, axis=1) > 0).all()

"""What is kept is made once, as long as nothing that it depends on changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from papers.cache import Arrays, Cache
from rejoinder.evaluators.am_fm_parts import Fm
from small_am_fm import SENTENCES


class Counted:
    """Makes arrays, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Arrays:
        self.times += 1
        return {"scores": np.array([0.1, np.nan]), "trained on": np.array([True, False])}


def test_arrays_are_made_once(tmp_path: Path) -> None:
    cache, make = Cache(tmp_path / "cache"), Counted()
    first = cache.arrays("scores", ["bleu|n:2", 3], make)
    again = cache.arrays("scores", ["bleu|n:2", 3], make)
    assert make.times == 1
    np.testing.assert_array_equal(first["scores"], again["scores"])
    assert again["trained on"].tolist() == [True, False]
    cache.arrays("scores", ["bleu|n:2", 4], make)
    assert make.times == 2, "another key"


def test_an_interrupted_call_leaves_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")

    def fail() -> Arrays:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.arrays("scores", 1, fail)
    make = Counted()
    cache.arrays("scores", 1, make)
    assert make.times == 1


def test_a_model_is_trained_once(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    trained = []

    def train() -> Fm:
        trained.append(1)
        return Fm().fit(SENTENCES)

    signatures = {cache.model("fm", ["bigrams"], train, Fm.load).signature for _ in range(2)}
    assert len(trained) == len(signatures) == 1

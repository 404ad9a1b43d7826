"""Counts of the static evaluator by hand, and how fast its word vectors learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rejoinder.arrays import Ragged
from rejoinder.evaluators.static.reading import COUNTS, WordIds, count_columns
from rejoinder.evaluators.static.training import ScoreStage
from rejoinder.models.ngram import END, NgramCounts, NgramModel
from rejoinder.models.smoothing import kneser_ney
from rejoinder.types import Example


@pytest.fixture(scope="module")
def known() -> NgramModel:
    return kneser_ney(NgramCounts.of(["i", "like", "tea"], Ragged.of([[0, 1, 2], [0, 2], [0, 1, 2]]), order=2))


def rows(replies: list[str], known: NgramModel) -> list[dict[str, float]]:
    found = count_columns(WordIds.of([Example("", ("tea",), reply) for reply in replies], known), known)
    return [dict(zip(COUNTS, row.tolist(), strict=True)) for row in found]


def test_rarity_is_a_mean_over_words_and_end(known: NgramModel) -> None:
    rare = -known.levels[0].log_prob
    i, like, tea = known.numbers(["i", "like", "tea"])
    first, second = rows(["like tea tea like", "i"], known)
    assert first["rarity"] == pytest.approx((2 * rare[like] + 2 * rare[tea] + rare[END]) / 5, rel=1e-6)
    assert second["rarity"] == pytest.approx((rare[i] + rare[END]) / 2, rel=1e-6)


def test_pairs_said_twice_are_a_share_of_all_pairs(known: NgramModel) -> None:
    # (i like) (like tea) (tea i) (i like) (like tea): the last two repeat others
    twice, once, single = rows(["i like tea i like tea", "i like tea", "i"], known)
    assert twice["pairs said twice"] == pytest.approx(2 / 5)
    assert once["pairs said twice"] == single["pairs said twice"] == 0


def test_word_vectors_learn_at_a_quarter_of_the_rate() -> None:
    network: Any = torch.nn.Module()
    for name in ("vectors", "weights", "bridge"):
        setattr(network, name, torch.nn.Parameter(torch.from_numpy(np.ones(2))))
    empty: Any = None
    (others, whole), (table, part) = ScoreStage(network, empty, None, 0).groups()
    assert [id(each) for each in others] == [id(network.bridge)]
    assert [id(each) for each in table] == [id(network.vectors), id(network.weights)]
    assert (whole, part) == (1.0, 0.25)

"""Worked examples for a judge: judged replies whose human scores spread over the scale."""

from __future__ import annotations

from contextlib import closing
from itertools import zip_longest
from pathlib import Path

import numpy as np

from rejoinder.data.judged import JudgedSource
from rejoinder.evaluators.judge.prompt import Shot
from rejoinder.evaluators.scale import observed_scale, on_our_scale
from rejoinder.learning.data import labels

_MOST = 200
"""Judged replies that worked examples are drawn from."""


def draw_shots(path: Path, dimension: str | None, seed: int = 0) -> tuple[Shot, ...]:
    """Judged replies in random order, such that each five in a row have as many different scores as there are."""
    with closing(JudgedSource(str(path), None, "raise")) as source:
        judged = [item for item in source.judged() if item.split != "test" and item.example.context]
    examples, human = labels(judged, dimension)
    scores = np.rint(on_our_scale(human, observed_scale(judged, dimension))).astype(int)
    order = np.random.default_rng(seed).permutation(len(examples))[:_MOST]
    by_score = {score: [row for row in order.tolist() if scores[row] == score] for score in range(1, 6)}
    rounds = zip_longest(*([(row, score) for row in by_score[score]] for score in (5, 1, 3, 4, 2)))
    return tuple(Shot(examples[found[0]], found[1]) for turn in rounds for found in turn if found is not None)

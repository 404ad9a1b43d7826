"""Small judged sets whose studies have a known answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.data.judged import JudgedSet
from rejoinder.metrics.base import Metric
from rejoinder.registry import load
from rejoinder.trusting.probing import ScoredSet, TableResult
from rejoinder.types import Example, JudgedExample

BLEU: Metric = load("bleu-2")


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


def example(
    number: int, response: str = "a reply", references: Sequence[str] = (), *, system: str = "", of: int | None = None
) -> Example:
    """One reply; those with the same `of` answer one context."""
    context = (f"first of {number if of is None else of}", f"context number {number if of is None else of} ?")
    return Example(f"id-{number}", context, response, tuple(references), system)


def scored_set(
    examples: Sequence[Example],
    human: ArrayLike,
    scores: Mapping[str, ArrayLike],
    metrics: Mapping[str, Metric] | None = None,
    *,
    seed: int = 0,
    resamples: int = 100,
) -> ScoredSet:
    """One rating a reply, and the given scores."""
    judged = JudgedSet.of(
        JudgedExample(one, {"overall": (rating,)})
        for one, rating in zip(examples, np.asarray(human, np.float64).tolist(), strict=True)
    )
    columns = {label: np.asarray(column, np.float64) for label, column in scores.items()}
    return ScoredSet(judged, "overall", columns, metrics or {}, seed, resamples)


def cells(result: TableResult | None, *key: str) -> dict[str, Any]:
    """The row that begins with the given texts, by the header."""
    assert result is not None
    (row,) = [row for row in result.rows if row[: len(key)] == key]
    return dict(zip(result.header, row, strict=True))

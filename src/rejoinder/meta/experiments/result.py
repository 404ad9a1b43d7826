"""The result of a study of learning: rows of correlations with people, next to published figures."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rejoinder.errors import UnknownNameError
from rejoinder.meta import study
from rejoinder.meta.experiments.partition import LabelledSet
from rejoinder.meta.study import StudyResult
from rejoinder.stats.agreement.ceiling import row_means
from rejoinder.stats.bootstrap_correlation import correlation_bounds, correlation_replicates
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.types import Scores

KINDS = ("pearson", "spearman")

Figures = tuple[float, float]
"""Pearson and Spearman, as published."""

Published = Mapping[str, Mapping[Any, Figures]]
"""Evaluator's label -> key of a row -> published figures."""


@dataclass(frozen=True, eq=False)
class LearningResult(StudyResult):
    """A study's table, figures and findings, with the scores that they are computed from."""

    scores: Mapping[str, Scores] = field(default_factory=dict)
    """Name of a fit -> one score per example of the test set; NaN where it was not tested."""


@dataclass(frozen=True, slots=True)
class Measure:
    """How well scores agree with people; the intervals resample contexts."""

    replies: int
    contexts: int
    pearson: Interval
    spearman: Interval


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a study's table."""

    label: str
    """The evaluator's label."""
    key: Hashable
    """The key of the published figures for this row."""
    cells: tuple[study.Cell, ...]
    measure: Measure
    more: tuple[study.Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A header, rows, and findings on the published figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[study.Cell, ...], ...]
    findings: tuple[str, ...]


def measure(
    columns: Sequence[Scores], tested: LabelledSet, *, resamples: int, seed: int
) -> tuple[list[Measure], Measure]:
    """The agreement of each column with people, and the mean over columns, all with the same resamples."""
    matrix = np.stack(columns, axis=1)
    found = correlation_replicates(matrix, tested.human, tested.groups, resamples, seed, KINDS)
    known = ~(np.isnan(matrix) | np.isnan(tested.human)[:, None])
    replies = known.sum(axis=0)
    contexts = [len(np.unique(tested.groups[rows])) for rows in known.T]
    in_any = len(np.unique(tested.groups[known.any(axis=1)]))
    each: dict[str, list[Interval]] = {}
    mean: dict[str, Interval] = {}
    for kind in KINDS:
        each[kind] = [
            correlation_bounds(column, tested.human, kind, drawn, n_contexts)
            for column, drawn, n_contexts in zip(matrix.T, found[kind].T, contexts, strict=True)
        ]
        exact = np.array([[interval.estimate for interval in each[kind]]])
        mean[kind] = bootstrap_bounds(row_means(found[kind]), float(row_means(exact)[0]), in_any, 0.95)
    measures = [
        Measure(int(replies[place]), contexts[place], each["pearson"][place], each["spearman"][place])
        for place in range(len(columns))
    ]
    return measures, Measure(int(known.any(axis=1).sum()), in_any, mean["pearson"], mean["spearman"])


def table_of(rows: Sequence[Row], names: Sequence[str], published: Published, more: Sequence[str] = ()) -> Table:
    """The rows under a header, with two columns for published figures where there are any."""
    labels = {row.label for row in rows}
    for label in published:
        if label not in labels:
            raise UnknownNameError("evaluator in published:", label, labels)
    beside = ("published Pearson", "published Spearman") if published else ()
    header = ("evaluator", *names, "replies", "contexts", "Pearson", "Spearman", *beside, *more)
    return Table(header, tuple(_cells(row, published) for row in rows), tuple(_without_row(rows, published)))


def _cells(row: Row, published: Published) -> tuple[study.Cell, ...]:
    beside = published.get(row.label, {}).get(row.key, (np.nan, np.nan)) if published else ()
    ours = (row.measure.replies, row.measure.contexts, row.measure.pearson, row.measure.spearman)
    return (row.label, *row.cells, *ours, *beside, *row.more)


def _without_row(rows: Sequence[Row], published: Published) -> list[str]:
    """Sentences that list the published figures without a row in the table."""
    keys = {(row.label, row.key) for row in rows}
    sentences = []
    for label, figures in published.items():
        others = [
            f"{_key_text(key)} {study.shown(pearson)} / {study.shown(spearman)}"
            for key, (pearson, spearman) in figures.items()
            if (label, key) not in keys
        ]
        if others:
            listed = "; ".join(others)
            sentences.append(f"Published for {label}, without a row here (Pearson / Spearman): {listed}.")
    return sentences


def _key_text(key: Hashable) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)

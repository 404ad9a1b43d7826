"""Out-of-fold scores: every reply is scored by an evaluator that was fitted on other contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.defaults import RESAMPLES
from rejoinder.evaluators.base import Evaluator
from rejoinder.figures.panels import IntervalPanel, Panel, ScatterPanel
from rejoinder.meta.experiments.cells import Cell
from rejoinder.meta.experiments.grid import Grid
from rejoinder.meta.experiments.makers import Makers, named_evaluators
from rejoinder.meta.experiments.partition import PUBLISHED, Folds, LabelledSet, Part
from rejoinder.meta.experiments.result import LearningResult, Published, Row, measure, table_of
from rejoinder.meta.study import shown
from rejoinder.types import Dialogue, Scores

ALL = "all folds"
MEAN = "mean of folds"


def cross_validate(
    make_evaluator: Makers,
    judged_set: Any,
    dimension: str | None = None,
    *,
    folds: Folds = 5,
    seed: int = 0,
    dialogues: Iterable[Dialogue] = (),
    folder: str | Path | None = None,
    allow_leakage: str | None = None,
    published: Published | None = None,
    resamples: int = RESAMPLES,
    quiet: bool = True,
) -> LearningResult:
    """How well evaluators agree with people on contexts that they were not fitted on.

    Contexts are divided into `folds`; each evaluator is fitted on all but one and tested on that one. With
    `folds="published"` the data's own `split` is used instead. The result's `scores` has one score per reply.
    """
    tested = LabelledSet.of(judged_set, dimension)
    evaluators = named_evaluators(make_evaluator)
    parts, corpus = tested.parts(folds, seed), tuple(dialogues)
    cells = [
        fold_cell(label, evaluator, tested, part, corpus, seed)
        for label, evaluator in evaluators.items()
        for part in parts
    ]
    found, findings = Grid(folder, allow_leakage, quiet).run(cells)
    scores: dict[str, Scores] = {}
    rows: list[Row] = []
    for place, label in enumerate(evaluators):
        own = found[place * len(parts) : (place + 1) * len(parts)]
        scores[label] = gathered(own, parts, len(tested))
        rows += _rows(label, own, parts, tested, resamples, seed)
    table = table_of(rows, ("tested on",), published or {})
    return LearningResult(
        "cross-validation",
        f"{tested.dimension} of {tested.name}, cross-validated",
        "tested on the published split" if folds == PUBLISHED else f"tested on {folds} folds that share no context",
        table.header,
        table.rows,
        (*_findings(rows), *table.findings, *findings),
        _panels(rows, scores, tested),
        scores,
    )


def fold_cell(
    label: str, evaluator: Evaluator, tested: LabelledSet, part: Part, dialogues: tuple[Dialogue, ...], seed: int
) -> Cell:
    """The cell for one part of a set: fitted on its training rows, tested on its test rows."""
    return Cell(
        label,
        evaluator,
        tested.training(part.train, part.valid),
        tested.examples(part.test),
        dialogues,
        seed,
        tested.name,
        tested.name,
    )


def gathered(found: Sequence[Scores], parts: Sequence[Part], count: int) -> Scores:
    """One score per example, from the part that it was tested in; NaN where it was not tested."""
    scores = np.full(count, np.nan)
    for part, values in zip(parts, found, strict=True):
        scores[part.test] = values
    return scores


def _rows(
    label: str, found: Sequence[Scores], parts: Sequence[Part], tested: LabelledSet, resamples: int, seed: int
) -> list[Row]:
    """All folds together, then each fold, then the mean of the folds' coefficients."""
    (together,), _ = measure([gathered(found, parts, len(tested))], tested, resamples=resamples, seed=seed)
    if len(parts) == 1:
        return [Row(label, parts[0].name, (parts[0].name,), together)]
    alone = [gathered([values], [part], len(tested)) for values, part in zip(found, parts, strict=True)]
    each, mean = measure(alone, tested, resamples=resamples, seed=seed)
    return [
        Row(label, ALL, (ALL,), together),
        *(Row(label, part.name, (part.name,), one) for part, one in zip(parts, each, strict=True)),
        Row(label, MEAN, (MEAN,), mean),
    ]


def _findings(rows: Sequence[Row]) -> list[str]:
    return [
        f"{row.label}: Pearson {shown(row.measure.pearson)}, Spearman {shown(row.measure.spearman)} over "
        f"{row.measure.replies} replies to {row.measure.contexts} contexts."
        for row in rows
        if row.key == ALL or len(rows) == len({row.label for row in rows})
    ]


def _panels(rows: Sequence[Row], scores: Mapping[str, Scores], tested: LabelledSet) -> tuple[Panel, ...]:
    dots = IntervalPanel("Pearson with people", tuple((f"{row.label}, {row.key}", row.measure.pearson) for row in rows))
    clouds = (
        # As in the plots of Lowe et al. 2017: noise of .3 on the human axis, so that equal ratings are all visible.
        ScatterPanel(label, tested.human, column, tested.dimension, label, x_jitter=0.3)
        for label, column in scores.items()
    )
    return (dots, *clouds)

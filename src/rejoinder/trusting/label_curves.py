"""How many labels does an evaluator need?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.errors import CallError, NeedsError
from rejoinder.options import RESAMPLES
from rejoinder.show.figures import LinePanel, PlotCurve
from rejoinder.show.text import number_text
from rejoinder.trusting.cross_validation import (
    Experiment,
    ExperimentRow,
    Published,
    TrustFigures,
    experiment_table,
    fold_cell,
    gathered,
    trust_figures,
)
from rejoinder.trusting.experiments import NONE, CellRunner, Folds, LabelledSet, Makers, SplitPart, named_evaluators
from rejoinder.types import Dialogue, Scores

# How many labels does an evaluator need? (Lowe et al. 2017, Table 14; Zhao et al. 2020, Figure 2)


FRACTIONS = (0.05, 0.10, 0.25, 0.50, 0.75, 1.0)
"""Shares of the training labels, as in Table 14 of Lowe et al. 2017."""

ENOUGH = 0.95
"""An amount of labels is enough when it reaches this share of the correlation with all labels."""

FEWEST_SEEDS = 3
"""The standard deviation over seeds is shown for at least this many: two are described by the lowest and highest."""


@dataclass(frozen=True)
class LabelAmount:
    """A share of the training labels, or a number of them."""

    share: float | None = None
    count: int | None = None

    def __str__(self) -> str:
        return f"{self.count} labels" if self.share is None else f"{100 * self.share:g} %"

    def of(self, total: int) -> int:
        """The number of labels out of `total`; a NeedsError where there are not enough."""
        if self.count is not None and self.count > total:
            raise NeedsError(f"{self.count} labels were requested, but a training set has {total}")
        return round(total * (self.share or 0)) if self.count is None else self.count


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """An evaluator fitted on an amount of labels: the mean over seeds, and each seed."""

    amount: LabelAmount
    labels: float
    """The actual number, averaged over seeds and folds: only whole contexts are taken."""
    mean: TrustFigures
    seeds: tuple[TrustFigures, ...]


def label_amounts(
    make_evaluator: Makers,
    judged_set: Any,
    dimension: str | None = None,
    *,
    fractions: Sequence[float] = FRACTIONS,
    counts: Sequence[int] = (),
    seeds: Sequence[int] = (0, 1, 2),
    folds: Folds = 5,
    seed: int = 0,
    dialogues: Iterable[Dialogue] = (),
    folder: str | Path | None = None,
    allow_leakage: str | None = None,
    published: Published | None = None,
    resamples: int = RESAMPLES,
    quiet: bool = True,
) -> Experiment:
    """How well evaluators agree with people when they are fitted on some of the labels.

    Labels are taken by whole contexts, in a random order for each of `seeds`, so that a larger amount includes the
    smaller ones. `counts` are numbers of labels, in addition to the `fractions`. No labels are held out for early
    stopping. Folds, drawn with `seed`, are as in `cross_validate`. Keys of `published` are "5 %", "100 labels" etc.
    """
    tested = LabelledSet.of(judged_set, dimension)
    evaluators = named_evaluators(make_evaluator)
    parts, corpus = tested.parts(folds, seed), tuple(dialogues)
    taken = {
        (amount, draw): [_taken(tested, part, amount, (draw, place)) for place, part in enumerate(parts)]
        for amount in _amounts(fractions, counts, seeds)
        for draw in seeds
    }
    cells = [
        fold_cell(label, evaluator, tested, part, corpus, draw)
        for label, evaluator in evaluators.items()
        for (_, draw), smaller in taken.items()
        for part in smaller
    ]
    found, sentences = CellRunner(folder, allow_leakage, quiet).run(cells)
    runs = iter(found)
    columns = {
        (label, amount, draw): gathered([next(runs) for _ in smaller], smaller, len(tested))
        for label in evaluators
        for (amount, draw), smaller in taken.items()
    }
    curves = {label: _curve(label, columns, taken, tested, resamples, seed) for label in evaluators}
    table = experiment_table(_rows(curves), ("amount", "labels"), published or {}, _seed_columns(len(seeds)))
    return Experiment(
        "label-amounts",
        f"{tested.dimension} of {tested.name}, by amount of labels",
        "Lowe et al. 2017, Table 14; Zhao et al. 2020, Figure 2",
        table.header,
        table.rows,
        (*_sentences(curves, len(seeds)), *table.sentences, *sentences),
        (_panel(curves),),
        {f"{label}, {amount}, seed {draw}": column for (label, amount, draw), column in columns.items()},
    )


def _amounts(fractions: Sequence[float], counts: Sequence[int], seeds: Sequence[int]) -> list[LabelAmount]:
    for share in fractions:
        if not 0 < share <= 1:
            raise CallError(f"fractions of the labels must be above 0 and at most 1, not {share}")
    for count in counts:
        if count < 1:
            raise CallError(f"counts of labels must be at least 1, not {count}")
    amounts = [*(LabelAmount(share=share) for share in fractions), *(LabelAmount(count=count) for count in counts)]
    if not amounts or len(set(amounts)) < len(amounts) or not seeds or len(set(seeds)) < len(seeds):
        raise CallError("expected at least one amount of labels and one seed, without duplicates")
    return amounts


def _taken(tested: LabelledSet, part: SplitPart, amount: LabelAmount, draw: tuple[int, int]) -> SplitPart:
    """The part with fewer training contexts: as many as come nearest to the amount, at least one."""
    rated = part.train[~np.isnan(tested.human[part.train])]
    names, group_of = np.unique(tested.groups[rated], return_inverse=True)
    place = np.empty(len(names), np.int64)
    place[np.random.default_rng(draw).permutation(len(names))] = np.arange(len(names))
    sizes = np.cumsum(np.bincount(place[group_of]))
    last = int(np.argmin(np.abs(sizes - amount.of(len(rated)))))
    return replace(part, train=rated[place[group_of] <= last], valid=NONE)


def _curve(
    label: str,
    columns: Mapping[tuple[str, LabelAmount, int], Scores],
    taken: Mapping[tuple[LabelAmount, int], Sequence[SplitPart]],
    tested: LabelledSet,
    resamples: int,
    seed: int,
) -> list[CurvePoint]:
    """The evaluator at each amount, from the fewest labels to the most."""
    curve = []
    for amount in dict.fromkeys(amount for amount, _ in taken):
        draws = [draw for other, draw in taken if other == amount]
        each, mean = trust_figures([columns[label, amount, d] for d in draws], tested, resamples=resamples, seed=seed)
        sizes = [len(part.train) for draw in draws for part in taken[amount, draw]]
        curve.append(CurvePoint(amount, float(np.mean(sizes)), mean, tuple(each)))
    return sorted(curve, key=lambda learned: learned.labels)


def _range(learned: CurvePoint, kind: str = "pearson") -> tuple[float, float]:
    """The lowest and the highest coefficient of the seeds."""
    coefficients = [getattr(one, kind).estimate for one in learned.seeds]
    known = [coefficient for coefficient in coefficients if not np.isnan(coefficient)]
    return (min(known), max(known)) if known else (np.nan, np.nan)


def _deviation(learned: CurvePoint) -> float:
    """The sample standard deviation of Pearson over seeds; NaN where too few seeds have a coefficient."""
    coefficients = np.array([one.pearson.estimate for one in learned.seeds])
    known = coefficients[~np.isnan(coefficients)]
    return float(known.std(ddof=1)) if len(known) >= FEWEST_SEEDS else np.nan


def _seed_columns(seeds: int) -> tuple[str, ...]:
    return ("lowest seed", "highest seed", *(["SD over seeds"] if seeds >= FEWEST_SEEDS else []))


def _seed_cells(learned: CurvePoint) -> tuple[float, ...]:
    return (*_range(learned), *([_deviation(learned)] if len(learned.seeds) >= FEWEST_SEEDS else []))


def _rows(curves: Mapping[str, Sequence[CurvePoint]]) -> list[ExperimentRow]:
    return [
        ExperimentRow(label, str(one.amount), (str(one.amount), f"{one.labels:.0f}"), one.mean, _seed_cells(one))
        for label, curve in curves.items()
        for one in curve
    ]


def _sentences(curves: Mapping[str, Sequence[CurvePoint]], seeds: int) -> list[str]:
    sentences = []
    for label, curve in curves.items():
        most = curve[-1].mean.pearson.estimate
        enough = next((one for one in curve if one.mean.pearson.estimate >= ENOUGH * most), None)
        if enough is None or most <= 0:
            sentences.append(f"{label}: no positive correlation with people at any amount.")
        else:
            sentences.append(
                f"{label}: {enough.labels:.0f} labels ({enough.amount}) reach Pearson "
                f"{number_text(enough.mean.pearson.estimate)}, at least {ENOUGH:.0%} of the {number_text(most)} that "
                f"{curve[-1].labels:.0f} labels reach."
            )
    return [*sentences, _seeds_text(seeds)]


def _seeds_text(seeds: int) -> str:
    """What the columns of a table show that are over seeds."""
    if seeds == 1:
        return "One random sample of the labels."
    shown = (
        "lowest seed, highest seed and standard deviation over seeds (SD)"
        if seeds >= FEWEST_SEEDS
        else "lowest and highest seed"
    )
    return f"Means over {seeds} random samples of the labels; {shown} are of Pearson."


def _panel(curves: Mapping[str, Sequence[CurvePoint]]) -> LinePanel:
    lines = []
    for label, curve in curves.items():
        for kind in ("pearson", "spearman"):
            bounds = [_range(one, kind) for one in curve]
            lines.append(
                PlotCurve(
                    f"{label}, {kind.capitalize()}",
                    tuple(one.labels for one in curve),
                    tuple(getattr(one.mean, kind).estimate for one in curve),
                    tuple(low for low, _ in bounds),
                    tuple(high for _, high in bounds),
                )
            )
    return LinePanel("Agreement with people by number of labels", tuple(lines), "training labels", "correlation")


# How few labels are enough? (Zhao et al. 2020, section 6.2 and Figure 2)


COUNTS = (25, 50, 100, 200, 400)
"""Numbers of labels; the paper's curve goes from a few dozen to 720, and is nearly flat from 100 on."""


def low_resource(
    make_evaluator: Makers,
    judged_set: Any,
    dimension: str | None = None,
    *,
    counts: Sequence[int] | None = None,
    folds: Folds = 5,
    seed: int = 0,
    **settings: Any,
) -> Experiment:
    """How well evaluators agree with people when they are fitted on a few labels, and on all of them.

    By default the numbers of labels are those of `COUNTS` that every training set has. `settings` are those of
    `label_amounts`.
    """
    tested = LabelledSet.of(judged_set, dimension)
    most = min(len(tested.training(part.train)) for part in tested.parts(folds, seed))
    chosen = tuple(count for count in COUNTS if count < most) if counts is None else counts
    result = label_amounts(
        make_evaluator,
        tested.judged,
        tested.dimension,
        fractions=(1.0,),
        counts=chosen,
        folds=folds,
        seed=seed,
        **settings,
    )
    return replace(result, name="low-resource", source="Zhao et al. 2020, section 6.2 and Figure 2")

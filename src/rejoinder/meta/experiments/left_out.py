"""Leave one system out: does an evaluator work for a system it was not trained on? (Lowe et al. 2017, Table 5)"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.defaults import RESAMPLES
from rejoinder.errors import NeedsError
from rejoinder.figures.panels import IntervalPanel
from rejoinder.meta.experiments.cross_validation import fold_cell, gathered
from rejoinder.meta.experiments.grid import Grid
from rejoinder.meta.experiments.makers import Makers, named_evaluators
from rejoinder.meta.experiments.partition import Folds, LabelledSet, Part
from rejoinder.meta.experiments.result import LearningResult, Measure, Published, Row, measure, table_of
from rejoinder.meta.experiments.systems import merged_systems, merging_text
from rejoinder.meta.study import shown
from rejoinder.types import Dialogue, Scores

LEFT_OUT, ALL = "left out", "all systems"
AVERAGE, AT_RANDOM = "average", "at random"
FASTER = ("fewer folds", "fewer evaluators")
MERGE = "fewer systems (--system-words)"


def leave_one_system_out(
    make_evaluator: Makers,
    judged_set: Any,
    dimension: str | None = None,
    *,
    folds: Folds = 5,
    system_words: int | None = None,
    seed: int = 0,
    dialogues: Iterable[Dialogue] = (),
    folder: str | Path | None = None,
    allow_leakage: str | None = None,
    published: Published | None = None,
    resamples: int = RESAMPLES,
    quiet: bool = True,
) -> LearningResult:
    """How well evaluators agree with people on a system whose replies they were not fitted on, and on all systems.

    Systems answer the same contexts, so folds separate contexts as well: each evaluator is fitted on the other
    systems' replies to the other folds' contexts. The row `at random` is the control: as many labels, but of all
    systems. With `system_words`, systems whose names start with the same words count as one (`merged_systems`). Keys
    of `published` are (system, "left out") and (system, "all systems"), also for the system "average".
    """
    tested, merging = _merged(LabelledSet.of(judged_set, dimension), system_words)
    names = _system_names(tested, merging)
    evaluators = named_evaluators(make_evaluator)
    cut, corpus = _cut(tested, names, folds, seed), tuple(dialogues)
    cells = [
        fold_cell(label, evaluator, tested, part, corpus, seed)
        for label, evaluator in evaluators.items()
        for parts in cut
        for part in parts
    ]
    faster = FASTER if merging else (*FASTER, MERGE)
    found, findings = Grid(folder, allow_leakage, quiet, faster).run(cells)
    runs = iter(found)
    scores: dict[str, Scores] = {}
    rows: list[Row] = []
    for label in evaluators:
        columns = [gathered([next(runs) for _ in parts], parts, len(tested)) for parts in cut]
        scores |= {f"{label} {_fitted_on(name)}": column for name, column in zip([*names, None], columns, strict=True)}
        rows += _rows(label, names, columns, tested, resamples, seed)
    table = table_of(rows, ("not trained on", "tested on"), published or {})
    return LearningResult(
        "leave-one-system-out",
        f"{tested.dimension} of {tested.name}, one system left out of training",
        "Lowe et al. 2017, Table 5",
        table.header,
        table.rows,
        (*_findings(rows), *merging, *table.findings, *findings),
        tuple(_panel(rows, on) for on in (LEFT_OUT, ALL)),
        scores,
    )


def _merged(tested: LabelledSet, system_words: int | None) -> tuple[LabelledSet, list[str]]:
    """The set with its systems merged, and a sentence that says so; unchanged without a number of words."""
    if system_words is None:
        return tested, []
    merged = merged_systems(tested.judged, system_words)
    return replace(tested, judged=merged), [merging_text(tested.judged, merged, system_words)]


def _system_names(tested: LabelledSet, merging: Sequence[str]) -> list[str]:
    names = list(dict.fromkeys(tested.judged.systems.tolist()))
    if len(names) < 2:
        problem = f"{tested.name} has one system: expected at least two, to leave one of them out"
        raise NeedsError(". ".join([problem, *merging]))
    return names


def _cut(tested: LabelledSet, names: Sequence[str], folds: Folds, seed: int) -> list[list[Part]]:
    """The folds without each system, then the folds without a random share of the labels, as the control."""
    whole = tested.parts(folds, seed)
    without = [[_without(part, tested, name) for part in whole] for name in names]
    return [*without, [_thinned(part, 1 / len(names), (seed, place)) for place, part in enumerate(whole)]]


def _without(part: Part, tested: LabelledSet, system: str) -> Part:
    """The part without a system's replies in its training and validation rows."""
    systems = tested.judged.systems
    kept = {rows: getattr(part, rows)[systems[getattr(part, rows)] != system] for rows in ("train", "valid")}
    return replace(part, **kept)


def _thinned(part: Part, share: float, seed: tuple[int, int]) -> Part:
    """The part without a random share of its training and validation rows."""
    rng = np.random.default_rng(seed)

    def some(rows: Ints) -> Ints:
        return np.sort(rng.permutation(rows)[: round(len(rows) * (1 - share))])

    return replace(part, train=some(part.train), valid=some(part.valid))


def _fitted_on(left_out: str | None) -> str:
    return AT_RANDOM if left_out is None else f"without {left_out}"


def _rows(
    label: str, names: Sequence[str], columns: Sequence[Scores], tested: LabelledSet, resamples: int, seed: int
) -> list[Row]:
    systems = tested.judged.systems
    own = [np.where(systems == name, column, np.nan) for name, column in zip(names, columns, strict=False)]
    left_out, mean_left_out = measure(own, tested, resamples=resamples, seed=seed)
    on_all, mean_on_all = measure(columns[:-1], tested, resamples=resamples, seed=seed)
    (control,), _ = measure(columns[-1:], tested, resamples=resamples, seed=seed)

    def row(name: str, on: str, measured: Measure) -> Row:
        return Row(label, (name, on), (name, on), measured)

    rows = [
        made
        for name, on_own, on_every in zip(names, left_out, on_all, strict=True)
        for made in (row(name, LEFT_OUT, on_own), row(name, ALL, on_every))
    ]
    means = [row(AVERAGE, LEFT_OUT, mean_left_out), row(AVERAGE, ALL, mean_on_all)]
    return [*rows, *means, row(AT_RANDOM, ALL, control)]


def _findings(rows: Sequence[Row]) -> list[str]:
    by_label: dict[str, dict[Any, Measure]] = {}
    for row in rows:
        by_label.setdefault(row.label, {})[row.key] = row.measure
    return [
        f"{label}: Pearson {shown(found[AVERAGE, LEFT_OUT].pearson)} on average on a system it was not trained on; on "
        f"all systems {shown(found[AVERAGE, ALL].pearson)}, and {shown(found[AT_RANDOM, ALL].pearson)} when trained on "
        "as many labels of all systems."
        for label, found in by_label.items()
    ]


def _panel(rows: Sequence[Row], on: str) -> IntervalPanel:
    dots = tuple((f"{row.label}, {row.cells[0]}", row.measure.pearson) for row in rows if row.cells[1] == on)
    return IntervalPanel(f"Pearson with people, tested on {'the system left out' if on == LEFT_OUT else on}", dots)

"""Does what was learned on one corpus hold on another? (roberta-eval, Table 4; ruber, Table 4)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.evaluators.base import Evaluator
from rejoinder.meta.experiments.cells import Cell
from rejoinder.meta.experiments.cross_validation import gathered
from rejoinder.meta.experiments.grid import Grid
from rejoinder.meta.experiments.makers import Makers, named_evaluators
from rejoinder.meta.experiments.partition import NONE, PUBLISHED, Folds, LabelledSet, Part, shares_context
from rejoinder.meta.experiments.result import LearningResult, Published, Row, measure, table_of
from rejoinder.meta.judged import read_judged
from rejoinder.meta.pairing import labels_of
from rejoinder.meta.panels import IntervalPanel
from rejoinder.text.grid import number
from rejoinder.types import Dialogue

SHARED = ("refuse", "drop")


@dataclass(frozen=True, eq=False)
class Journey:
    """From one corpus to another, or home: the cells that together test all of the second."""

    source: str
    target: str
    parts: tuple[Part, ...]
    """Rows to learn from are the source's, rows to test on the target's."""
    dropped: int = 0


def transfer(
    make_evaluator: Makers,
    judged_sets: Mapping[str, Any] | Sequence[Any],
    dimension: str | Mapping[str, str] | None = None,
    *,
    shared: str = "refuse",
    folds: Folds = 5,
    seed: int = 0,
    dialogues: Mapping[str, Iterable[Dialogue]] | Iterable[Dialogue] = (),
    folder: str | Path | None = None,
    allow_leakage: str | None = None,
    published: Published | None = None,
    resamples: int = 1000,
    quiet: bool = True,
) -> LearningResult:
    """How well evaluators that learned on one judged set agree with people on each of the others.

    A set is tested on itself by cross-validation. With `folds="published"` the splits of the data are followed on
    both sides. `dimension` and `dialogues` may be given for each set by its name; dialogues are those of the set
    that is learned on. Contexts that two sets share are refused as leakage, or, with `shared="drop"`, not learned
    from when the other set is tested. Keys of `published` are (learned on, tested on).
    """
    sets = _named_sets(judged_sets, dimension)
    corpora = _corpora(dialogues, sets)
    evaluators = named_evaluators(make_evaluator)
    journeys = _journeys(sets, folds, seed, shared)
    cells = [
        _cell(label, evaluator, sets, journey, part, corpora[journey.source], seed)
        for label, evaluator in evaluators.items()
        for journey in journeys
        for part in journey.parts
    ]
    found, findings = Grid(folder, allow_leakage, quiet).run(cells)
    runs = iter(found)
    columns = {
        (label, journey.source, journey.target): gathered(
            [next(runs) for _ in journey.parts], journey.parts, len(sets[journey.target])
        )
        for label in evaluators
        for journey in journeys
    }
    rows = []
    for (label, source, target), column in columns.items():
        (found_here,), _ = measure([column], sets[target], resamples=resamples, seed=seed)
        rows.append(Row(label, (source, target), (source, target), found_here))
    table = table_of(rows, ("learned on", "tested on"), published or {})
    return LearningResult(
        "transfer",
        f"From one corpus to another: {', '.join(sets)}",
        "roberta-eval, Table 4; ruber, Table 4",
        table.header,
        table.rows,
        (*_findings(rows), *_dropped(journeys), *table.findings, *findings),
        (_panel(rows),),
        {f"{label}, {source} to {target}": column for (label, source, target), column in columns.items()},
    )


def _named_sets(
    given: Mapping[str, Any] | Sequence[Any], dimension: str | Mapping[str, str] | None
) -> dict[str, LabelledSet]:
    if isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        read = [read_judged(origin) for origin in given]
        pairs = list(zip(labels_of([judged.name for judged in read]), read, strict=True))
    names = [name for name, _ in pairs]
    if len(names) < 2 or len(set(names)) < len(names):
        raise CallError(f"expected at least two judged sets with names of their own, not {', '.join(names) or 'none'}")
    chosen = dimension if isinstance(dimension, Mapping) else {}
    for name in chosen:
        if name not in names:
            raise UnknownNameError("judged set", name, names)
    common = None if isinstance(dimension, Mapping) else dimension
    return {name: LabelledSet.of(origin, chosen.get(name, common)) for name, origin in pairs}


def _corpora(
    given: Mapping[str, Iterable[Dialogue]] | Iterable[Dialogue], sets: Mapping[str, LabelledSet]
) -> dict[str, tuple[Dialogue, ...]]:
    if not isinstance(given, Mapping):
        return dict.fromkeys(sets, tuple(given))
    for name in given:
        if name not in sets:
            raise UnknownNameError("judged set", name, sets)
    return {name: tuple(given.get(name, ())) for name in sets}


def _journeys(sets: Mapping[str, LabelledSet], folds: Folds, seed: int, shared: str) -> list[Journey]:
    """From each set home, then to all others: neighbours that are fitted alike share one fit."""
    if shared not in SHARED:
        raise CallError(f"shared must be one of {', '.join(SHARED)}, not {shared!r}")
    return [
        _journey(sets, source, target, folds, seed, drop=shared == "drop")
        for source in sets
        for target in (source, *(other for other in sets if other != source))
    ]


def _journey(
    sets: Mapping[str, LabelledSet], source: str, target: str, folds: Folds, seed: int, *, drop: bool
) -> Journey:
    if source == target:
        return Journey(source, target, tuple(sets[source].parts(folds, seed)))
    home, away = sets[source], sets[target]
    train, valid, test = np.arange(len(home)), NONE, np.arange(len(away))
    if folds == PUBLISHED:
        (at_home,), (abroad,) = home.parts(PUBLISHED), away.parts(PUBLISHED)
        train, valid, test = at_home.train, at_home.valid, abroad.test
    before = len(train) + len(valid)
    if drop:
        train, valid = (_apart(home, rows, away, test) for rows in (train, valid))
    return Journey(source, target, (Part("", train, test, valid),), before - len(train) - len(valid))


def _apart(home: LabelledSet, rows: Ints, away: LabelledSet, test: Ints) -> Ints:
    """The rows whose context is in none of the other set's test rows."""
    return rows[~shares_context(home.examples(rows), away.examples(test), same_set=False)]


def _cell(
    label: str,
    evaluator: Evaluator,
    sets: Mapping[str, LabelledSet],
    journey: Journey,
    part: Part,
    dialogues: tuple[Dialogue, ...],
    seed: int,
) -> Cell:
    train, test = sets[journey.source].training(part.train, part.valid), sets[journey.target].examples(part.test)
    return Cell(label, evaluator, train, test, dialogues, seed, journey.source, journey.target)


def _findings(rows: Sequence[Row]) -> list[str]:
    findings = []
    for label in dict.fromkeys(row.label for row in rows):
        own = [row for row in rows if row.label == label]
        home = [row.measure.pearson.estimate for row in own if row.cells[0] == row.cells[1]]
        away = [row.measure.pearson.estimate for row in own if row.cells[0] != row.cells[1]]
        findings.append(
            f"{label}: mean Pearson {number(float(np.mean(home)))} on the corpus it learned on, "
            f"{number(float(np.mean(away)))} on another."
        )
    return findings


def _dropped(journeys: Sequence[Journey]) -> list[str]:
    return [
        f"{journey.source} to {journey.target}: {journey.dropped} replies were not learned from, because their "
        f"context is also in {journey.target}."
        for journey in journeys
        if journey.dropped
    ]


def _panel(rows: Sequence[Row]) -> IntervalPanel:
    dots = tuple((f"{row.label}, {row.cells[0]} to {row.cells[1]}", row.measure.pearson) for row in rows)
    return IntervalPanel("Pearson with people, learned on one corpus and tested on another", dots)

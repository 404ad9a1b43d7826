"""Does an evaluator trained on one corpus work on another? (Zhao et al. 2020, Table 4; Tao et al. 2018, Table 4)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.data.judged import read_judged
from rejoinder.data.source import labels_of
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.evaluators.base import Evaluator
from rejoinder.options import RESAMPLES
from rejoinder.show.figures import IntervalPanel
from rejoinder.show.text import number_text
from rejoinder.trusting.cross_validation import (
    Experiment,
    ExperimentRow,
    Published,
    experiment_table,
    gathered,
    trust_figures,
)
from rejoinder.trusting.experiments import (
    NONE,
    PUBLISHED,
    CellRunner,
    FitCell,
    Folds,
    LabelledSet,
    Makers,
    SplitPart,
    named_evaluators,
    shares_context,
)
from rejoinder.types import Dialogue

SHARED = ("refuse", "drop")


@dataclass(frozen=True, eq=False)
class TransferDirection:
    """From a source corpus to a target corpus (possibly the same), and the parts that together test all the target."""

    source: str
    target: str
    parts: tuple[SplitPart, ...]
    """Training rows are the source's, test rows the target's."""
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
    resamples: int = RESAMPLES,
    quiet: bool = True,
) -> Experiment:
    """How well evaluators trained on one judged set agree with people on each of the others.

    A set is tested on itself by cross-validation. With `folds="published"` the data's own splits are used on both
    sides. `dimension` and `dialogues` may be given for each set by its name; dialogues belong to the set that is
    trained on. Contexts that two sets share are an error (leakage) or, with `shared="drop"`, are dropped from training
    when the other set is tested. Keys of `published` are (trained on, tested on).
    """
    sets = _named_sets(judged_sets, dimension)
    corpora = _corpora(dialogues, sets)
    evaluators = named_evaluators(make_evaluator)
    directions = _directions(sets, folds, seed, shared)
    cells = [
        _cell(label, evaluator, sets, direction, part, corpora[direction.source], seed)
        for label, evaluator in evaluators.items()
        for direction in directions
        for part in direction.parts
    ]
    found, sentences = CellRunner(folder, allow_leakage, quiet).run(cells)
    runs = iter(found)
    columns = {
        (label, direction.source, direction.target): gathered(
            [next(runs) for _ in direction.parts], direction.parts, len(sets[direction.target])
        )
        for label in evaluators
        for direction in directions
    }
    rows = []
    for (label, source, target), column in columns.items():
        (found_here,), _ = trust_figures([column], sets[target], resamples=resamples, seed=seed)
        rows.append(ExperimentRow(label, (source, target), (source, target), found_here))
    table = experiment_table(rows, ("trained on", "tested on"), published or {})
    return Experiment(
        "transfer",
        f"From one corpus to another: {', '.join(sets)}",
        "Zhao et al. 2020, Table 4; Tao et al. 2018, Table 4",
        table.header,
        table.rows,
        (*_sentences(rows), *_dropped(directions), *table.sentences, *sentences),
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
        raise CallError(f"expected at least two judged sets with different names, not {', '.join(names) or 'none'}")
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


def _directions(sets: Mapping[str, LabelledSet], folds: Folds, seed: int, shared: str) -> list[TransferDirection]:
    """From each set to itself, then to all others: consecutive cells with the same training data share one fit."""
    if shared not in SHARED:
        raise CallError(f"shared must be one of {', '.join(SHARED)}, not {shared!r}")
    return [
        _direction(sets, source, target, folds, seed, drop=shared == "drop")
        for source in sets
        for target in (source, *(other for other in sets if other != source))
    ]


def _direction(
    sets: Mapping[str, LabelledSet], source: str, target: str, folds: Folds, seed: int, *, drop: bool
) -> TransferDirection:
    if source == target:
        return TransferDirection(source, target, tuple(sets[source].parts(folds, seed)))
    trained_on, tested_on = sets[source], sets[target]
    train, valid, test = np.arange(len(trained_on)), NONE, np.arange(len(tested_on))
    if folds == PUBLISHED:
        (of_source,), (of_target,) = trained_on.parts(PUBLISHED), tested_on.parts(PUBLISHED)
        train, valid, test = of_source.train, of_source.valid, of_target.test
    before = len(train) + len(valid)
    if drop:
        train, valid = (_without_shared(trained_on, rows, tested_on, test) for rows in (train, valid))
    return TransferDirection(source, target, (SplitPart("", train, test, valid),), before - len(train) - len(valid))


def _without_shared(trained_on: LabelledSet, rows: Ints, tested_on: LabelledSet, test: Ints) -> Ints:
    """The training rows whose context is in none of the other set's test rows."""
    return rows[~shares_context(trained_on.examples(rows), tested_on.examples(test), same_set=False)]


def _cell(
    label: str,
    evaluator: Evaluator,
    sets: Mapping[str, LabelledSet],
    direction: TransferDirection,
    part: SplitPart,
    dialogues: tuple[Dialogue, ...],
    seed: int,
) -> FitCell:
    train, test = sets[direction.source].training(part.train, part.valid), sets[direction.target].examples(part.test)
    return FitCell(label, evaluator, train, test, dialogues, seed, direction.source, direction.target)


def _sentences(rows: Sequence[ExperimentRow]) -> list[str]:
    sentences = []
    for label in dict.fromkeys(row.label for row in rows):
        own = [row for row in rows if row.label == label]
        home = [row.measure.pearson.estimate for row in own if row.cells[0] == row.cells[1]]
        away = [row.measure.pearson.estimate for row in own if row.cells[0] != row.cells[1]]
        sentences.append(
            f"{label}: mean Pearson {number_text(float(np.mean(home)))} on the corpus it was trained on, "
            f"{number_text(float(np.mean(away)))} on another."
        )
    return sentences


def _dropped(directions: Sequence[TransferDirection]) -> list[str]:
    return [
        f"{direction.source} to {direction.target}: {direction.dropped} replies were dropped from training, "
        f"because their context is also in {direction.target}."
        for direction in directions
        if direction.dropped
    ]


def _panel(rows: Sequence[ExperimentRow]) -> IntervalPanel:
    dots = tuple((f"{row.label}, {row.cells[0]} to {row.cells[1]}", row.measure.pearson) for row in rows)
    return IntervalPanel("Pearson with people, trained on one corpus and tested on another", dots)

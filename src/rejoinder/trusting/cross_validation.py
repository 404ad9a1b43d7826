"""Cross-validation, and each system left out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.data.judged import JudgedSet
from rejoinder.errors import CallError, NeedsError, UnknownNameError, shortened
from rejoinder.evaluators.base import Evaluator
from rejoinder.options import RESAMPLES
from rejoinder.show.figures import IntervalPanel, Panel, ScatterPanel
from rejoinder.show.text import counted
from rejoinder.stats.correlation_intervals import correlation_bounds, correlation_replicates
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.stats.raters import row_means
from rejoinder.trusting.experiments import (
    PUBLISHED,
    CellRunner,
    FitCell,
    Folds,
    LabelledSet,
    Makers,
    SplitPart,
    named_evaluators,
)
from rejoinder.trusting.probing import TableCell, TableResult, cell_text
from rejoinder.types import Dialogue, Scores

# Out-of-fold scores: every reply is scored by an evaluator that was fitted on other contexts.


ALL_FOLDS = "all folds"
MEAN_OF_FOLDS = "mean of folds"


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
) -> Experiment:
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
    found, sentences = CellRunner(folder, allow_leakage, quiet).run(cells)
    scores: dict[str, Scores] = {}
    rows: list[ExperimentRow] = []
    for place, label in enumerate(evaluators):
        own = found[place * len(parts) : (place + 1) * len(parts)]
        scores[label] = gathered(own, parts, len(tested))
        rows += _fold_rows(label, own, parts, tested, resamples, seed)
    table = experiment_table(rows, ("tested on",), published or {})
    return Experiment(
        "cross-validation",
        f"{tested.dimension} of {tested.name}, cross-validated",
        "tested on the published split" if folds == PUBLISHED else f"tested on {folds} folds that share no context",
        table.header,
        table.rows,
        (*_fold_sentences(rows), *table.sentences, *sentences),
        _panels(rows, scores, tested),
        scores,
    )


def fold_cell(
    label: str, evaluator: Evaluator, tested: LabelledSet, part: SplitPart, dialogues: tuple[Dialogue, ...], seed: int
) -> FitCell:
    """The cell for one part of a set: fitted on its training rows, tested on its test rows."""
    return FitCell(
        label,
        evaluator,
        tested.training(part.train, part.valid),
        tested.examples(part.test),
        dialogues,
        seed,
        tested.name,
        tested.name,
    )


def gathered(found: Sequence[Scores], parts: Sequence[SplitPart], count: int) -> Scores:
    """One score per example, from the part that it was tested in; NaN where it was not tested."""
    scores = np.full(count, np.nan)
    for part, values in zip(parts, found, strict=True):
        scores[part.test] = values
    return scores


def _fold_rows(
    label: str, found: Sequence[Scores], parts: Sequence[SplitPart], tested: LabelledSet, resamples: int, seed: int
) -> list[ExperimentRow]:
    """All folds together, then each fold, then the mean of the folds' coefficients."""
    (together,), _ = trust_figures([gathered(found, parts, len(tested))], tested, resamples=resamples, seed=seed)
    if len(parts) == 1:
        return [ExperimentRow(label, parts[0].name, (parts[0].name,), together)]
    alone = [gathered([values], [part], len(tested)) for values, part in zip(found, parts, strict=True)]
    each, mean = trust_figures(alone, tested, resamples=resamples, seed=seed)
    return [
        ExperimentRow(label, ALL_FOLDS, (ALL_FOLDS,), together),
        *(ExperimentRow(label, part.name, (part.name,), one) for part, one in zip(parts, each, strict=True)),
        ExperimentRow(label, MEAN_OF_FOLDS, (MEAN_OF_FOLDS,), mean),
    ]


def _fold_sentences(rows: Sequence[ExperimentRow]) -> list[str]:
    return [
        f"{row.label}: Pearson {cell_text(row.measure.pearson)}, Spearman {cell_text(row.measure.spearman)} over "
        f"{row.measure.replies} replies to {row.measure.contexts} contexts."
        for row in rows
        if row.key == ALL_FOLDS or len(rows) == len({row.label for row in rows})
    ]


def _panels(rows: Sequence[ExperimentRow], scores: Mapping[str, Scores], tested: LabelledSet) -> tuple[Panel, ...]:
    dots = IntervalPanel("Pearson with people", tuple((f"{row.label}, {row.key}", row.measure.pearson) for row in rows))
    clouds = (
        # As in the plots of Lowe et al. 2017: noise of .3 on the human axis, so that equal ratings are all visible.
        ScatterPanel(label, tested.human, column, tested.dimension, label, x_jitter=0.3)
        for label, column in scores.items()
    )
    return (dots, *clouds)


# The result of an experiment: rows of correlations with people, next to published figures.


KINDS = ("pearson", "spearman")

PublishedPair = tuple[float, float]
"""Pearson and Spearman, as published."""

Published = Mapping[str, Mapping[Any, PublishedPair]]
"""Evaluator's label -> key of a row -> published figures."""


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(TableResult):
    """An experiment's table, figures and sentences, with the scores that they are computed from."""

    scores: Mapping[str, Scores] = field(default_factory=dict)
    """Name of a fit -> one score per example of the test set; NaN where it was not tested."""
    skipped: tuple[str, ...] = ()
    """Why records of dialogues were left out."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, one object per row."""
        return {"experiment": self.name, "study": self.name, **TableResult.to_dict(self)}


@dataclass(frozen=True, slots=True)
class TrustFigures:
    """How well scores agree with people; the intervals resample contexts."""

    replies: int
    contexts: int
    pearson: Interval
    spearman: Interval


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """A row of an experiment's table."""

    label: str
    """The evaluator's label."""
    key: Hashable
    """The key of the published figures for this row."""
    cells: tuple[TableCell, ...]
    measure: TrustFigures
    more: tuple[TableCell, ...] = ()


@dataclass(frozen=True, slots=True)
class ExperimentTable:
    """A header, rows, and sentences on the published figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    sentences: tuple[str, ...]


def trust_figures(
    columns: Sequence[Scores], tested: LabelledSet, *, resamples: int, seed: int
) -> tuple[list[TrustFigures], TrustFigures]:
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
        TrustFigures(int(replies[place]), contexts[place], each["pearson"][place], each["spearman"][place])
        for place in range(len(columns))
    ]
    return measures, TrustFigures(int(known.any(axis=1).sum()), in_any, mean["pearson"], mean["spearman"])


def experiment_table(
    rows: Sequence[ExperimentRow], names: Sequence[str], published: Published, more: Sequence[str] = ()
) -> ExperimentTable:
    """The rows under a header, with two columns for published figures where there are any."""
    labels = {row.label for row in rows}
    for label in published:
        if label not in labels:
            raise UnknownNameError("evaluator in published:", label, labels)
    beside = ("published Pearson", "published Spearman") if published else ()
    header = ("evaluator", *names, "replies", "contexts", "Pearson", "Spearman", *beside, *more)
    return ExperimentTable(header, tuple(_cells(row, published) for row in rows), tuple(_without_row(rows, published)))


def _cells(row: ExperimentRow, published: Published) -> tuple[TableCell, ...]:
    beside = published.get(row.label, {}).get(row.key, (np.nan, np.nan)) if published else ()
    ours = (row.measure.replies, row.measure.contexts, row.measure.pearson, row.measure.spearman)
    return (row.label, *row.cells, *ours, *beside, *row.more)


def _without_row(rows: Sequence[ExperimentRow], published: Published) -> list[str]:
    """Sentences that list the published figures without a row in the table."""
    keys = {(row.label, row.key) for row in rows}
    sentences = []
    for label, figures in published.items():
        others = [
            f"{_key_text(key)} {cell_text(pearson)} / {cell_text(spearman)}"
            for key, (pearson, spearman) in figures.items()
            if (label, key) not in keys
        ]
        if others:
            listed = "; ".join(others)
            sentences.append(f"Published for {label}, without a row here (Pearson / Spearman): {listed}.")
    return sentences


def _key_text(key: Hashable) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


# Leave one system out: does an evaluator work for a system it was not trained on? (Lowe et al. 2017, Table 5)


LEFT_OUT, ALL_SYSTEMS = "left out", "all systems"
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
) -> Experiment:
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
    found, sentences = CellRunner(folder, allow_leakage, quiet, faster).run(cells)
    runs = iter(found)
    scores: dict[str, Scores] = {}
    rows: list[ExperimentRow] = []
    for label in evaluators:
        columns = [gathered([next(runs) for _ in parts], parts, len(tested)) for parts in cut]
        scores |= {f"{label} {_fitted_on(name)}": column for name, column in zip([*names, None], columns, strict=True)}
        rows += _left_out_rows(label, names, columns, tested, resamples, seed)
    table = experiment_table(rows, ("not trained on", "tested on"), published or {})
    return Experiment(
        "leave-one-system-out",
        f"{tested.dimension} of {tested.name}, one system left out of training",
        "Lowe et al. 2017, Table 5",
        table.header,
        table.rows,
        (*_left_out_sentences(rows), *merging, *table.sentences, *sentences),
        tuple(_panel(rows, on) for on in (LEFT_OUT, ALL_SYSTEMS)),
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


def _cut(tested: LabelledSet, names: Sequence[str], folds: Folds, seed: int) -> list[list[SplitPart]]:
    """The folds without each system, then the folds without a random share of the labels, as the control."""
    whole = tested.parts(folds, seed)
    without = [[_without(part, tested, name) for part in whole] for name in names]
    return [*without, [_thinned(part, 1 / len(names), (seed, place)) for place, part in enumerate(whole)]]


def _without(part: SplitPart, tested: LabelledSet, system: str) -> SplitPart:
    """The part without a system's replies in its training and validation rows."""
    systems = tested.judged.systems
    kept = {rows: getattr(part, rows)[systems[getattr(part, rows)] != system] for rows in ("train", "valid")}
    return replace(part, **kept)


def _thinned(part: SplitPart, share: float, seed: tuple[int, int]) -> SplitPart:
    """The part without a random share of its training and validation rows."""
    rng = np.random.default_rng(seed)

    def some(rows: Ints) -> Ints:
        return np.sort(rng.permutation(rows)[: round(len(rows) * (1 - share))])

    return replace(part, train=some(part.train), valid=some(part.valid))


def _fitted_on(left_out: str | None) -> str:
    return AT_RANDOM if left_out is None else f"without {left_out}"


def _left_out_rows(
    label: str, names: Sequence[str], columns: Sequence[Scores], tested: LabelledSet, resamples: int, seed: int
) -> list[ExperimentRow]:
    systems = tested.judged.systems
    own = [np.where(systems == name, column, np.nan) for name, column in zip(names, columns, strict=False)]
    left_out, mean_left_out = trust_figures(own, tested, resamples=resamples, seed=seed)
    on_all, mean_on_all = trust_figures(columns[:-1], tested, resamples=resamples, seed=seed)
    (control,), _ = trust_figures(columns[-1:], tested, resamples=resamples, seed=seed)

    def row(name: str, on: str, measured: TrustFigures) -> ExperimentRow:
        return ExperimentRow(label, (name, on), (name, on), measured)

    rows = [
        made
        for name, on_own, on_every in zip(names, left_out, on_all, strict=True)
        for made in (row(name, LEFT_OUT, on_own), row(name, ALL_SYSTEMS, on_every))
    ]
    means = [row(AVERAGE, LEFT_OUT, mean_left_out), row(AVERAGE, ALL_SYSTEMS, mean_on_all)]
    return [*rows, *means, row(AT_RANDOM, ALL_SYSTEMS, control)]


def _left_out_sentences(rows: Sequence[ExperimentRow]) -> list[str]:
    by_label: dict[str, dict[Any, TrustFigures]] = {}
    for row in rows:
        by_label.setdefault(row.label, {})[row.key] = row.measure
    return [
        f"{label}: Pearson {cell_text(found[AVERAGE, LEFT_OUT].pearson)} on average on a system it was not trained on; "
        f"on all systems {cell_text(found[AVERAGE, ALL_SYSTEMS].pearson)}, and "
        f"{cell_text(found[AT_RANDOM, ALL_SYSTEMS].pearson)} when trained on as many labels of all systems."
        for label, found in by_label.items()
    ]


def _panel(rows: Sequence[ExperimentRow], on: str) -> IntervalPanel:
    dots = tuple((f"{row.label}, {row.cells[0]}", row.measure.pearson) for row in rows if row.cells[1] == on)
    return IntervalPanel(f"Pearson with people, tested on {'the system left out' if on == LEFT_OUT else on}", dots)


# Systems merged by the first words of their names: a model with several decodings is then one system.


def merged_systems(judged: JudgedSet, words: int) -> JudgedSet:
    """The set with each system named by the first `words` words of its name, which spaces separate.

    With 2, replies of `mybot v1 greedy` and of `mybot v1 sample` are replies of `mybot v1`. A name with fewer words
    stays as it is.
    """
    if not isinstance(words, int) or isinstance(words, bool) or words < 1:
        raise CallError(f"system_words must be a whole number of at least 1, not {shortened(words)}")
    examples = (replace(example, system=" ".join(example.system.split()[:words])) for example in judged.examples)
    return replace(judged, examples=tuple(examples))


def merging_text(before: JudgedSet, after: JudgedSet, words: int) -> str:
    """A sentence that says how systems were merged, and how many there are now."""
    same = "word" if words == 1 else f"{words} words"
    names, systems = (len(set(judged.systems.tolist())) for judged in (before, after))
    counts = f"{counted(names, 'different name')}, {counted(systems, 'system')}"
    return f"Systems whose names start with the same {same} count as one system: {counts}."

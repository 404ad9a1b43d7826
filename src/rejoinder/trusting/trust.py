"""Which metric can be trusted on these data? Scores against human ratings, in one result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, overload

import numpy as np

from rejoinder._version import __version__
from rejoinder.data.judged import JudgedSet, chosen_dimensions, read_judged
from rejoinder.data.records import Fields
from rejoinder.data.replay import Replay
from rejoinder.data.source import Source
from rejoinder.errors import CallError, NeedsError, UnknownNameError
from rejoinder.metrics.base import Metric
from rejoinder.options import (
    FIELDS_OPTION,
    METRICS_OPTION,
    RESAMPLES,
    Jobs,
    MaxCost,
    OnError,
    Option,
    Quiet,
    Resamples,
    Seed,
    UnitOption,
    text,
    texts,
    verb,
)
from rejoinder.scoring.run import LocalRun, judges_limited
from rejoinder.scoring.score import MetricChoice, Metrics, choose_metrics
from rejoinder.scoring.score_file import read_score_file
from rejoinder.scoring.table import ScoreTable, json_ready
from rejoinder.show.document import Block, Document, Result, Section, VerdictText, renamed
from rejoinder.show.figures import Panel
from rejoinder.show.plots import Figure
from rejoinder.show.text import counted, interval_text, names_text
from rejoinder.trusting.correlations import (
    HumanCeiling,
    LevelTable,
    WithinContext,
    human_ceiling,
    outlier_note,
    system_level,
    to_dict,
    utterance_level,
    within_context,
)
from rejoinder.trusting.human_scale import scale_of
from rejoinder.trusting.judge_card import judge_cards
from rejoinder.trusting.page import ceiling_blocks, contests_section, level_section, within_section
from rejoinder.trusting.probes import jitter, scatter_panels
from rejoinder.trusting.probing import PROBES, ScoredSet, TableResult, run_probe
from rejoinder.types import Scores

if TYPE_CHECKING:
    from rejoinder.trusting.correlations import MetricTrust
    from rejoinder.trusting.pooled import PooledTrust

# Which metric can be trusted on this data? Metric scores against human ratings, in one report.


FEWEST = 10
"""Fewest examples, scored by people and all metrics, for which a correlation is worth printing."""


@dataclass(frozen=True, eq=False)
class DimensionTrust:
    """How well metrics agree with people on one dimension."""

    scored: ScoredSet
    ceiling: HumanCeiling
    utterance: LevelTable
    system: LevelTable | None
    within: tuple[WithinContext, ...]
    probes: tuple[TableResult, ...] = ()

    @property
    def dimension(self) -> str:
        """What was judged."""
        return self.scored.dimension

    @property
    def studies(self) -> tuple[TableResult, ...]:
        """The probes, as they were named before 0.2."""
        renamed("studies", "probes")
        return self.probes

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        within = {
            row.metric: {
                "accuracy": row.agreement.accuracy.estimate,
                "low": row.agreement.accuracy.low,
                "high": row.agreement.accuracy.high,
                "accuracy_calibrated": row.calibrated.estimate,
                "calibrated_low": row.calibrated.low,
                "calibrated_high": row.calibrated.high,
                "tau_eq": row.agreement.tau_eq,
                "tau_b": row.agreement.tau_b,
                "pairs": row.agreement.n_pairs,
                "contexts": row.agreement.n_contexts,
            }
            for row in self.within
        }
        probes = {probe.name: probe.to_dict() for probe in self.probes}
        return {
            "ceiling": self.ceiling.to_dict(),
            "utterance": to_dict(self.utterance),
            "system": to_dict(self.system) if self.system else None,
            "within_context": within,
            "probes": probes,
            "studies": probes,  # as it was named before 0.2
        }

    def blocks(self) -> list[Block]:
        """The tables, sections and probes."""
        levels = [self.utterance, *([self.system] if self.system else [])]
        said, ceiling = ceiling_blocks(self.ceiling)
        return [
            said,
            *(level_section(level, self.ceiling, self.scored) for level in levels),
            *([within_section(self.within)] if self.within else []),
            *(probe.section() for probe in self.probes),
            *([contests_section(levels)] if len(self.scored.scores) > 1 else []),
            ceiling,
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Trust(Result):
    """How well metrics agree with people."""

    judged: JudgedSet
    dimensions: tuple[DimensionTrust, ...]
    signatures: Mapping[str, str]
    notes: tuple[str, ...] = ()
    seed: int = 0
    resamples: int = RESAMPLES
    replies: Replay | None = field(default=None, repr=False)
    """The judged replies, where a report can read their texts; a copy that was pickled has none."""
    metrics: Mapping[str, Metric] = field(default_factory=dict, repr=False)
    """Metric label -> the metric that scored."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "replies": None, "metrics": {}}

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values = {
            "version": __version__,
            "data": self.judged.name,
            "examples": len(self.judged),
            "contexts": len(np.unique(self.judged.contexts)),
            "systems": len(np.unique(self.judged.systems)),
            "seed": self.seed,
            "resamples": self.resamples,
            "signatures": dict(self.signatures),
            **self.answer,
            "warnings": list(self.notes),
            "dimensions": {report.dimension: report.to_dict() for report in self.dimensions},
        }
        return json_ready(values)

    @property
    def sentences(self) -> list[str]:
        """Which metric agrees with people, one sentence each; of further dimensions, the first sentence."""
        first, *others = map(trust_sentences, self.dimensions)
        return [*first, *(sentences[0] for sentences in others)]

    def headline(self) -> list[str]:
        """The verdict, one sentence each, as it was named before 0.2."""
        renamed("headline()", "sentences")
        return self.sentences

    def document(self) -> Document:
        """The verdict, and the tables of each dimension; of several, each in a section of its own."""
        first = self.dimensions[0]
        caption = (
            "With 95 % intervals. 1: the metric ranks replies as people do; 0: its ranking has nothing to do with "
            "theirs."
        )
        answer = VerdictText(self.sentences, first.utterance.panel(), caption)
        parts = [Section(one.dimension, one.blocks()) for one in self.dimensions]
        judged = self.judged
        return Document(
            f"Metrics against people: {Path(judged.name).name}",
            [answer, *(first.blocks() if len(parts) == 1 else parts)],
            question="Which metric agrees with the ratings?",
            counts=[
                (len(judged), "reply", "replies"),
                (len(np.unique(judged.contexts)), "context", "contexts"),
                (len(np.unique(judged.systems)), "system", "systems"),
                (len(self.signatures), "metric", "metrics"),
            ],
            signatures=self.signatures,
            seed=self.seed,
            resamples=self.resamples,
        )

    def page(self, *, texts: bool = True, title: str = "") -> str:
        """The report as one HTML file, which has a plot of each metric's scores against the ratings."""
        plotted = tuple(
            one
            if any(probe.name == "scatter" for probe in one.probes)
            else replace(one, probes=(*one.probes, *filter(None, [run_probe("scatter", one.scored)])))
            for one in self.dimensions
        )
        return Result.page(replace(self, dimensions=plotted), texts=texts, title=title)

    def plot(self, metric: str | None = None, *, dimension: str | None = None) -> Figure:
        """The correlation of every metric with people; with `metric`, its scores against the ratings.

        `dimension` is one of those that were judged, by default the first. A notebook shows the figure; `save` writes
        it to an SVG file.
        """
        reports = {report.dimension: report for report in self.dimensions}
        name = self.dimensions[0].dimension if dimension is None else dimension
        if name not in reports:
            raise UnknownNameError("dimension", name, reports)
        scored = reports[name].scored
        if metric is None:
            panel: Panel = reports[name].utterance.panel()
        elif metric in scored.scores:
            panel = scatter_panels(scored, jitter(scale_of(scored)))[metric]
        else:
            raise UnknownNameError("metric", metric, scored.scores)
        return Figure.of(panel.title, [panel], seed=self.seed)


@overload
def trust(judged: Any, /, **settings: Any) -> Trust: ...


@overload
def trust(first: Any, second: Any, /, *more: Any, **settings: Any) -> PooledTrust: ...


@verb  # type: ignore[misc]  # the overloads leave out the arguments that all results share
def trust(
    *judged: Annotated[
        Any,
        Option(
            "rated replies: a file whose records also have human `scores`; with several files, each metric's "
            "correlations are pooled over them",
            many="+",
        ),
    ],
    metrics: Annotated[Metrics | MetricChoice | None, METRICS_OPTION] = None,
    scores: Annotated[
        Sequence[str | Path],
        Option(
            "scores that `score -o` wrote; may be repeated",
            texts("a list of score files"),
            metavar="FILE",
            many="repeat",
        ),
    ] = (),
    dimension: Annotated[
        str | None, Option("the dimension that was rated, or 'all' (default: overall)", text, metavar="NAME")
    ] = None,
    probes: Annotated[
        Sequence[str],
        Option(
            "also run a probe, or 'all' of them: a test of what a metric rewards (docs/reference/probes.md); may be "
            "repeated",
            texts("a list of the names of probes"),
            name="probe",
            metavar="NAME",
            many="repeat",
            old=("--study",),
        ),
    ] = (),
    kind: Annotated[
        str,
        Option(
            "with several files: the kind of correlation that is pooled", choices=("pearson", "spearman", "kendall")
        ),
    ] = "spearman",
    remove_outliers: Annotated[bool, Option("drop ratings that are far from the median rating of their reply")] = False,
    unit: UnitOption = "reply",
    max_cost: MaxCost = None,
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    seed: Seed = 0,
    resamples: Resamples = RESAMPLES,
    jobs: Jobs = None,
    quiet: Quiet = True,
) -> Trust | PooledTrust:
    """How well metrics agree with people on judged replies; with several judged sets, pooled over them.

    `scores` are files of scores already computed (by `rejoinder score -o`), joined by id and system. Without
    `metrics` and `scores` the default metrics are used. `dimension` is one of the data's, or "all"; by default the
    overall one, or the first of each of several sets. `remove_outliers` drops ratings that are far from their example's
    median. `probes` are names of tests of what a metric rewards, or "all". `jobs` and `max_cost` are as in `score`.

    Of a conversation, the ratings are those of the last reply; with `unit="turn"` each message that has `scores` of its
    own is judged, and whole dialogues are resampled.

    Over several sets, each metric's correlations of this `kind` are pooled by a random-effects model. A correlation's
    standard error is that of its interval over contexts.
    """
    if not judged:
        raise CallError("expected at least one set of judged replies")
    settings: dict[str, Any] = {"seed": seed, "resamples": resamples, "jobs": jobs, "quiet": quiet}
    settings |= {"dimension": dimension, "remove_outliers": remove_outliers, "max_cost": max_cost}
    if len(judged) == 1:
        rated = read_judged(judged[0], fields=fields, on_error=on_error, unit=unit)
        return trust_on(rated, metrics, scores=scores, probes=probes, **settings)
    if scores or probes:
        raise CallError(f"scores and probes need a single set of judged replies, found {len(judged)}")
    from rejoinder.trusting.pooled import pooled_trust  # which pools what this module finds

    return pooled_trust(judged, metrics=metrics, kind=kind, unit=unit, fields=fields, on_error=on_error, **settings)


def former_trust(judged: Any, metrics: Metrics | MetricChoice | None = None, **settings: Any) -> Trust:
    """`trust` with the arguments that it had before 0.2."""
    probes = settings.pop("studies", ())
    return trust(judged, metrics=metrics, probes=probes, **settings)


def trust_on(
    rated: JudgedSet,
    metrics: Metrics | MetricChoice | None,
    *,
    scores: Sequence[str | Path] = (),
    dimension: str | None = None,
    probes: Sequence[str] = (),
    remove_outliers: bool = False,
    max_cost: float | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    jobs: int | None = None,
    quiet: bool = True,
) -> Trust:
    """How well metrics agree with people on one judged set."""
    judged = rated.without_outliers() if remove_outliers else rated
    wanted = MetricChoice({}) if metrics is None and scores else choose_metrics(metrics)
    settings: Any = {"seed": seed, "resamples": 1, "jobs": jobs, "quiet": quiet}
    run = LocalRun.of(Source(list(judged.examples)), wanted, name=judged.name, digest=False, **settings)
    with judges_limited(run.metrics.values(), max_cost, quiet=quiet):  # probes may ask a judge again
        columns, signatures, lower_is_better = _columns(judged, run, scores)
        notes = [*run.notes, *_unit_notes(judged), *_direction_notes(run.metrics, lower_is_better)]
        reports = []
        for name in chosen_dimensions(judged, dimension):
            scored = ScoredSet(judged, name, columns, run.metrics, seed, resamples, lower_is_better)
            _check_enough(scored)
            report, lacking = _dimension_report(scored, rated, probes)
            reports.append(report)
            notes += [outlier_note(rated, judged, name)] if remove_outliers else []
            notes += _coverage_notes(scored)
            notes += [f"the probe {probe} does not apply to {name}: the data it needs is missing" for probe in lacking]
    told = tuple(dict.fromkeys(notes))
    return Trust(judged, tuple(reports), signatures, told, seed, resamples, run.replies, run.metrics)


def _dimension_report(scored: ScoredSet, rated: JudgedSet, probes: Sequence[str]) -> tuple[DimensionTrust, list[str]]:
    """The report, and the names of the probes whose data is missing."""
    names = tuple(PROBES) if "all" in probes else probes
    results = {name: run_probe(name, scored) for name in names}
    report = DimensionTrust(
        scored,
        # Outliers are the ratings that disagree most: agreement measured without them would be meaningless.
        human_ceiling(rated, scored.dimension, seed=scored.seed),
        utterance_level(scored),
        system_level(scored),
        within_context(scored),
        (*(result for result in results.values() if result is not None), *judge_cards(scored)),
    )
    return report, [name for name, result in results.items() if result is None]


def _columns(
    judged: JudgedSet, run: LocalRun, files: Sequence[str | Path]
) -> tuple[dict[str, Scores], dict[str, str], frozenset[str]]:
    """One column per metric or scored file, their signatures, and the labels whose low scores are good."""
    columns: dict[str, Scores] = {}
    signatures: dict[str, str] = {}
    if run.metrics:
        table = run.score()
        columns, signatures = dict(table.scores), dict(table.signatures)
    lower_is_better: set[str] = set()
    for file in files:
        table = read_score_file(Path(file))
        for label, column in _joined(judged, table, file):
            if label in columns:
                raise CallError(f"{file} has scores named {label!r}, which another metric or file already has")
            columns[label], signatures[label] = column, table.signatures[label]
            if not table.higher_is_better.get(label, True):
                lower_is_better.add(label)
    return columns, signatures, frozenset(lower_is_better)


def _joined(judged: JudgedSet, table: ScoreTable, file: str | Path) -> list[tuple[str, Scores]]:
    """The columns of a score file, in the order of the judged examples; NaN where it lacks one."""
    place = {
        (identifier, table.system_names[code]): row
        for row, (identifier, code) in enumerate(zip(table.ids, table.system_of.tolist(), strict=True))
    }
    rows = np.array([place.get((example.id, example.system), -1) for example in judged.examples])
    if (rows < 0).all():
        raise CallError(f"{file} scores none of the examples of {judged.name}: ids and systems must be equal")
    return [(label, np.where(rows >= 0, column[rows], np.nan)) for label, column in table.scores.items()]


def _unit_notes(judged: JudgedSet) -> list[str]:
    """Which turns are left out, and what the intervals resample."""
    if judged.unit == "reply":
        return []
    left_out, total = judged.unrated, judged.unrated + len(judged)
    dialogues = len(np.unique(judged.clusters))
    return [
        *([f"{left_out:,} of {total:,} assistant turns are left out: nobody rated them"] if left_out else []),
        f"the {len(judged):,} rated turns belong to {counted(dialogues, 'dialogue')}, and correlations resample whole "
        "dialogues",
    ]


def _direction_notes(chosen: Mapping[str, Metric], lower_is_better: frozenset[str]) -> list[str]:
    labels = sorted({label for label, metric in chosen.items() if not metric.higher_is_better} | lower_is_better)
    return [
        f"{label}: lower is better, so a positive correlation here means that good replies have low scores"
        for label in labels
    ]


def _check_enough(scored: ScoredSet) -> None:
    joint = int(scored.complete.sum())
    if joint < FEWEST:
        least = min(scored.scores, key=lambda label: int((~np.isnan(scored.scores[label])).sum()))
        raise NeedsError(
            f"only {joint} examples of {scored.judged.name} were scored by people and by all metrics "
            f"({least} scored the fewest): expected at least {FEWEST}"
        )


def _coverage_notes(scored: ScoredSet) -> list[str]:
    """Which metrics could not score all examples, and what that leaves to compare on."""
    judged = ~np.isnan(scored.human)
    notes = []
    for label, column in scored.scores.items():
        missing = int((np.isnan(column) & judged).sum())
        if missing:
            notes.append(
                f"{label} could not score {missing} of {int(judged.sum())} examples; "
                f"all metrics are compared on the {int(scored.complete.sum())} that all of them scored"
            )
    return notes


# Which metric agrees with people, in words: what `rejoinder trust` says first, in every form of its output.


def trust_sentences(dimension: DimensionTrust) -> list[str]:
    """Which metric agrees best with people on single replies, which may be as good, and which show no agreement."""
    level = dimension.utterance
    known = [row for row in level.rows if not math.isnan(row.measured[level.kind].interval.estimate)]
    if not known:
        return [f"Every metric gives all replies the same score ({dimension.dimension})."]
    best, kind = known[0], level.kind.capitalize()
    interval = best.measured[level.kind].interval
    doubt = "" if interval.low > 0 else ", which is not significantly above zero"
    return [
        f"{best.metric} agrees best with the ratings of single replies ({dimension.dimension}): "
        f"{kind} correlation {interval_text(interval, 3, 2)}{doubt}.",
        *_rivals(level, best, [row.metric for row in known[1:]]),
        *_unrelated(level, known[1:]),
        *_people(dimension),
    ]


def _rivals(level: LevelTable, best: MetricTrust, others: Sequence[str]) -> Iterator[str]:
    """Which metrics are not significantly worse than the best one."""
    if not others:
        return
    worse = {
        name
        for contest in level.contests
        for name in (contest.a, contest.b)
        if best.metric in (contest.a, contest.b) and contest.significant
    }
    rivals = [name for name in others if name not in worse]
    if not rivals:
        yield f"It is significantly better than {'every other metric' if len(others) > 1 else others[0]}."
    elif len(rivals) == len(others) > 1:
        yield "No other metric is significantly worse."
    else:
        yield f"It is not significantly better than {names_text(rivals)}."


def _unrelated(level: LevelTable, others: Sequence[MetricTrust]) -> Iterator[str]:
    """Which metrics show no agreement with people, or the opposite of it."""
    intervals = {row.metric: row.measured[level.kind].interval for row in others}
    opposite = [name for name, interval in intervals.items() if interval.high < 0]
    unrelated = [name for name, interval in intervals.items() if interval.low <= 0 <= interval.high]
    if opposite:
        yield f"Replies that people rate lower score higher on {names_text(opposite)}."
    if unrelated:
        yield f"No significant correlation with the ratings: {names_text(unrelated)}."


def _people(dimension: DimensionTrust) -> Iterator[str]:
    """How well raters agree with each other, where it is known."""
    ceiling = dimension.ceiling
    halves = ceiling.split_half_spearman if dimension.utterance.kind == "spearman" else ceiling.split_half_pearson
    if not math.isnan(halves):
        yield f"For comparison, the ratings of two halves of the raters correlate at {halves:.2f}."

"""Is B better than A, or is it noise? Systems are compared in pairs, on the contexts that both answered."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rejoinder.comparing.comparison import Comparison
from rejoinder.comparing.fault_shares import FaultShares, compare_faults
from rejoinder.comparing.labels import human_means, labels_by_row
from rejoinder.comparing.systems import join_systems, read_score_table
from rejoinder.comparing.tests import PairTests, ranked_systems
from rejoinder.comparing.verdict import Verdict
from rejoinder.data.contexts import PAIR_FIELDS, GroupFinder
from rejoinder.data.judged import read_labels
from rejoinder.data.records import FIELDS, FieldMap, Fields
from rejoinder.data.replay import Replay
from rejoinder.data.source import Source
from rejoinder.errors import CallError, UnknownNameError, shortened
from rejoinder.faulting.fault import chosen_faults
from rejoinder.faulting.found import flag_replies
from rejoinder.options import (
    FIELDS_OPTION,
    METRICS_OPTION,
    RESAMPLES,
    By,
    Cluster,
    Jobs,
    Margin,
    MaxCost,
    OnError,
    Option,
    PairBy,
    PrimaryMetric,
    Quiet,
    Resamples,
    Seed,
    UnitOption,
    one_or_more,
    origin_of,
    path,
    text,
    verb,
)
from rejoinder.progress import bar
from rejoinder.scoring.reliability import MOST_DOUBTFUL
from rejoinder.scoring.run import LocalRun, judges_limited
from rejoinder.scoring.score import MetricChoice, Metrics, choose_metrics
from rejoinder.scoring.table import DecidingMetric, ScoreTable, Slices
from rejoinder.show.text import counted
from rejoinder.stats.means import Equivalence, MeanComparison
from rejoinder.stats.resampling import ALPHA, holm
from rejoinder.text.language import UNKNOWN_LANGUAGE, language, name_of
from rejoinder.types import Example, Unit

FIRST_PERMUTATIONS = 9999

SMALLEST_ADJUSTED = ALPHA / 10
"""Enough permutations are drawn for adjusted p-values of the primary metric to get this small."""


_LABELS = "with a few human labels"


@verb
def compare(
    *replies: Annotated[Any, Option("one file per system, a folder of such files, or one file with several systems")],
    metrics: Annotated[Metrics | MetricChoice | None, METRICS_OPTION] = None,
    primary: PrimaryMetric = None,
    margin: Margin = None,
    scores: Annotated[
        Any,
        Option(
            "compare numbers that exist already, without texts: a table of id, system and columns of numbers, such as "
            "human ratings, or result files of Inspect, lm-eval or promptfoo; -m names columns (default: all "
            "that hold only numbers)",
            metavar="FILE",
            many="+",
            read=origin_of,
        ),
    ] = None,
    baseline: Annotated[
        str | Path | None,
        Option(
            "compare the replies with a release that `rejoinder history` recorded: the last one of a folder, or that "
            "of a file in it (FOLDER/1.4.0.jsonl); without -m, by the metrics of that release",
            path,
            metavar="FOLDER",
        ),
    ] = None,
    pair_by: PairBy = None,
    cluster: Cluster = None,
    unit: UnitOption = "reply",
    labels: Annotated[
        Any,
        Option(
            "ratings of some replies (id, system, scores), from which the human means of all replies are "
            "estimated; the labelled replies must be a random sample of the replies, or chosen by `rejoinder sample`",
            metavar="FILE",
            group=_LABELS,
        ),
    ] = None,
    dimension: Annotated[
        str | None,
        Option("the dimension that was rated (default: overall)", text, metavar="NAME", group=_LABELS),
    ] = None,
    predictor: Annotated[
        str | None,
        Option(
            "the metric that the labels are combined with (default: the primary one)",
            text,
            metavar="METRIC",
            group=_LABELS,
        ),
    ] = None,
    allow_doubtful: Annotated[
        bool,
        Option("decide by a metric in spite of many replies that it cannot be relied on for; a note says so"),
    ] = False,
    by: By = (),
    faults: Annotated[
        str | Iterable[str],
        Option(
            "also look for this fault, which is not looked for by default (see `rejoinder faults`); may be repeated",
            one_or_more("the name of a fault, or a list of names"),
            name="--fault",
            metavar="NAME",
            many="repeat",
        ),
    ] = (),
    max_cost: MaxCost = None,
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    seed: Seed = 0,
    resamples: Resamples = RESAMPLES,
    jobs: Jobs = None,
    quiet: Quiet = True,
) -> Comparison:
    """Compare the systems of two or more files, lists or data frames of replies (or of one that holds several systems).

    The verdict is that of one metric: `primary`, else the first of `metrics`, else `default`, else the first metric of
    the default set that the data allow. Other metrics are secondary evidence, corrected together for their number.
    With `margin`, the verdict also says whether the systems are equivalent, or one no worse, within the margin.

    Of a conversation, the last reply is compared; with `unit="turn"` each assistant turn is, in its place.

    Replies are paired by `context_id`, else by equal context and references; `pair_by` names another field. Where that
    would leave replies out, logs of the same dialogues are paired by dialogue, turn k with turn k: the systems share
    half of their ids, and in 90 % of the shared ones the user says the same first. Two systems that share fewer than
    half of the contexts (or turns) of the one with fewer are compared unpaired, on all replies. The verdict says what
    is not compared, and why.

    Turns of one dialogue (`dialogue_id`, or the field named by `cluster`, or contexts that continue each other) are
    not independent, and are permuted together.

    `scores` is a table of numbers that exist already (a file or a data frame with id, system and columns of numbers):
    it is compared instead of replies, and `metrics` may name its columns. It may also be a table that `score` returned.

    `baseline` is a release that `rejoinder history` recorded, the last one of a folder or that of a file in it: the
    replies are those of one system, which is compared with it, without `metrics` by those of the release.

    `labels` are ratings of a random sample of the replies (a judged set, joined by id and system). With them the
    comparison also estimates the mean rating over all replies, and the verdict is that of people: `predictor`
    names the metric that is combined with the labels (by default the primary one), `dimension` the judged dimension.

    The systems are also compared by the share of their replies with each fault (`rejoinder.faults`), where there are
    texts; `faults` names further ones to look for.

    With `allow_doubtful`, a metric decides in spite of many replies that it cannot be relied on for; a note says so.

    `by` names fields of the data (or length, turns): systems are then also compared on the replies with each of their
    values, by the primary metric.

    `jobs` and `max_cost` are as in `score`.
    """
    if labels is None and not (dimension is None and predictor is None):
        raise CallError("a dimension and a predictor are for human labels: expected labels")
    slices = tuple(by)
    settings: Any = {"seed": seed, "resamples": resamples, "jobs": jobs, "quiet": quiet}
    grouped = _Grouped(replace(FieldMap.given(fields), by=slices), pair_by, cluster)
    if baseline is not None:
        others = {
            "scores": scores,
            "labels": labels,
            "pair_by": pair_by,
            "cluster": cluster,
            "by": by,
            "faults": faults,
        }
        for name, value in others.items():
            if value:
                raise CallError(f"{name} cannot be used with baseline: expected one of them")
        from rejoinder.comparing.history import compare_with_release  # which compares tables as this does

        return compare_with_release(
            Path(baseline),
            replies,
            None if metrics is None else choose_metrics(metrics),
            primary=primary,
            margin=margin,
            allow_doubtful=allow_doubtful,
            max_cost=max_cost,
            unit=unit,
            fields=grouped.fields,
            on_error=on_error,
            **settings,
        )
    if scores is not None:
        if replies or labels is not None:
            raise CallError("scores are compared alone: expected no replies and no labels next to them")
        if slices:
            raise CallError("slices need replies: expected no scores next to `by`")
        if unit != "reply":
            raise CallError("a unit is for replies: expected no scores next to `unit`")
        if faults:
            raise CallError("faults are found in replies: expected no scores next to `faults`")
        if isinstance(scores, ScoreTable):
            return compare_table(scores, primary=primary, margin=margin, allow_doubtful=allow_doubtful)
        settings = {"seed": seed, "resamples": resamples, "allow_doubtful": allow_doubtful}
        return _compared_scores(scores, metrics, primary, margin, grouped, on_error, **settings)
    wanted = choose_metrics(metrics)
    joined, seen = join_systems(replies, partial(_opened, grouped=grouped, on_error=on_error, unit=unit), quiet=quiet)
    replay = Replay(joined)  # faults, like labels, are found in passes of their own
    # What is not scored is said in the verdict's first lines, not in the notes.
    run = LocalRun.of(replay, wanted, replace(seen, earlier=0), groups=grouped.finder, by=slices, **settings)
    for role, metric in {"predictor": predictor, "primary metric": primary}.items():
        if metric is not None and metric not in run.metrics:
            raise UnknownNameError(role, metric, run.metrics)
    labelled = None if labels is None else labels_by_row(replay, read_labels(labels), dimension)
    with judges_limited(run.metrics.values(), max_cost, quiet=quiet):
        table = run.score()
    named = [label for label in run.metrics if label not in wanted.optional]
    about: Any = {"named": named, "skipped": joined.messages, "allow_doubtful": allow_doubtful}
    found = compare_table(table, primary=primary, margin=None if labelled else margin, **about)
    found = replace(
        found,
        coverage=(*_other_languages(table, replay), *seen.notes, *found.coverage),
        faults=compared_faults(table, replay, faults, quiet=quiet),
    )
    if labelled is None:
        return found
    clusters = np.arange(len(table)) if table.grouping is None else table.grouping.clusters
    judged, values = labelled
    human = human_means(table, clusters, values, judged, predictor or found.primary.metric, margin)
    table = replace(found.table, labels=values.values)
    return replace(found, table=table, human=human, margin=margin, notes=(*found.notes, *human.notes))


def compared_faults(
    table: ScoreTable, replies: Iterable[Example], more: Iterable[str] = (), *, quiet: bool = True
) -> FaultShares:
    """The shares of the faults that are on by default, and of those that are named."""
    names = dict.fromkeys([*(fault.name for fault in chosen_faults()), *more])
    with bar("looking for faults", total=len(table), unit="replies", quiet=quiet) as moving:
        return compare_faults(table, flag_replies(replies, chosen_faults(names), progress=moving))


def _other_languages(table: ScoreTable, replies: Iterable[Example]) -> Iterator[str]:
    """Which systems reply in another language than their users write; looked for where replies are not in English."""
    foreign: dict[str, tuple[str, int]] = {}
    for system, counts in table.languages.items():
        others = {code: n for code, n in counts.items() if code not in (UNKNOWN_LANGUAGE, "en")}
        code = max(others, key=others.__getitem__, default="")
        if code and others[code] > MOST_DOUBTFUL * sum(counts.values()):
            foreign[system] = code, others[code]
    users: dict[str, Counter[str]] = {system: Counter() for system in foreign}
    for example in replies if foreign else ():
        if example.system in foreign and example.context:
            users[example.system][language(example.context[-1])] += 1
    for system, (code, count) in foreign.items():
        del users[system][UNKNOWN_LANGUAGE]
        [(theirs, _)] = users[system].most_common(1) or [(code, 0)]
        if theirs != code:
            of = f"{count:,} of {len(table.rows_of(system)):,} replies of {system}"
            yield f"{of} are in {name_of(code)}, although the users write {name_of(theirs)}"


@dataclass(frozen=True)
class _Grouped:
    """Which replies belong together, by fields that the caller named."""

    given: FieldMap
    pair_by: str | None
    cluster: str | None

    @property
    def fields(self) -> FieldMap:
        """The fields to read; one that is not ours is read as the context's or the dialogue's id."""
        names = dict(self.given.names)
        if self.cluster is not None:
            names["dialogue_id"] = self.given.of(self.cluster) if self.cluster in FIELDS else self.cluster
        if self.pair_by is not None and self._known is None:
            names["context_id"] = self.pair_by
        return FieldMap(names, self.given.separator, self.given.by)

    @property
    def pair_field(self) -> str | None:
        """The field of ours that replies are paired by; None: the best that they have."""
        return None if self.pair_by is None else self._known or "context_id"

    @property
    def _known(self) -> str | None:
        return next((ours for ours in PAIR_FIELDS if self.pair_by in (ours, self.given.of(ours))), None)

    def finder(self) -> GroupFinder:
        """Finds the groups of examples."""
        return GroupFinder(self.pair_field, self.pair_by, self.cluster, by_dialogue=True)

    def check_examples(self) -> None:
        """Raise a CallError for a name that Examples made by the caller do not have: they are not renamed."""
        for role, name, known in (("pair_by", self.pair_by, PAIR_FIELDS), ("cluster", self.cluster, ("dialogue_id",))):
            if name is not None and name not in known:
                raise CallError(
                    f"{role} must name a field of the Examples ({' or '.join(known)}), not {shortened(name)}"
                )


def _compared_scores(
    scores: Any,
    metrics: Metrics | MetricChoice | None,
    primary: str | None,
    margin: float | None,
    grouped: _Grouped,
    on_error: OnError,
    *,
    seed: int,
    resamples: int,
    allow_doubtful: bool,
) -> Comparison:
    """The comparison of numbers that exist already; without a choice, the first column is the primary one."""
    pair_field = grouped.pair_field
    table, skipped = read_score_table(
        scores, metrics, grouped.fields, pair_field, grouped.cluster, on_error, seed=seed, resamples=resamples
    )
    decisive = DecidingMetric.of(table, primary, table.metrics if metrics is not None else ())
    if primary is None and metrics is None:
        decisive = replace(decisive, reason="the first column")
    return compare_table(table, primary=decisive, margin=margin, skipped=skipped, allow_doubtful=allow_doubtful)


def _opened(origins: Sequence[Any], grouped: _Grouped, on_error: OnError, unit: Unit) -> list[Source]:
    """The sources of replies."""
    if not origins:
        raise CallError("compare needs replies: expected two or more files, or one that holds several systems")
    if sum(isinstance(origin, str) and origin == "-" for origin in origins) > 1:
        raise CallError("standard input can be read only once: expected - for at most one of the files")
    sources = [Source(origin, grouped.fields, on_error, unit=unit) for origin in origins]
    if any(source.holds_examples for source in sources):
        grouped.check_examples()
    return sources


def compare_table(
    table: ScoreTable,
    *,
    primary: str | DecidingMetric | None = None,
    margin: float | None = None,
    named: Sequence[str] = (),
    skipped: tuple[str, ...] = (),
    allow_doubtful: bool = False,
) -> Comparison:
    """Compare the systems of a table; `named` are the metrics that the user asked for."""
    pairs = list(combinations(table.system_names, 2))
    decisive = primary if isinstance(primary, DecidingMetric) else DecidingMetric.of(table, primary, named)
    if table.allows_doubt:  # it is that of a comparison
        table = replace(table, allows_doubt=False)
    doubts = [doubt for label in table.metrics if (doubt := table.doubt(label))] if allow_doubtful else []
    if doubts:
        table = replace(table, allows_doubt=True)
    others = [label for label in table.metrics if label != decisive.metric]
    most = math.ceil(len(pairs) * max(1 / SMALLEST_ADJUSTED, 2 * len(others) / ALPHA))
    tests = PairTests(table, most, FIRST_PERMUTATIONS)
    found = {label: [tests.test(label, a, b) for a, b in pairs] for label in table.metrics}
    verdicts = [
        *_corrected(table, {decisive.metric: found[decisive.metric]}, pairs),
        *_corrected(table, {label: found[label] for label in others}, pairs),
    ]
    if margin is not None:
        verdicts = [
            replace(verdict, equivalence=_equivalence(tests, verdict, margin, len(pairs)))
            if verdict.metric == decisive.metric
            else verdict
            for verdict in verdicts
        ]
    covered = [tests.coverage(a, b) for a, b in pairs]
    notes = dict.fromkeys(f"decided in spite of a doubt: {doubt}" for doubt in doubts)
    notes |= dict.fromkeys(note for told in covered for note in told) if len(pairs) > 1 else {}
    rankings = dict(ranked_systems(tests, verdicts))
    unranked = [label for label, ranked in rankings.items() if ranked is None and not table.doubt(label)]
    if unranked:
        notes.setdefault(
            f"no ranking by {', '.join(unranked)}: the pairs of systems were compared on such different contexts "
            "that a ranking could contradict the comparisons"
        )
    ranked = tuple(ranked for ranked in rankings.values() if ranked is not None)
    clusters = table.grouping.notes if table.grouping else ()
    return Comparison(
        table,
        tuple(verdicts),
        decisive,
        (*table.notes, *clusters, *notes),
        skipped,
        ranked,
        margin=margin,
        coverage=covered[0] if len(pairs) == 1 else _coverage_of_several(covered),
        slices={slices.field: _by_slice(table, slices, decisive.metric) for slices in table.slices},
        replies=table.replies,
        metrics=table.reasoning,
    )


def _coverage_of_several(covered: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """How many pairs of systems are not compared on all replies to the same contexts; the notes say which."""
    partly = sum(map(bool, covered))
    if not partly:
        return ()
    return (
        f"{partly:,} of {counted(len(covered), 'pair')} of systems are compared unpaired, by dialogue, or without some "
        "replies: the notes say which",
    )


def _by_slice(table: ScoreTable, slices: Slices, metric: str) -> dict[str, tuple[Verdict, ...]]:
    """Value of the field -> the verdicts of one metric on its replies; p-values are corrected over all values."""
    found: list[tuple[str, str, str, MeanComparison]] = []
    for value, part in table.sliced(slices).items():
        tests = PairTests(part, FIRST_PERMUTATIONS, FIRST_PERMUTATIONS)
        present = [system for system in table.system_names if len(part.rows_of(system))]
        found += [(value, a, b, tests.test(metric, a, b)) for a, b in combinations(present, 2)]
    adjusted = holm([result.p_value for *_, result in found])
    level = ALPHA / max(1, int((adjusted >= ALPHA).sum()))
    verdicts: dict[str, tuple[Verdict, ...]] = dict.fromkeys(slices.values, ())
    for (value, a, b, result), p_adjusted in zip(found, adjusted.tolist(), strict=True):
        verdicts[value] += (_verdict(table, metric, a, b, result, p_adjusted, level),)
    return verdicts


def _verdict(
    table: ScoreTable, metric: str, a: str, b: str, result: MeanComparison, p_adjusted: float, level: float
) -> Verdict:
    """The verdict that a test's result leads to, given what is known about the metric and the replies of both."""
    grouping = table.grouping
    better = table.higher_is_better.get(metric, True) if table.says_better(metric) else None
    found = Verdict(metric, a, b, result, p_adjusted, better, level, doubt=table.doubt(metric, (a, b)))
    return found if grouping is None else replace(found, unit=grouping.unit, paired_by=grouping.paired_by)


def _corrected(
    table: ScoreTable, found: Mapping[str, Sequence[MeanComparison]], pairs: Sequence[tuple[str, str]]
) -> Iterator[Verdict]:
    """The verdicts of some metrics, with p-values that are corrected for all of their tests together."""
    adjusted = holm([result.p_value for results in found.values() for result in results])
    # An open difference has to get below alpha / (open ones) to be the next that Holm's correction lets through.
    level = ALPHA / max(1, int((adjusted >= ALPHA).sum()))
    p_values = iter(adjusted.tolist())
    for label, results in found.items():
        for (a, b), result in zip(pairs, results, strict=True):
            yield _verdict(table, label, a, b, result, next(p_values), level)


def _equivalence(tests: PairTests, verdict: Verdict, margin: float, n_pairs: int) -> Equivalence:
    """Two one-sided tests, at a level that is divided by the number of pairs."""
    confidence = 1 - 2 * ALPHA / n_pairs
    interval = tests.test(verdict.metric, verdict.a, verdict.b, confidence).difference
    return Equivalence(margin, interval, confidence)

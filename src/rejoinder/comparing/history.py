"""The releases of a chatbot in a folder: recorded, compared with each other, and shown as a history."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rejoinder.comparing.compare import compare_table
from rejoinder.comparing.comparison import Comparison
from rejoinder.comparing.release import Release, is_release, read_release, scored_release, write_release
from rejoinder.comparing.systems import check_equal_signatures
from rejoinder.comparing.verdict import Verdict
from rejoinder.data.contexts import GroupFinder, Grouping
from rejoinder.data.records import FieldMap, Fields
from rejoinder.data.source import Source, labels_of
from rejoinder.errors import CallError, DataError, UnknownNameError, shortened
from rejoinder.folders.outputs import Output, paths_of, reserved
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
    fitting,
    origin_of,
    path,
    text,
    texts,
    verb,
)
from rejoinder.scoring.score import MetricChoice, Metrics, choose_metrics
from rejoinder.scoring.score_file import score_output
from rejoinder.scoring.table import ScoreTable, SystemMean, json_ready
from rejoinder.show.document import Block, Column, Document, Figures, Result, Section, Table, VerdictText, renamed
from rejoinder.show.figures import IntervalPanel
from rejoinder.show.text import bounds_text, decimals_of, signed
from rejoinder.stats.intervals import Interval
from rejoinder.types import Example, Unit

# The folder of releases: one score file with metadata for each, in the order in which they were recorded.


SUFFIX = ".jsonl"
_NAME = re.compile(r"[\w+][\w.+-]{0,99}")


def release_path(folder: Path, name: str) -> Path:
    """The file of a release; a CallError for a name that no file should have."""
    if not _NAME.fullmatch(name):
        expected = "expected up to 100 letters, digits, dots, hyphens and plus signs, such as 1.5.0"
        raise CallError(f"a release cannot be named {shortened(name)}: {expected}")
    return folder / f"{name}{SUFFIX}"


def release_output(path: Path) -> Output:
    """A new file for a release: what was recorded once is not changed."""
    if path.exists():
        raise CallError(f"{path} exists: a recorded release is not changed; expected another name")
    return score_output(path)


@contextmanager
def new_in(folder: Path) -> Iterator[None]:
    """The folder, which is created where it is not there, and deleted again if the block fails."""
    if folder.exists() and not folder.is_dir():
        raise CallError(f"{folder} is a file: expected a folder of releases")
    if not folder.parent.is_dir():
        raise CallError(f"{folder.parent} does not exist: expected a folder to make {folder.name} in")
    created = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        yield
    except BaseException:
        if created:
            with suppress(OSError):  # another run has written into it
                folder.rmdir()
        raise


def releases_in(folder: Path) -> list[Release]:
    """All releases, the oldest first; other score files are left out."""
    if not folder.is_dir():
        raise DataError("no such folder: expected one that `rejoinder history --add` wrote", file=str(folder))
    found = [read_release(path) for path in sorted(folder.glob(f"*{SUFFIX}")) if is_release(path)]
    return sorted(found, key=lambda release: (release.recorded, release.name))


def release_at(place: Path) -> Release:
    """The release at a path: the last one of a folder, or that of a file."""
    if place.is_file():
        return read_release(place)
    if not place.is_dir() and place.parent.is_dir():
        known = [path.name for path in place.parent.glob(f"*{SUFFIX}") if is_release(path)]
        if known:
            raise UnknownNameError(f"release in {place.parent}:", place.name, known)
    found = releases_in(place)
    if not found:
        raise DataError("has no release: `rejoinder history --add` records one", file=str(place))
    return found[-1]


# The means of all releases with their intervals, and how each differs from the one before.


_PLOT = 25
"""Characters of the plot in a terminal."""
CAUTION = (
    "Each release is compared with the one before, without a correction for the number of releases: even if no release "
    "changed anything, about one in twenty would differ significantly by chance."
)


@dataclass(frozen=True)
class ReleaseScore:
    """One release by one metric."""

    release: Release
    metric: str
    change: Verdict | None
    """The comparison with the release before; None for the first, and where scores cannot be compared."""
    broken: bool = False
    """Whether the release before was scored with another signature."""

    @property
    def summary(self) -> SystemMean:
        """Its mean with its interval."""
        return self.release.table.summary()[self.metric][self.release.name]

    @property
    def interval(self) -> Interval:
        """The same as an interval."""
        return Interval(self.summary.mean, self.summary.low, self.summary.high)

    def change_text(self) -> str:
        """How it differs from the release before."""
        if self.broken:
            return "another signature: not compared"
        if self.change is None:
            return ""
        difference = self.change.result.difference
        digits = decimals_of(difference)
        numbers = f"{signed(difference.estimate, digits)} {bounds_text(difference, digits)}"
        return f"{numbers} {self.outcome}" if not math.isnan(difference.estimate) else self.outcome

    @property
    def outcome(self) -> str:
        """What the comparison shows, in a word or two."""
        if self.change is None:
            return ""
        if self.change.better is not None:
            return "better" if self.change.better == self.release.name else "worse"
        words = {
            "higher": "differs",
            "identical": "identical",
            "too few": "too few replies",
            "untested": "too few replies",
            "doubtful": "not decided",
        }
        return words.get(self.change.outcome, "not significant")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        told = {
            "release": self.release.name,
            "recorded": self.release.recorded,
            "n": self.summary.n,
            "mean": self.summary.mean,
            "low": self.summary.low,
            "high": self.summary.high,
            "signature": self.summary.signature,
            "comparable": not self.broken,
            "outcome": self.outcome,
            "change": None if self.change is None else self.change.to_dict(),
        }
        return json_ready(told)


@verb
def history(
    folder: Annotated[str | Path, Option("the folder of releases; --add creates it", path)],
    *,
    add: Annotated[
        Any,
        Option(
            "score these replies, and record the scores, without any text, as a release",
            metavar="FILE",
            many="+",
            read=origin_of,
        ),
    ] = None,
    name: Annotated[str | None, Option("the name of the release, such as 1.5.0", text, metavar="NAME")] = None,
    metrics: Annotated[Metrics | MetricChoice | None, METRICS_OPTION] = None,
    max_cost: MaxCost = None,
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    seed: Seed = 0,
    resamples: Resamples = RESAMPLES,
    jobs: Jobs = None,
    quiet: Quiet = True,
) -> History:
    """The releases that a folder records, and how their scores change from release to release.

    With `add`, the replies of one system, and a `name`, these are first scored by the `metrics`, and the scores
    recorded as a release. Without, `metrics` are the names of those to show (by default the first of the last release).
    """
    folder = Path(folder)
    if (add is None) != (name is None):
        raise CallError("a release has replies and a name: expected both, to add it, or neither")
    mapping = FieldMap.given(fields)
    if add is None or name is None:
        if isinstance(metrics, MetricChoice):
            raise CallError("a configuration is for scoring: expected replies to add, or names of metrics to show")
        shown: Any = [metrics] if isinstance(metrics, str) else metrics or []
        return History.of(releases_in(folder), fitting("metrics", shown, texts("names of metrics")))
    target, chosen = release_path(folder, name), choose_metrics(metrics)
    with new_in(folder), reserved(release_output(target), reads=paths_of(add)):
        source = Source(add, mapping, on_error)
        settings: Any = {"seed": seed, "resamples": resamples, "jobs": jobs, "quiet": quiet}
        release = scored_release(source, name, chosen, max_cost=max_cost, **settings)
        write_release(release, target)
    return replace(History.of(releases_in(folder)), recorded=release)


@dataclass(frozen=True, repr=False)
class History(Result):
    """All releases of a folder by some metrics."""

    releases: Sequence[Release]
    metrics: tuple[str, ...]
    recorded: Release | None = None
    """The one that was just added."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """Why records of the release that was added were left out."""
        return self.recorded.skipped if self.recorded else ()

    @classmethod
    def of(cls, releases: Sequence[Release], metrics: Sequence[str] = ()) -> History:
        """The history by these metrics; without any, by the first of the last release."""
        if not releases:
            raise CallError("no release is recorded: `rejoinder history FOLDER --add FILE --name NAME` records one")
        last = releases[-1].table.metrics
        for label in metrics:
            if not any(label in release.table.metrics for release in releases):
                raise UnknownNameError("metric of these releases:", label, last)
        return cls(releases, tuple(metrics) or last[:1])

    @cached_property
    def scores(self) -> dict[str, list[ReleaseScore]]:
        """Metric -> one per release, the oldest first."""
        return {label: self._scores(label) for label in self.metrics}

    @property
    def entries(self) -> dict[str, list[ReleaseScore]]:
        """The scores, as they were named before 0.2."""
        renamed("entries", "scores")
        return self.scores

    def _scores(self, label: str) -> list[ReleaseScore]:
        having = [release for release in self.releases if label in release.table.metrics]
        found = [ReleaseScore(having[0], label, None)]
        for old, new in pairwise(having):
            broken = old.table.signatures[label] != new.table.signatures[label]
            change = None if broken else compare_releases(old, new, [label], primary=label).decisive_verdicts[0]
            found.append(ReleaseScore(new, label, change, broken))
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        changes = [score for scores in self.scores.values() for score in scores if score.change is not None]
        recorded = self.recorded.table.notes if self.recorded else ()
        return (*recorded, *((CAUTION,) if len(changes) > 1 else ()))

    @property
    def last(self) -> ReleaseScore:
        """The last release by the first metric, which the verdict is about."""
        return self.scores[self.metrics[0]][-1]

    @property
    def sentences(self) -> list[str]:
        """What the last release changed by the first metric."""
        name = self.last.release.name
        if self.last.change is not None:
            return [self.last.change.sentence()]
        if self.last.broken:
            before = self.scores[self.metrics[0]][-2].release.name
            return [f"{name} and {before} cannot be compared: they were scored with different signatures."]
        return [f"{name} is the first release: there is nothing to compare it with yet."]

    @property
    def decided(self) -> bool:
        """Whether the last release could be compared: False where the metric cannot judge its replies."""
        return self.last.change is None or self.last.change.outcome != "doubtful"

    def headline(self) -> str:
        """The verdict, as it was named before 0.2."""
        renamed("headline()", "verdict")
        return self.verdict

    def document(self) -> Document:
        """One table per metric, with a plot."""
        return Document(
            "Releases",
            [VerdictText(self.sentences), *(Section(label, self._blocks(label)) for label in self.metrics)],
            question="How good is each release?",
            counts=[(len(self.releases), "release", "releases")],
        )

    def _blocks(self, label: str) -> list[Block]:
        scores = self.scores[label]
        plots = _plot([score.interval for score in scores])
        rows = [
            [
                score.release.name,
                score.release.recorded[:10],
                score.summary.n,
                score.interval,
                plot,
                score.change_text(),
            ]
            for score, plot in zip(scores, plots, strict=True)
        ]
        mean = Column(label, digits=3)
        columns = ["release", "recorded", "n", mean, Column("", only=("text",), key="plot"), "change"]
        # Releases that were scored with different signatures have different colours.
        colours = tuple(accumulate(int(score.broken) for score in scores))
        title = f"Mean {label} of each release with its 95 % interval"
        panel = IntervalPanel(title, tuple((score.release.name, score.interval) for score in scores), colours)
        return [Figures([panel]), Table(columns, rows)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **self.answer,
            "headline": self.verdict,
            "metrics": {label: [score.to_dict() for score in scores] for label, scores in self.scores.items()},
        }


def _plot(intervals: Sequence[Interval]) -> list[str]:
    """One line per interval on a common scale: ├──●──┤; a mean without an interval is a dot."""
    known = [value for each in intervals for value in (each.estimate, each.low, each.high) if not math.isnan(value)]
    if not known:
        return ["" for _ in intervals]
    low, spread = min(known), (max(known) - min(known)) or 1.0

    def place(value: float) -> int:
        return round((value - low) / spread * (_PLOT - 1))

    lines = []
    for each in intervals:
        line = [" "] * _PLOT
        if not math.isnan(each.low + each.high):
            start, end = place(each.low), place(each.high)
            line[start : end + 1] = ["├", *"─" * (end - start - 1), "┤"] if end > start else ["│"]
        if not math.isnan(each.estimate):
            line[place(each.estimate)] = "●"
        lines.append("".join(line))
    return lines


# Two releases as one table, and their comparison: only scores with equal signatures are compared.


def compare_releases(
    old: Release,
    new: Release,
    metrics: Sequence[str],
    *,
    primary: str | None = None,
    margin: float | None = None,
    named: Sequence[str] = (),
    allow_doubtful: bool = False,
) -> Comparison:
    """The comparison of two releases by these metrics; a CallError where their signatures differ."""
    check_comparable(old, new.name, {label: new.table.signatures[label] for label in metrics})
    table = joined_releases(old, new, metrics)
    about: Any = {"named": named, "skipped": new.skipped, "allow_doubtful": allow_doubtful}
    return compare_table(table, primary=primary, margin=margin, **about)


def compare_with_release(
    baseline: Path,
    origins: Sequence[Any],
    chosen: MetricChoice | None,
    *,
    primary: str | None,
    margin: float | None,
    allow_doubtful: bool,
    unit: Unit,
    fields: FieldMap,
    on_error: OnError,
    **settings: Any,
) -> Comparison:
    """The comparison of replies with a recorded release; without metrics, by those that the release was scored by."""
    if not origins:
        raise CallError("baseline needs replies to compare with it: expected at least one file")
    old = release_at(baseline)
    metrics = choose_metrics(old.table.metrics) if chosen is None else chosen
    label = labels_of(origins[:1])[0]
    name = label if label != old.name else f"{label} (new)"
    check_comparable(old, name, {each: metric.signature for each, metric in metrics.metrics.items()})
    files = origins[0] if len(origins) == 1 else [Path(origin) for origin in origins]
    source = Source(files, fields, on_error, unit=unit)
    new = scored_release(source, name, metrics, **settings)
    named = () if chosen is None else new.table.metrics
    about: Any = {"primary": primary, "margin": margin, "named": named, "allow_doubtful": allow_doubtful}
    return compare_releases(old, new, new.table.metrics, **about)


def check_comparable(old: Release, name: str, signatures: Mapping[str, str]) -> None:
    """Raise a CallError where a release lacks a metric, or was scored with other settings or another version of it."""
    for label, signature in signatures.items():
        if label not in old.table.metrics:
            raise UnknownNameError(f"metric of {old.name}:", label, old.table.metrics)
        check_equal_signatures(label, {old.name: old.table.signatures[label], name: signature})


def joined_releases(old: Release, new: Release, metrics: Sequence[str]) -> ScoreTable:
    """The scores of both, with replies to equal contexts paired."""
    tables = (old.table, new.table)
    corpus: dict[str, Mapping[str, float]] = {}
    for label in metrics:
        found = {name: value for table in tables for name, value in table.corpus.get(label, {}).items()}
        if found:
            corpus[label] = found
    return ScoreTable(
        scores={label: np.concatenate([old.table[label], new.table[label]]) for label in metrics},
        signatures={label: new.table.signatures[label] for label in metrics},
        system_names=(old.name, new.name),
        system_of=np.repeat(np.array([0, 1], np.int32), [len(table) for table in tables]),
        ids=[*old.table.ids, *new.table.ids],
        corpus=corpus,
        ranges=new.table.ranges,
        higher_is_better=new.table.higher_is_better,
        notes=new.table.notes,
        doubts={
            label: {name: found for table in tables for name, found in table.doubts.get(label, {}).items()}
            for label in metrics
        },
        languages={name: found for table in tables for name, found in table.languages.items()},
        grouping=_grouping(old, new),
        seed=new.table.seed,
        resamples=new.table.resamples,
    )


def _grouping(old: Release, new: Release) -> Grouping:
    finder = GroupFinder()
    for release in (old, new):
        finder.add(
            Example(identifier, (), "", context_id=context, dialogue_id=dialogue)
            for identifier, context, dialogue in zip(
                release.table.ids, release.contexts, release.dialogues, strict=True
            )
        )
    return finder.found()

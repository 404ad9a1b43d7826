"""The means of all releases with their intervals, and how each differs from the one before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from rejoinder.errors import CallError, UnknownNameError
from rejoinder.meta.comparing.verdict import Verdict
from rejoinder.meta.history.joining import compare_releases
from rejoinder.meta.history.release import Release
from rejoinder.scoring.table import Summary, json_ready
from rejoinder.stats.formatting import bounds_text, decimals_of, signed
from rejoinder.stats.intervals import Interval
from rejoinder.text.grid import grid, number, wrapped

_PLOT = 25
"""Characters of the plot in a terminal."""
CAUTION = (
    "Each release is compared with the one before, without a correction for the number of releases: of twenty that "
    "changed nothing, one differs significantly by chance."
)


@dataclass(frozen=True)
class Entry:
    """One release by one metric."""

    release: Release
    metric: str
    change: Verdict | None
    """The comparison with the release before; None for the first, and where scores cannot be compared."""
    broken: bool = False
    """Whether the release before was scored with another signature."""

    @property
    def summary(self) -> Summary:
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


@dataclass(frozen=True)
class History:
    """All releases of a folder by some metrics."""

    releases: Sequence[Release]
    metrics: tuple[str, ...]

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
    def entries(self) -> dict[str, list[Entry]]:
        """Metric -> its entries, the oldest first."""
        return {label: self._entries(label) for label in self.metrics}

    def _entries(self, label: str) -> list[Entry]:
        having = [release for release in self.releases if label in release.table.metrics]
        found = [Entry(having[0], label, None)]
        for old, new in pairwise(having):
            broken = old.table.signatures[label] != new.table.signatures[label]
            change = None if broken else compare_releases(old, new, [label], primary=label).decisive_verdicts[0]
            found.append(Entry(new, label, change, broken))
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        changes = [entry for entries in self.entries.values() for entry in entries if entry.change is not None]
        return (CAUTION,) if len(changes) > 1 else ()

    def headline(self) -> str:
        """What the last release changed by the first metric, in a sentence."""
        entries = self.entries[self.metrics[0]]
        if entries[-1].change is not None:
            return entries[-1].change.sentence()
        if entries[-1].broken:
            before, name = entries[-2].release.name, entries[-1].release.name
            return f"{name} and {before} cannot be compared: they were scored with different signatures."
        return f"{entries[-1].release.name} is the first release: there is nothing to compare it with yet."

    def rows(self, label: str) -> list[list[str]]:
        """One row per release: name, day, replies, mean with its interval, change."""
        return [
            [
                entry.release.name,
                entry.release.recorded[:10],
                f"{entry.summary.n:,}",
                f"{number(entry.summary.mean)} {bounds_text(entry.interval)}",
                entry.change_text(),
            ]
            for entry in self.entries[label]
        ]

    def text(self, width: int = 80) -> str:
        """The headline, and one table with a plot per metric."""
        parts = [wrapped(self.headline(), width)]
        for label in self.metrics:
            plot = _plot([entry.interval for entry in self.entries[label]])
            rows = [[*row[:-1], drawn, row[-1]] for row, drawn in zip(self.rows(label), plot, strict=True)]
            header = ["release", "recorded", "n", label, "", "change"]
            parts.append(grid(header, rows, fit=width))
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self.text()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "headline": self.headline(),
            "metrics": {label: [entry.to_dict() for entry in entries] for label, entries in self.entries.items()},
            "notes": list(self.notes),
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

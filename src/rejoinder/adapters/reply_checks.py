"""Checks of replies inside tests: each pair of files is scored once, and all results go into one report."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rejoinder.comparing.compare import compare, compare_table
from rejoinder.comparing.comparison import Comparison
from rejoinder.comparing.verdict import Gate, gate
from rejoinder.data.records import Fields
from rejoinder.errors import RejoinderError
from rejoinder.scoring.page import table_means
from rejoinder.scoring.score import Metrics, score
from rejoinder.scoring.table import ScoreTable
from rejoinder.show.document import Say, Section
from rejoinder.show.html import render_page

T = TypeVar("T")


@dataclass
class ReplyChecks:
    """Checks that share their scores, in the order in which they were made."""

    sections: list[Section] = field(default_factory=list)
    _kept: dict[tuple[Any, ...], tuple[Any, Any]] = field(default_factory=dict)
    """What was scored -> the objects themselves, whose ids must not be given to others, and the result."""

    def score(self, replies: Any, metrics: Metrics | None = None, *, fields: Fields | None = None) -> ScoreTable:
        """The scores of replies (a path, a list, a data frame), computed once for each set of replies and metrics."""
        __tracebackhide__ = True

        def work() -> ScoreTable:
            table = score(replies, metrics, fields=fields)
            self.sections.append(_section(f"Scores of {_named(replies, 'a list of replies')}", table))
            return table

        return self._once(("score", replies, metrics, fields), work)

    def assert_not_worse(
        self,
        baseline: Any,
        candidate: Any,
        metric: str = "default",
        *,
        margin: float,
        fields: Fields | None = None,
        seed: int = 0,
        allow_doubtful: bool = False,
    ) -> Comparison:
        """The comparison, where the candidate is shown to be no worse than the baseline by the margin or more.

        An AssertionError with the interval otherwise. The replies of both are paired by context, and the test is that
        of `rejoinder compare --fail-if worse --margin`: too few contexts to show it fail, as a worse candidate does.
        So do replies that the metric cannot judge, unless `allow_doubtful`.
        """
        __tracebackhide__ = True
        comparison = self._once(
            ("compare", baseline, candidate, metric, margin, fields, seed, allow_doubtful),
            lambda: self._compared(baseline, candidate, metric, margin, fields, seed, allow_doubtful),
        )
        found = gate(comparison, "worse")
        outcome = "passed" if found.passed else "failed" if found.decided else "not decided"
        title = f"{' and '.join(comparison.table.system_names)}: {outcome}"
        self.sections.append(_section(title, comparison.table, found))
        if not found.passed:
            raise AssertionError(found.reason if found.decided else f"not decided: {found.reason}")
        return comparison

    def _compared(
        self,
        baseline: Any,
        candidate: Any,
        metric: str,
        margin: float,
        fields: Fields | None,
        seed: int,
        allow_doubtful: bool,
    ) -> Comparison:
        """The comparison, on scores that a check with another margin may have computed."""
        about: Any = {"margin": margin, "allow_doubtful": allow_doubtful}
        first, given = self._once(
            ("scored", baseline, candidate, metric, fields, seed),
            lambda: (compare(baseline, candidate, metrics=metric, fields=fields, seed=seed, **about), about),
        )
        return first if given == about else compare_table(first.table, primary=metric, **about)

    def report(self) -> str:
        """All results as one HTML file."""
        return render_page("Checks of replies", self.sections)

    def _once(self, inputs: tuple[Any, ...], work: Callable[[], T]) -> T:
        """The result of the work, done once for the same inputs."""
        __tracebackhide__ = True
        key = tuple(map(_key, inputs))
        if key not in self._kept:
            try:
                self._kept[key] = inputs, work()
            except RejoinderError as error:
                raise error.with_traceback(None) from None  # a test's failure shows the line of the test, not ours
        result: T = self._kept[key][1]
        return result


def assert_not_worse(
    baseline: Any,
    candidate: Any,
    metric: str = "default",
    *,
    margin: float,
    fields: Fields | None = None,
    seed: int = 0,
    allow_doubtful: bool = False,
) -> Comparison:
    """`ReplyChecks.assert_not_worse`, for a single check without a session."""
    __tracebackhide__ = True
    settings: Any = {"margin": margin, "fields": fields, "seed": seed, "allow_doubtful": allow_doubtful}
    return ReplyChecks().assert_not_worse(baseline, candidate, metric, **settings)


def _key(value: Any) -> Any:
    """What is equal for the same input: text, numbers, paths and names by their value, other objects by identity."""
    if isinstance(value, str | float | int | os.PathLike | None):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return id(value)


def _named(replies: Any, otherwise: str) -> str:
    return str(replies) if isinstance(replies, str | os.PathLike) else otherwise


def _section(title: str, table: ScoreTable, found: Gate | None = None) -> Section:
    """The reason of a check, notes, and the means."""
    said = [Say([found.reason])] if found else []
    return Section(title, [*said, Say(table.notes, lines=True), *table_means(table)])

"""Which system has more replies with a fault: shares, paired tests, and the check of a candidate.

Two systems are compared on the same replies as by metrics: on the contexts that both answered, or unpaired. The paired
test swaps the systems within whole dialogues. Replies have a fault or have it not, so that its p-value is computed
exactly, from all swaps; where every dialogue has one context, it is McNemar's exact test (McNemar 1947).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.comparing.tests import PairTests, means_by_context
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.faulting.fault import FaultCard, card
from rejoinder.faulting.found import ANY, FaultFlags, fault_share, percent, percent_text, plain_interval
from rejoinder.scoring.table import ScoreTable, json_ready
from rejoinder.show.document import (
    NOT_LATEX,
    PAGE,
    Block,
    Cell,
    Column,
    Marked,
    PValue,
    Say,
    Section,
    SystemName,
    Table,
)
from rejoinder.show.text import bounds_text, counted, names_text, number_text, p_statement
from rejoinder.stats.intervals import Interval
from rejoinder.stats.means import MeanComparison
from rejoinder.stats.resampling import ALPHA, holm

MOST_EXACT = 4000
"""Replies that differ, up to which all swaps are counted; with more, random ones give the same p-value."""
_MOST_TOLD = 4
_PERMUTATIONS = 9999
_CONFIDENCE = 1 - 2 * ALPHA
"""Of the interval that a margin is compared with: two one-sided tests at 5 %."""


@dataclass(frozen=True, slots=True)
class FaultDifference:
    """How the shares of two systems' replies that have a fault differ."""

    fault: str
    a: str
    b: str
    share_a: Interval
    share_b: Interval
    """Of all replies that can be judged."""
    difference: Interval
    """B minus A, over the replies that are compared."""
    p_value: float
    p_adjusted: float = math.nan
    """Holm-corrected over all faults and pairs of systems; NaN where there was nothing to test."""

    @property
    def judged(self) -> bool:
        """Whether replies of both systems could be judged."""
        return not (math.isnan(self.share_a.estimate) or math.isnan(self.share_b.estimate))

    @property
    def more(self) -> str | None:
        """The system that has the fault significantly more often; None if neither has."""
        if not self.p_adjusted < ALPHA:
            return None
        return self.b if self.difference.estimate > 0 else self.a

    @property
    def fewer(self) -> str | None:
        """The other one."""
        return None if self.more is None else self.a if self.more == self.b else self.b

    def share(self, system: str) -> Interval:
        """The share of one of the two."""
        return self.share_a if system == self.a else self.share_b

    def told(self) -> str:
        """'cut-off in 48 % [33, 63] of its replies, A in 0 % [0, 10] (p < 0.001)', the system with more first."""
        first, second = (self.more, self.fewer) if self.more is not None else (self.b, self.a)
        assert first is not None
        assert second is not None
        shares = f"{percent_text(self.share(first))} of its replies, {second} in {percent_text(self.share(second))}"
        return f"{self.fault} in {shares} ({p_statement(self.p_adjusted)})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values; shares and differences are from 0 to 1."""
        found: dict[str, Any] = json_ready(
            {
                "fault": self.fault,
                "a": self.a,
                "b": self.b,
                "share_a": plain_interval(self.share_a),
                "share_b": plain_interval(self.share_b),
                "difference": self.difference.estimate,
                "low": self.difference.low,
                "high": self.difference.high,
                "p": self.p_value,
                "p_adjusted": self.p_adjusted,
                "more": self.more,
            }
        )
        return found


@dataclass(frozen=True)
class FaultShares:
    """How often each fault was found in each system's replies, and which systems differ."""

    flags: FaultFlags
    shares: Mapping[str, Mapping[str, Interval]]
    """Fault, or `any fault` -> system -> the share of its replies."""
    differences: tuple[FaultDifference, ...]
    """Of each fault and pair of systems."""
    tests: PairTests = field(compare=False, repr=False)

    @property
    def cards(self) -> dict[str, FaultCard]:
        """Fault -> what is known of it."""
        return {name: card(name) for name in self.flags.names}

    @property
    def by_frequency(self) -> list[str]:
        """The faults that were found, the most frequent first."""
        totals = dict(zip(self.flags.names, self.flags.found.sum(axis=0).tolist(), strict=True))
        return sorted((name for name, count in totals.items() if count), key=lambda name: -totals[name])

    def sentences(self, systems: Sequence[str]) -> list[str]:
        """Which systems have more of which faults; nothing where none differs significantly."""
        significant = [one for one in self.differences if one.more is not None]
        significant.sort(key=lambda one: -abs(one.difference.estimate))
        told = []
        for system in systems:
            own = [one for one in significant if one.more == system]
            if len(systems) == 2 and own:
                rest = len(own) - _MOST_TOLD
                more = f"; and {counted(rest, 'other fault')}" if rest > 0 else ""
                parts = "; ".join(one.told() for one in own[:_MOST_TOLD])
                told.append(f"More faults in {system}: {parts}{more}.")
            elif own:
                faults = list(dict.fromkeys(one.fault for one in own))
                others = len({one.fewer for one in own})
                told.append(
                    f"More faults in {system}: {names_text(faults)}, compared with {counted(others, 'system')}."
                )
        return told

    def section(self, systems: Sequence[str]) -> list[Block]:
        """The share of each fault that was found, and its difference where there are two systems."""
        names, title = self.by_frequency, "Faults"
        if not names:
            none = f"None of {len(self.flags.names)} faults was found in the replies."
            return [Section(title, [Say([none], only=PAGE)], title, only=PAGE)]
        tested = {one.fault: one for one in self.differences} if len(systems) == 2 else {}
        rows = [self._row(name, systems, tested.get(name)) for name in (ANY, *names)]
        badges = [Column(SystemName(name, at), digits=1) for at, name in enumerate(systems)]
        columns = [title.lower().removesuffix("s"), Column("the reply ...", only=PAGE), *badges]
        columns += [Column("difference", sign=True, digits=1), "p"] if tested else []
        note = (
            "Per cent of the replies, with 95 % intervals. p: swaps of whole dialogues, corrected for all faults"
            f"{'' if tested else ' and pairs of systems'} (Holm). What each fault is, and how sure: "
            "`rejoinder faults --details`."
        )
        differ = any(one.more for one in self.differences)
        table = Table(columns, rows, title="Replies with faults", note=note, full=not differ, only=NOT_LATEX)
        return [Section(title, [table], title, full=not differ)]

    def _row(self, name: str, systems: Sequence[str], found: FaultDifference | None) -> list[Cell]:
        shares = [percent(self.shares[name][system]) for system in systems]
        fewer = None if found is None else found.fewer
        cells = [Marked(share) if system == fewer else share for system, share in zip(systems, shares, strict=True)]
        tested: list[Cell] = [] if len(systems) != 2 else [None, None]
        if found is not None:
            tested = [percent(found.difference), PValue(found.p_adjusted)]
        return [name, "" if name == ANY else self.cards[name].sentence, *cells, *tested]

    def check(self, spec: str) -> FaultCheck:
        """Whether the second system passes `FAULT` or `FAULT:POINTS`: see `FaultCheck`."""
        name, points = fault_limit(spec)
        found = [one for one in self.differences if one.fault == name]
        if name not in self.flags.names:
            raise UnknownNameError("fault", name, self.flags.names)
        if len(found) != 1:
            raise CallError("--fail-if-more needs a baseline and a candidate: expected two systems")
        one = found[0]
        if points is None or not one.judged:
            return _checked(one, points)
        return _checked(one, points, percent(self.tests.test(name, one.a, one.b, _CONFIDENCE).difference))

    def to_dict(self) -> dict[str, Any]:
        """Plain values; of the faults that were found in some reply."""
        shares = {
            fault: {system: plain_interval(share) for system, share in self.shares[fault].items()}
            for fault in (ANY, *self.by_frequency)
        }
        tested = [one.to_dict() for one in self.differences if one.fault in shares]
        return {"looked_for": list(self.flags.names), "shares": shares, "differences": tested}


def compare_faults(table: ScoreTable, flags: FaultFlags) -> FaultShares:
    """The shares of each fault, and the tests of all pairs of systems; `flags` are those of the table's rows."""
    columns = {name: np.where(able, found, np.nan) for name in flags.names for found, able in [flags.of(name)]}
    scores = {name: np.asarray(column, np.float64) for name, column in columns.items()}
    tests = PairTests(replace(table, scores=scores, ranges=dict.fromkeys(scores, (0.0, 1.0))), 0, _PERMUTATIONS)
    clusters = tests.grouping.clusters
    shares = {
        name: {system: fault_share(*flags.of(name), clusters, table.rows_of(system)) for system in table.system_names}
        for name in (ANY, *flags.names)
    }
    found = [
        _difference(tests, name, a, b, shares[name])
        for name in flags.names
        for a, b in combinations(table.system_names, 2)
    ]
    tested = [one for one in found if not math.isnan(one.p_value)]
    adjusted = iter(holm([one.p_value for one in tested]).tolist() if tested else [])
    found = [one if math.isnan(one.p_value) else replace(one, p_adjusted=next(adjusted)) for one in found]
    return FaultShares(flags, shares, tuple(found), tests)


def _difference(tests: PairTests, name: str, a: str, b: str, shares: Mapping[str, Interval]) -> FaultDifference:
    if _is_absent(tests, name, a, b):
        equal = shares[b].estimate - shares[a].estimate  # 0, or NaN where no reply of one could be judged
        return FaultDifference(name, a, b, shares[a], shares[b], Interval(equal, math.nan, math.nan), math.nan)
    result = tests.test(name, a, b)
    p = _p_value(tests, name, a, b, result)
    return FaultDifference(name, a, b, shares[a], shares[b], result.difference, p)


def _is_absent(tests: PairTests, name: str, a: str, b: str) -> bool:
    """Whether neither system has the fault, or no reply of one could be judged: there is nothing to test then."""
    rows = [tests.table[name][tests.table.rows_of(system)] for system in (a, b)]
    return any(np.isnan(own).all() for own in rows) or not any(np.nansum(own) for own in rows)


def _p_value(tests: PairTests, name: str, a: str, b: str, result: MeanComparison) -> float:
    shared = tests.shared(a, b)
    if shared is None:
        return result.p_value
    grouping, gains = tests.grouping, []
    for system in (a, b):
        rows = tests.table.rows_of(system)
        means, sizes = means_by_context(tests.table[name][rows], grouping.contexts[rows], shared)
        if not np.isin(sizes, (0.0, 1.0)).all():  # several replies to one context
            return result.p_value
        gains.append(means)
    cluster_of = np.zeros(grouping.n_contexts, np.int64)
    cluster_of[grouping.contexts] = grouping.clusters
    gain = np.nan_to_num(gains[1] - gains[0])
    by_cluster = np.bincount(cluster_of[shared], weights=gain).astype(np.float64)
    return exact_swap_p(by_cluster) if np.abs(by_cluster).sum() <= MOST_EXACT else result.p_value


def exact_swap_p(gains: Floats) -> float:
    """The probability of a total at least as far from 0, if each group's gain, a whole number, had a random sign.

    Gains of -1, 0 and 1 give McNemar's exact test: the sign test of the pairs that differ.
    """
    sizes = np.abs(gains[gains != 0]).astype(np.int64)
    total = int(sizes.sum())
    if not total:
        return 1.0
    chances = np.zeros(2 * total + 1)  # of each total, from -total on
    chances[total] = 1.0
    for size in sizes.tolist():
        moved = np.zeros_like(chances)
        moved[size:] += chances[:-size] / 2
        moved[:-size] += chances[size:] / 2
        chances = moved
    observed = abs(int(gains.sum()))
    return (
        min(1.0, float(chances[: total - observed + 1].sum() + chances[total + observed :].sum())) if observed else 1.0
    )


# Whether a candidate passes: `--fail-if-more FAULT[:POINTS]`.


@dataclass(frozen=True, slots=True)
class FaultCheck:
    """Whether the second system has a fault no more often than the first.

    Without a margin it fails if it has it significantly more often, after Holm's correction. With a margin, in
    percentage points, it fails unless its share is shown not to be higher by the margin or more.
    """

    fault: str
    points: float | None
    passed: bool
    reason: str
    decided: bool = True
    """False where the fault cannot be judged."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "fault": self.fault,
            "points": self.points,
            "passed": self.passed,
            "decided": self.decided,
            "reason": self.reason,
        }


def fault_limit(spec: str) -> tuple[str, float | None]:
    """Name and margin of 'cut-off:2'."""
    name, colon, points = spec.partition(":")
    try:
        margin = float(points) if colon else None
    except ValueError:
        margin = math.nan
    if margin is not None and not 0 < margin <= 100:
        raise CallError(
            f"--fail-if-more must be FAULT or FAULT:POINTS, with points above 0 and at most 100, not {spec!r}"
        )
    return name, margin


def not_judged_without_texts(spec: str) -> FaultCheck:
    """The check where there are no texts of both systems, as with scores or a recorded release."""
    name, points = fault_limit(spec)
    reason = f"{name} cannot be judged: there are no texts of both systems."
    return FaultCheck(name, points, passed=False, reason=reason, decided=False)


def _checked(found: FaultDifference, points: float | None, limits: Interval | None = None) -> FaultCheck:
    """The check; `limits` is the difference in per cent, with the confidence that a margin is tested with."""
    if not found.judged:
        reason = f"{found.fault} cannot be judged: the replies lack what it needs."
        return FaultCheck(found.fault, points, passed=False, reason=reason, decided=False)
    shares = f"{found.b} {percent_text(found.share_b)}, {found.a} {percent_text(found.share_a)} of replies"
    if points is None or limits is None:
        more = found.more == found.b
        tested = "" if math.isnan(found.p_adjusted) else f", {p_statement(found.p_adjusted)}"
        told = "significantly more often" if more else "not significantly more often"
        return FaultCheck(found.fault, None, not more, f"{found.fault}: {told} in {found.b} ({shares}{tested}).")
    passed = limits.high < points
    bounds = f"difference {number_text(limits.estimate, 1)} points, {_CONFIDENCE:.0%} interval {bounds_text(limits, 1)}"
    if passed:
        told = f"{found.b} has it less than {points:g} points more often than {found.a}"
    elif limits.low >= points:
        told = f"{found.b} has it {points:g} points more often than {found.a}, or more"
    else:
        told = f"{found.b} may have it {points:g} points more often than {found.a}: too few replies to rule that out"
    return FaultCheck(found.fault, points, passed, f"{found.fault}: {told} ({shares}; {bounds}).")

"""The result of ranking systems by preferences: verdict, tables, JSON, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from rejoinder._version import __version__
from rejoinder.errors import listed
from rejoinder.figures.panels import IntervalPanel
from rejoinder.figures.standalone import Figure
from rejoinder.scoring.table import json_ready
from rejoinder.stats.formatting import bounds_text, counted, interval_text, p_statement, share_text
from rejoinder.stats.intervals import Interval
from rejoinder.stats.multiple import ALPHA
from rejoinder.stats.preferences.length_control import LengthControlled
from rejoinder.text.grid import grid, number
from rejoinder.text.latex import latex_safe, latex_table
from rejoinder.text.notebook import text_html

MOST_IN_MATRIX = 12
"""With more systems, the table of win rates would not fit a terminal."""


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """One system's place."""

    system: str
    strength: Interval
    """Log-odds of beating the average system; the interval resamples contexts."""
    fisher: Interval
    group: int
    """1 for the best. No two systems of one group differ significantly."""
    component: int
    """Systems of different components were never compared, not even through others."""
    wins: int
    ties: int
    losses: int

    @property
    def win_rate(self) -> float:
        """The share of its comparisons that the system won; ties count half."""
        return (self.wins + self.ties / 2) / (self.wins + self.ties + self.losses)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems of one component; wins, losses and differences are those of b."""

    a: str
    b: str
    win_rate: Interval
    """b's, ties count half; NaN where the two were compared only through others."""
    wins: int
    ties: int
    losses: int
    difference: Interval
    """b's strength minus a's."""
    p_value: float
    p_adjusted: float
    controlled: LengthControlled | None
    """b's win rate at equal lengths, where the replies are known."""

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below .05."""
        return self.p_adjusted < ALPHA


@dataclass(frozen=True)
class PreferenceReport:
    """Systems ranked by preferences, best first; `str()` is the verdict and the tables."""

    name: str
    model: str
    systems: tuple[RankedSystem, ...]
    pairs: tuple[Pair, ...]
    judgements: int
    contexts: int
    raters: int
    ties: int
    both_bad: int
    tie_strength: float
    """v of Davidson's model; 0 without ties in the model."""
    with_prior: bool
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    seed: int = 0
    resamples: int = 0

    @property
    def components(self) -> int:
        """Into how many parts the systems fall that were never compared with each other."""
        return len({system.component for system in self.systems})

    def pair(self, a: str, b: str) -> Pair | None:
        """The pair of two systems, in either order."""
        return next((pair for pair in self.pairs if {pair.a, pair.b} == {a, b}), None)

    def verdict(self, prefer: str = "People prefer") -> str:
        """The answer in one sentence, and what limits it; `prefer` says whose preferences these are."""
        connected = [row.system for row in self.systems if row.component == self.systems[0].component]
        best, rest = connected[0], connected[1:]
        rivals = [other for other in rest if (pair := self.pair(best, other)) is None or not pair.significant]
        if not rivals:
            answer = f"{prefer} {best} to {'all others' if len(rest) > 1 else rest[0]}{self._evidence(best, rest)}."
        elif all(math.isnan(pair.p_value) for pair in self.pairs if pair.a in connected):
            answer = f"One context is too few to compare {listed(connected)}."
        elif len(rest) == 1:
            answer = f"No significant difference between {best} and {rest[0]}{self._evidence(best, rest)}."
        else:
            answer = f"{best} is the strongest, but not significantly stronger than {listed(rivals)}."
        return " ".join([answer, *self._warnings()])

    def _evidence(self, best: str, rest: list[str]) -> str:
        """How large the difference of two systems is, with its p-value; for more systems, the largest p-value.

        The interval is that of the strengths, from which the p-value comes, so that the two agree.
        """
        pairs = [pair for other in rest if (pair := self.pair(best, other)) is not None]
        worst = max(pairs, key=lambda pair: pair.p_adjusted)
        if len(pairs) > 1:
            return f" (largest {p_statement(worst.p_adjusted)})"
        rate, gap = worst.win_rate.estimate, worst.difference
        if worst.a == best:
            rate, gap = 1 - rate, Interval(-gap.estimate, -gap.high, -gap.low)
        return (
            f" ({best} wins {share_text(rate)} of comparisons, ties counting half; difference of strengths "
            f"{interval_text(gap, 2)}, {p_statement(worst.p_adjusted)})"
        )

    def _warnings(self) -> Iterator[str]:
        if self.components > 1:
            yield (
                f"The systems fall into {self.components} sets without any comparison between them: each set has a "
                "ranking of its own, of which this is the one with the most comparisons."
            )
        if self.with_prior and any(row.wins for row in self.systems):
            extreme = [row.system for row in self.systems if (row.wins > 0) != (row.losses > 0)]
            yield (
                f"{listed(extreme) or 'A set of systems'} won all comparisons, or lost all, so that the most likely "
                "strengths are infinite; those shown use a prior of half a win, half a loss and half a tie per system."
            )

    def plot(self) -> Figure:
        """The strength of each system with its 95 % interval, best first."""
        rows = tuple((row.system, row.strength) for row in self.systems)
        panel = IntervalPanel("Strength (log-odds of beating the average system)", rows)
        return Figure.of(panel.title, [panel])

    def _repr_html_(self) -> str:
        return text_html(str(self))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values = {
            "version": __version__,
            "data": self.name,
            "verdict": self.verdict(),
            "model": self.model,
            "judgements": self.judgements,
            "contexts": self.contexts,
            "raters": self.raters,
            "ties": self.ties,
            "both_bad": self.both_bad,
            "tie_strength": self.tie_strength,
            "with_prior": self.with_prior,
            "seed": self.seed,
            "resamples": self.resamples,
            "warnings": list(self.notes),
            "skipped": list(self.skipped),
            "ranking": [
                {
                    "system": row.system,
                    "group": row.group,
                    "component": row.component,
                    "strength": plain_interval(row.strength),
                    "fisher": plain_interval(row.fisher),
                    "wins": row.wins,
                    "ties": row.ties,
                    "losses": row.losses,
                    "win_rate": row.win_rate,
                }
                for row in self.systems
            ],
            "pairs": [_pair_dict(pair) for pair in self.pairs],
        }
        return json_ready(values)

    def to_latex(self) -> str:
        """A booktabs table of the ranking."""
        rows = [
            [
                latex_safe(row.system),
                str(row.group),
                number(row.strength.estimate, 2),
                bounds_text(row.strength, 2),
                latex_safe(share_text(row.win_rate)),
                str(row.wins + row.ties + row.losses),
            ]
            for row in self.systems
        ]
        return latex_table(["system", "group", "strength", r"95\,\% interval", "wins", "comparisons"], rows)

    def __str__(self) -> str:
        return f"{self.verdict()}\n\n{self.tables()}"

    def tables(self) -> str:
        """How many judgements there are, the ranking, and win rates."""
        counts = [counted(self.judgements, "judgement"), counted(self.contexts, "context")]
        counts += [counted(self.raters, "rater")] if self.raters else []
        counts.append(f"{share_text(self.ties / self.judgements)} ties")
        parts = [f"{', '.join(counts)}; {_MODEL_NAMES[self.model]}"]
        for _, members in groupby(self.systems, key=lambda row: row.component):
            rows = list(members)
            parts.append(_ranking_text(rows))
            if len(rows) <= MOST_IN_MATRIX:
                parts.append(self._matrix_text([row.system for row in rows]))
        if any(pair.controlled for pair in self.pairs):
            parts.append(_length_text([pair for pair in self.pairs if pair.controlled]))
        return "\n\n".join(parts)

    def _matrix_text(self, systems: list[str]) -> str:
        rows = [[system, *(self._rate_cell(system, other) for other in systems)] for system in systems]
        title = "How often the system of the row wins against that of the column (ties count half)"
        marked = any(cell.endswith("*") for row in rows for cell in row[1:])
        note = "\n* significant difference of strengths (Holm-corrected)" if marked else ""
        return f"{title}\n{grid(['', *systems], rows)}{note}"

    def _rate_cell(self, system: str, other: str) -> str:
        pair = None if system == other else self.pair(system, other)
        if pair is None or np.isnan(pair.win_rate.estimate):
            return "" if system == other else "-"
        rate = pair.win_rate if pair.b == system else _turned(pair.win_rate)
        return share_text(rate.estimate) + ("*" if pair.significant else "")


_MODEL_NAMES = {
    "davidson": "Bradley-Terry strengths with ties (Davidson 1970)",
    "bradley-terry": "Bradley-Terry strengths, a tie is half a win for each",
}


def _ranking_text(rows: list[RankedSystem]) -> str:
    cells = [
        [
            row.system,
            str(row.group),
            interval_text(row.strength, 2, sign=True),
            share_text(row.win_rate),
            str(row.wins),
            str(row.ties),
            str(row.losses),
        ]
        for row in rows
    ]
    return grid(["system", "group", "strength [95 %]", "win rate", "wins", "ties", "losses"], cells)


def _length_text(pairs: list[Pair]) -> str:
    rows = [
        [
            f"{pair.b} against {pair.a}",
            share_text(found.win_rate),
            rate_text(found.controlled),
            number(found.length_effect, 2),
        ]
        for pair in pairs
        if (found := pair.controlled) is not None
    ]
    title = "Win rates at equal lengths of the replies (Dubois et al. 2024)"
    return f"{title}\n{grid(['', 'win rate', 'at equal length [95 %]', 'length effect'], rows)}"


def rate_text(rate: Interval) -> str:
    """A share with its interval."""
    bounds = "" if np.isnan(rate.low) else f" [{share_text(rate.low)}, {share_text(rate.high)}]"
    return f"{share_text(rate.estimate)}{bounds}"


def _turned(rate: Interval) -> Interval:
    return Interval(1 - rate.estimate, 1 - rate.high, 1 - rate.low)


def plain_interval(interval: Interval) -> dict[str, float]:
    """An interval as plain values."""
    return {"estimate": interval.estimate, "low": interval.low, "high": interval.high}


def _pair_dict(pair: Pair) -> dict[str, Any]:
    controlled = pair.controlled
    return {
        "a": pair.a,
        "b": pair.b,
        "win_rate": plain_interval(pair.win_rate),
        "wins": pair.wins,
        "ties": pair.ties,
        "losses": pair.losses,
        "difference": plain_interval(pair.difference),
        "p": pair.p_value,
        "p_adjusted": pair.p_adjusted,
        "significant": pair.significant,
        "length_controlled": {
            **plain_interval(controlled.controlled),
            "win_rate": controlled.win_rate,
            "length_effect": controlled.length_effect,
            "judgements": controlled.n,
        }
        if controlled
        else None,
    }

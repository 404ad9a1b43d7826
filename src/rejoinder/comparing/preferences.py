"""Which system do people prefer? The ranking from pairwise preferences, and its report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np

from rejoinder._version import __version__
from rejoinder.arrays import Floats, Ints
from rejoinder.comparing.verdict import FailIf, Gate
from rejoinder.data.judged import Preference, PreferenceSource, context_key
from rejoinder.data.records import Fields
from rejoinder.errors import CallError, DataError, UnknownNameError, listed
from rejoinder.options import OnError
from rejoinder.scoring.table import json_ready
from rejoinder.show.document import (
    Block,
    Cell,
    Column,
    Document,
    Marked,
    Result,
    Say,
    Share,
    Table,
    VerdictText,
    renamed,
)
from rejoinder.show.figures import IntervalPanel
from rejoinder.show.text import counted, interval_text, p_statement, share_text
from rejoinder.stats.intervals import Interval
from rejoinder.stats.preferences import (
    LOSS,
    TIE,
    WIN,
    Contests,
    Duel,
    LengthControlled,
    Standing,
    length_controlled_win_rate,
    rank,
)
from rejoinder.stats.resampling import ALPHA, mean_interval

# Which system do people prefer? A ranking from pairwise preferences.


FEWEST_WITH_LENGTHS = 10
"""Fewest comparisons of two systems for which the effect of length is estimated."""
_OUTCOMES = {"a": WIN, "b": LOSS}


def ranked_preferences(
    origin: Any, *, model: str, fields: Fields | None, on_error: OnError, seed: int, resamples: int
) -> Preferences:
    """The systems of pairwise preferences, ranked: `prefer` without a judge."""
    with closing(PreferenceSource(origin, fields, on_error)) as source:
        preferences = list(source.preferences())
        name, skipped = source.name, tuple(str(error) for error in source.skipped.values())
    if not preferences:
        raise DataError("has no preferences: expected at least one", file=name)
    return _PreferenceArrays(preferences, seed, resamples).report(name, model, skipped)


class _PreferenceArrays:
    """The preferences as arrays, one row per preference."""

    def __init__(self, preferences: Sequence[Preference], seed: int, resamples: int) -> None:
        self.preferences, self.seed, self.resamples = preferences, seed, resamples
        self.systems = sorted({name for preference in preferences for name in (preference.a, preference.b)})
        place = {system: number for number, system in enumerate(self.systems)}
        self.first: Ints = np.array([place[preference.a] for preference in preferences], np.int64)
        self.second: Ints = np.array([place[preference.b] for preference in preferences], np.int64)
        self.outcomes: Ints = np.array([_OUTCOMES.get(preference.outcome, TIE) for preference in preferences], np.int64)
        codes: dict[tuple[object, ...], int] = {}
        keys = [context_key(preference.example) for preference in preferences]
        self.contexts: Ints = np.array([codes.setdefault(key, len(codes)) for key in keys], np.int64)
        self.has_contexts = any(key[0] != "id" for key in keys)

    def report(self, name: str, model: str, skipped: tuple[str, ...]) -> Preferences:
        contests = Contests.of(self.first, self.second, self.outcomes, self.contexts)
        ranked: list[RankedSystem] = []
        duels: dict[tuple[int, int], Duel] = {}
        log_ties, with_prior = [], False
        # The component with the most comparisons comes first.
        for component, _ in Counter(contests.components[self.first].tolist()).most_common():
            members = np.flatnonzero(contests.components == component)
            ranking = rank(contests.take(members), ties=model == "davidson", n_resamples=self.resamples, seed=self.seed)
            ranked += [self._ranked(int(members[one.system]), one, component) for one in ranking.standings]
            for duel in ranking.duels:
                duels[int(members[duel.first]), int(members[duel.second])] = duel
            log_ties.append(ranking.log_ties)
            with_prior = with_prior or ranking.with_prior
        return Preferences(
            name=name,
            model=model,
            systems=tuple(ranked),
            pairs=tuple(self._pair(a, b, duel) for (a, b), duel in duels.items()),
            count=len(self.preferences),
            contexts=contests.n_contexts,
            raters=len({preference.rater for preference in self.preferences if preference.rater}),
            ties=int((self.outcomes == TIE).sum()),
            both_bad=sum(preference.outcome == "both bad" for preference in self.preferences),
            tie_strength=float(np.exp(log_ties[0])),
            with_prior=with_prior,
            notes=self._notes(),
            skipped=skipped,
            seed=self.seed,
            resamples=self.resamples,
        )

    def _wins(self, a: int, b: int) -> tuple[Floats, Ints]:
        """b's result in each of its comparisons with a (1, 0, or 0.5 for a tie), and their rows."""
        rows = np.flatnonzero(((self.first == a) & (self.second == b)) | ((self.first == b) & (self.second == a)))
        outcome, is_first = self.outcomes[rows], self.first[rows] == b
        won = np.where(outcome == TIE, 0.5, ((outcome == WIN) == is_first).astype(np.float64))
        return won, rows

    def _ranked(self, system: int, standing: Standing, component: int) -> RankedSystem:
        mine = (self.first == system) | (self.second == system)
        tied = int((mine & (self.outcomes == TIE)).sum())
        won = (self.first == system) & (self.outcomes == WIN) | (self.second == system) & (self.outcomes == LOSS)
        wins = int(won.sum())
        return RankedSystem(
            self.systems[system],
            standing.strength,
            standing.fisher,
            standing.group,
            component,
            wins,
            tied,
            int(mine.sum()) - wins - tied,
        )

    def _pair(self, a: int, b: int, duel: Duel) -> PreferencePair:
        won, rows = self._wins(a, b)
        contexts = self.contexts[rows]
        rate = (
            mean_interval(won, contexts, self.resamples, seed=self.seed, limits=(0.0, 1.0))
            if rows.size
            else Interval(np.nan, np.nan, np.nan)
        )
        return PreferencePair(
            self.systems[a],
            self.systems[b],
            rate,
            int((won == 1).sum()),
            int((won == 0.5).sum()),
            int((won == 0).sum()),
            duel.difference,
            duel.p_value,
            duel.p_adjusted,
            self._controlled(b, won, rows),
        )

    def _controlled(self, system: int, won: Floats, rows: Ints) -> LengthControlled | None:
        """The win rate at equal lengths, where the texts of enough replies are known."""
        found = [self.preferences[row].responses for row in rows]
        known = np.array([replies is not None for replies in found], np.bool_)
        if known.sum() < FEWEST_WITH_LENGTHS:
            return None
        lengths = np.array([(len(replies[0]), len(replies[1])) for replies in found if replies], np.float64)
        longer = (lengths[:, 0] - lengths[:, 1]) * np.where(self.first[rows[known]] == system, 1, -1)
        return length_controlled_win_rate(
            won[known], longer, self.contexts[rows[known]], n_resamples=self.resamples, seed=self.seed
        )

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if not self.has_contexts:
            notes.append("the records have no contexts, so preferences are taken as independent of each other")
        raters = Counter(preference.rater for preference in self.preferences if preference.rater)
        if raters and raters.most_common(1)[0][1] > len(self.preferences) / 2 > 1:
            notes.append(
                f"one rater gave {raters.most_common(1)[0][1]} of the {len(self.preferences)} preferences; intervals "
                "cover the choice of contexts, not that of raters"
            )
        return tuple(notes)


# The result of ranking systems by preferences: verdict, tables, JSON, LaTeX.


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
class PreferencePair:
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


@dataclass(frozen=True, repr=False)
class Preferences(Result):
    """Systems ranked by preferences, best first."""

    name: str
    model: str
    systems: tuple[RankedSystem, ...]
    pairs: tuple[PreferencePair, ...]
    count: int
    """How many preferences there are."""
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
    def judgements(self) -> int:
        """The number of preferences, as it was named before 0.2."""
        renamed("judgements", "count")
        return self.count

    @property
    def components(self) -> int:
        """Into how many parts the systems fall that were never compared with each other."""
        return len({system.component for system in self.systems})

    def pair(self, a: str, b: str) -> PreferencePair | None:
        """The pair of two systems, in either order."""
        return next((pair for pair in self.pairs if {pair.a, pair.b} == {a, b}), None)

    @property
    def sentences(self) -> list[str]:
        """The answer, and what limits it."""
        return self.said("People prefer")

    def gate(self, fail_if: FailIf, *, baseline: str) -> Gate:
        """Whether the system that is compared with `baseline` passes as a check, as in `Comparison.gate`.

        worse: it fails if the baseline is significantly stronger, or nothing could be tested. not-better: it fails
        unless it is significantly stronger itself.
        """
        names = [row.system for row in self.systems]
        if baseline not in names:
            raise UnknownNameError("baseline", baseline, names)
        if len(names) != 2:
            raise CallError(f"a check needs a baseline and a candidate: expected two systems, found {len(names)}")
        pair = self.pair(*names)
        tested = pair is not None and not math.isnan(pair.p_adjusted)
        better = names[0] if pair is not None and pair.significant else None
        passed = tested and better != baseline if fail_if == "worse" else better not in (None, baseline)
        return Gate(fail_if, passed, self.sentences[0])

    @property
    def decided(self) -> bool:
        """Whether there are enough contexts to compare systems at all."""
        return not all(math.isnan(pair.p_value) for pair in self.pairs)

    def said(self, prefer: str) -> list[str]:
        """The answer; `prefer` says whose preferences these are."""
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
        return [answer, *self._warnings()]

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

    def document(self) -> Document:
        """How many preferences there are, the ranking, and win rates."""
        panel = IntervalPanel(
            "Strength (log-odds of beating the average system)",
            tuple((row.system, row.strength) for row in self.systems),
        )
        return Document(
            "Preferences",
            [VerdictText(self.sentences, panel, fit=False), *self.blocks()],
            question="Which system is preferred?",
            counts=[(self.count, "preference", "preferences"), (self.contexts, "context", "contexts")],
            seed=self.seed,
            resamples=self.resamples,
        )

    def blocks(self) -> Iterator[Block]:
        """The same without the verdict."""
        counts = [counted(self.count, "preference"), counted(self.contexts, "context")]
        counts += [counted(self.raters, "rater")] if self.raters else []
        counts.append(f"{share_text(self.ties / self.count)} ties")
        yield Say([f"{', '.join(counts)}; {_MODEL_NAMES[self.model]}"], fit=False)
        for _, members in groupby(self.systems, key=lambda row: row.component):
            rows = list(members)
            yield _ranking(rows)
            if len(rows) <= MOST_IN_MATRIX:
                yield self._matrix([row.system for row in rows])
        if any(pair.controlled for pair in self.pairs):
            yield _at_equal_lengths([pair for pair in self.pairs if pair.controlled])

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values = {
            "version": __version__,
            "data": self.name,
            **self.answer,
            "model": self.model,
            "preferences": self.count,
            "judgements": self.count,  # as it was named before 0.2
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
                    "strength": asdict(row.strength),
                    "fisher": asdict(row.fisher),
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

    def _matrix(self, systems: list[str]) -> Table:
        rows = [[system, *(self._rate_cell(system, other) for other in systems)] for system in systems]
        title = "How often the system of the row wins against that of the column (ties count half)"
        marked = any(isinstance(cell, Marked) for row in rows for cell in row)
        note = "* significant difference of strengths (Holm-corrected)" if marked else ""
        return Table(["", *systems], rows, title=title, note=note, fit=False)

    def _rate_cell(self, system: str, other: str) -> Cell:
        pair = None if system == other else self.pair(system, other)
        if pair is None or np.isnan(pair.win_rate.estimate):
            return "" if system == other else "-"
        rate = pair.win_rate if pair.b == system else _turned(pair.win_rate)
        return Marked(Share(rate.estimate)) if pair.significant else Share(rate.estimate)


_MODEL_NAMES = {
    "davidson": "Bradley-Terry strengths with ties (Davidson 1970)",
    "bradley-terry": "Bradley-Terry strengths, a tie is half a win for each",
}


def _ranking(systems: list[RankedSystem]) -> Table:
    rows = [
        [row.system, row.group, row.strength, Share(row.win_rate), row.wins, row.ties, row.losses] for row in systems
    ]
    strength = Column("strength [95 %]", digits=2, sign=True, key="strength")
    return Table(["system", "group", strength, "win rate", "wins", "ties", "losses"], rows, fit=False)


def _at_equal_lengths(pairs: list[PreferencePair]) -> Table:
    rows = [
        [f"{pair.b} against {pair.a}", Share(found.win_rate), rate_text(found.controlled), found.length_effect]
        for pair in pairs
        if (found := pair.controlled) is not None
    ]
    columns = ["", "win rate", "at equal length [95 %]", Column("length effect", digits=2)]
    return Table(columns, rows, title="Win rates at equal lengths of the replies (Dubois et al. 2024)", fit=False)


def rate_text(rate: Interval) -> str:
    """A share with its interval."""
    bounds = "" if np.isnan(rate.low) else f" [{share_text(rate.low)}, {share_text(rate.high)}]"
    return f"{share_text(rate.estimate)}{bounds}"


def _turned(rate: Interval) -> Interval:
    return Interval(1 - rate.estimate, 1 - rate.high, 1 - rate.low)


def _pair_dict(pair: PreferencePair) -> dict[str, Any]:
    controlled = pair.controlled
    return {
        "a": pair.a,
        "b": pair.b,
        "win_rate": asdict(pair.win_rate),
        "wins": pair.wins,
        "ties": pair.ties,
        "losses": pair.losses,
        "difference": asdict(pair.difference),
        "p": pair.p_value,
        "p_adjusted": pair.p_adjusted,
        "significant": pair.significant,
        "length_controlled": {
            **asdict(controlled.controlled),
            "win_rate": controlled.win_rate,
            "length_effect": controlled.length_effect,
            "preferences": controlled.n,
            "judgements": controlled.n,  # as it was named before 0.2
        }
        if controlled
        else None,
    }

"""Which system do people prefer? A ranking from pairwise preferences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np

from rejoinder.arguments import checked, one_of
from rejoinder.arrays import Floats, Ints
from rejoinder.data.preferences import Preference, PreferenceSource
from rejoinder.data.record import Fields
from rejoinder.data.source import OnError
from rejoinder.defaults import RESAMPLES
from rejoinder.errors import DataError
from rejoinder.meta.judged import context_key
from rejoinder.meta.preferences.report import Pair, PreferenceReport, RankedSystem
from rejoinder.stats.intervals import Interval
from rejoinder.stats.preferences.contests import LOSS, TIE, WIN, Contests
from rejoinder.stats.preferences.length_control import LengthControlled, length_controlled_win_rate
from rejoinder.stats.preferences.ranking import Duel, Standing, rank
from rejoinder.stats.resampling import mean_interval

MODELS = ("davidson", "bradley-terry")
FEWEST_WITH_LENGTHS = 10
"""Fewest comparisons of two systems for which the effect of length is estimated."""
_OUTCOMES = {"a": WIN, "b": LOSS}


@checked(model=one_of(*MODELS))
def preferences(
    origin: Any,
    *,
    model: str = "davidson",
    fields: Fields | None = None,
    on_error: OnError = "raise",
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> PreferenceReport:
    """Rank the systems of pairwise preferences: a file, a frame or records with `a`, `b` and `winner`.

    `model` is "davidson", which has a parameter for ties, or "bradley-terry", where a tie is half a win for each.
    Intervals resample contexts (`context_id`, else equal context text; without contexts, single judgements).
    """
    with closing(PreferenceSource(origin, fields, on_error)) as source:
        judgements = list(source.preferences())
        name, skipped = source.name, tuple(str(error) for error in source.skipped.values())
    if not judgements:
        raise DataError("has no preferences: expected at least one", file=name)
    return _Judgements(judgements, seed, resamples).report(name, model, skipped)


class _Judgements:
    """The preferences as arrays, one row per judgement."""

    def __init__(self, judgements: Sequence[Preference], seed: int, resamples: int) -> None:
        self.judgements, self.seed, self.resamples = judgements, seed, resamples
        self.systems = sorted({name for judgement in judgements for name in (judgement.a, judgement.b)})
        place = {system: number for number, system in enumerate(self.systems)}
        self.first: Ints = np.array([place[judgement.a] for judgement in judgements], np.int64)
        self.second: Ints = np.array([place[judgement.b] for judgement in judgements], np.int64)
        self.outcomes: Ints = np.array([_OUTCOMES.get(judgement.outcome, TIE) for judgement in judgements], np.int64)
        codes: dict[tuple[object, ...], int] = {}
        keys = [context_key(judgement.example) for judgement in judgements]
        self.contexts: Ints = np.array([codes.setdefault(key, len(codes)) for key in keys], np.int64)
        self.has_contexts = any(key[0] != "id" for key in keys)

    def report(self, name: str, model: str, skipped: tuple[str, ...]) -> PreferenceReport:
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
        return PreferenceReport(
            name=name,
            model=model,
            systems=tuple(ranked),
            pairs=tuple(self._pair(a, b, duel) for (a, b), duel in duels.items()),
            judgements=len(self.judgements),
            contexts=contests.n_contexts,
            raters=len({judgement.rater for judgement in self.judgements if judgement.rater}),
            ties=int((self.outcomes == TIE).sum()),
            both_bad=sum(judgement.outcome == "both bad" for judgement in self.judgements),
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

    def _pair(self, a: int, b: int, duel: Duel) -> Pair:
        won, rows = self._wins(a, b)
        contexts = self.contexts[rows]
        rate = (
            mean_interval(won, contexts, self.resamples, seed=self.seed, limits=(0.0, 1.0))
            if rows.size
            else Interval(np.nan, np.nan, np.nan)
        )
        return Pair(
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
        found = [self.judgements[row].responses for row in rows]
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
            notes.append("the records have no contexts, so judgements are taken as independent of each other")
        raters = Counter(judgement.rater for judgement in self.judgements if judgement.rater)
        if raters and raters.most_common(1)[0][1] > len(self.judgements) / 2 > 1:
            notes.append(
                f"one rater gave {raters.most_common(1)[0][1]} of the {len(self.judgements)} judgements; intervals "
                "cover the choice of contexts, not that of raters"
            )
        return tuple(notes)

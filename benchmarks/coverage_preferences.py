"""Do the intervals of preferences and length-controlled win rates contain the true value in 95 % of samples?

    python benchmarks/coverage.py --section preferences

Preferences: every judge sees the same two replies, so that preferences of one context are alike; the truth is the
strength in a very large sample of the same kind. Claimed: 93..97 %, at least 30 contexts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coverage_case import Case
from rejoinder.arrays import Floats, Ints
from rejoinder.stats.intervals import Interval
from rejoinder.stats.preferences import Contests, fit, length_controlled_win_rate, rank

POPULATION = 200_000
"""Contexts in the sample that stands for the truth."""


def comparisons(
    rng: np.random.Generator, strengths: Floats, contexts: int, each: int, log_ties: float
) -> tuple[Ints, Ints, Ints, Ints]:
    """First and second system, outcome and context of each comparison; each context has two replies that do better or
    worse than their systems usually do."""
    k = strengths.size
    context = np.repeat(np.arange(contexts), each)
    first = rng.integers(0, k, contexts)
    second = (first + rng.integers(1, k, contexts)) % k
    half = (strengths[first] - strengths[second] + 1.0 * rng.normal(size=contexts))[context] / 2
    weights = np.exp(np.stack([half, -half, np.full(half.size, log_ties)], axis=1))
    thresholds = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    outcome = (rng.random(half.size)[:, None] > thresholds).sum(axis=1)
    return first[context], second[context], outcome, context


def preference_cases() -> Iterator[Case]:
    """Strengths and their differences: few and many systems, ties, strong differences; few contexts."""
    for title, spread, k, contexts, each, log_ties, claimed in (
        ("2 systems, 30 contexts", 0.6, 2, 30, 2, -0.5, True),
        ("4 systems, 100 contexts", 1.0, 4, 100, 2, -0.5, True),
        ("4 systems, 100 contexts, no ties", 1.0, 4, 100, 2, -50.0, True),
        ("8 systems, 200 contexts, 1 preference each", 2.0, 8, 200, 1, 0.0, True),
        ("one system nearly always wins, 60 contexts", 4.0, 2, 60, 1, -1.0, False),
        ("3 systems, 15 contexts", 1.0, 3, 15, 3, -0.5, False),
    ):
        strengths = np.linspace(spread / 2, -spread / 2, k)
        ties = log_ties > -10
        population = Contests.of(*comparisons(np.random.default_rng(1), strengths, POPULATION, 1, log_ties))
        values = fit(population, population.totals[None], ties=ties).values[0]
        truth = {
            "strength of the best": float(values[0]),
            "difference of the first two": float(values[1] - values[0]),
            "Fisher": float(values[0]),
        }

        def intervals(
            rng: np.random.Generator,
            n: int,
            strengths: Floats = strengths,
            contexts: int = contexts,
            each: int = each,
            log_ties: float = log_ties,
        ) -> dict[str, Interval]:
            drawn = Contests.of(*comparisons(rng, strengths, contexts, each, log_ties))
            ranking = rank(drawn, n_resamples=n, seed=int(rng.integers(2**31)))
            best = next(standing for standing in ranking.standings if standing.system == 0)
            return {
                "strength of the best": best.strength,
                "difference of the first two": ranking.duels[0].difference,
                "Fisher": best.fisher,
            }

        yield Case(title, intervals, truth, claimed)


def length_cases() -> Iterator[Case]:
    """The win rate at equal lengths, where longer replies are preferred and the system's replies are longer."""

    def data(rng: np.random.Generator, contexts: int) -> tuple[Floats, Floats, Ints]:
        context = np.repeat(np.arange(contexts), 2)
        longer = 20 + 30 * rng.normal(size=contexts)[context]
        odds = 0.3 + 1.0 * np.tanh(longer / 30) + 0.7 * rng.normal(size=contexts)[context]
        return (rng.random(context.size) < 1 / (1 + np.exp(-odds))).astype(np.float64), longer, context

    def intervals(rng: np.random.Generator, n: int) -> dict[str, Interval]:
        won, longer, context = data(rng, 80)
        found = length_controlled_win_rate(won, longer, context, n_resamples=n, seed=int(rng.integers(2**31)))
        return {"win rate at equal lengths": found.controlled}

    won, longer, _ = data(np.random.default_rng(2), POPULATION)
    truth = length_controlled_win_rate(won, longer, n_resamples=1).controlled.estimate
    yield Case("length control, 80 contexts", intervals, {"win rate at equal lengths": truth})

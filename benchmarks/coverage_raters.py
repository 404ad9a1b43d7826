"""Do the 95 % intervals of ratings cover the true value in 95 % of samples? System means, differences, severities,
Krippendorff's alpha and the human ceiling, on simulated raters.

    python benchmarks/coverage.py --section raters

Every data set has contexts that each of three systems answered, and replies that some of the raters rated. Context,
reply, rater and noise have known variances, and each data set draws new contexts and new raters. Claimed for means and
differences: 93..97 % (with 200 data sets the standard error of a figure is at most 1.9 percentage points). The ceiling
is a function of alpha, so its interval covers as often as that of alpha.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.stats.mixed import CrossedMeans, crossed_means
from rejoinder.stats.rater_intervals import alpha_interval

N_SYSTEMS = 3
GAP = 0.2
"""Difference between the means of neighbouring systems."""


@dataclass(frozen=True)
class Case:
    """A design, and standard deviations of context, reply, rater, noise."""

    name: str
    n_contexts: int = 40
    n_raters: int = 10
    per_reply: int = 3
    deviations: tuple[float, float, float, float] = (0.5, 0.4, 0.5, 0.7)
    rounded: bool = False
    """Ratings from 1 to 5 in whole numbers; the truth is then that of a very large sample."""


CASES = (
    Case("40 contexts, 10 raters, 3 per reply"),
    Case("ratings 1..5", rounded=True),
    Case("20 contexts, 5 raters, 2 per reply", n_contexts=20, n_raters=5, per_reply=2),
    Case("40 contexts, 4 raters, all rate all", n_raters=4, per_reply=4),
    Case("100 contexts, 30 raters, 1 per reply", n_contexts=100, n_raters=30, per_reply=1),
    Case("40 contexts, 10 equally strict raters", deviations=(0.5, 0.4, 0.0, 0.7)),
)


@dataclass(frozen=True)
class Sample:
    """One simulated data set: one element per rating, and the raters' true severities."""

    scores: Floats
    systems: Ints
    contexts: Ints
    replies: Ints
    raters: Ints
    severities: Floats


def sample(case: Case, rng: np.random.Generator) -> Sample:
    """New contexts and new raters; each reply has a random subset of the raters."""
    by_context, by_reply, by_rater, noise = case.deviations
    n_replies = case.n_contexts * N_SYSTEMS
    replies = np.repeat(np.arange(n_replies), case.per_reply)
    raters = np.concatenate([rng.permutation(case.n_raters)[: case.per_reply] for _ in range(n_replies)])
    contexts, systems = replies // N_SYSTEMS, replies % N_SYSTEMS
    severities = rng.normal(0, by_rater, case.n_raters)
    scores = 3 + GAP * systems + rng.normal(0, by_context, case.n_contexts)[contexts] + severities[raters]
    scores = scores + rng.normal(0, by_reply, n_replies)[replies] + rng.normal(0, noise, len(replies))
    return Sample(_rounded(scores) if case.rounded else scores, systems, contexts, replies, raters, severities)


def truth_of(case: Case) -> Floats:
    """The mean rating of each system over all contexts and raters."""
    spread = math.sqrt(sum(deviation**2 for deviation in case.deviations))
    normal = np.random.default_rng(0).normal(0, spread, 2_000_000)
    return np.array(
        [
            float(_rounded(3 + GAP * system + normal).mean()) if case.rounded else 3 + GAP * system
            for system in range(N_SYSTEMS)
        ]
    )


def _rounded(scores: Floats) -> Floats:
    rounded: Floats = np.clip(np.round(scores), 1, 5)
    return rounded


def covered(case: Case, found: CrossedMeans, made: Sample, truth: Floats) -> Counter[str]:
    """How many intervals of each kind there are, and how many contain the true value."""
    tally: Counter[str] = Counter()
    for system, mean in found.means.items():
        tally["means"] += 1
        tally["means covered"] += mean.interval.covers(truth[int(system)])
    for difference in found.differences:
        tally["differences"] += 1
        true = truth[int(difference.b)] - truth[int(difference.a)]
        tally["differences covered"] += difference.contrast.interval.covers(true)
    if not case.rounded and case.deviations[2]:
        for severity in found.severities:
            if math.isnan(severity.effect.low):  # no variance between raters was found
                continue
            tally["severities"] += 1
            tally["severities covered"] += severity.effect.covers(made.severities[int(severity.rater)])
    return tally


def share(tally: Counter[str], kind: str) -> str:
    """The coverage as a percentage; a dash where nothing was measured."""
    return f"{tally[f'{kind} covered'] / tally[kind]:.1%}" if tally[kind] else "-"


def run_case(case: Case, n_datasets: int, seed: int = 0) -> Counter[str]:
    """The tally over many data sets."""
    truth, tally = truth_of(case), Counter[str]()
    for number in range(n_datasets):
        made = sample(case, np.random.default_rng((seed, number)))
        found = crossed_means(made.scores, made.systems, made.contexts, made.replies, made.raters)
        if found is not None:
            tally += covered(case, found, made, truth)
    return tally


def agreement_coverage(n_items: int, n_raters: int, n_datasets: int, n_resamples: int) -> float:
    """Coverage of the intervals of alpha where truth and noise have a variance of 1 each, so that alpha is .5."""
    hits = 0
    for number in range(n_datasets):
        rng = np.random.default_rng((1, number))
        ratings = rng.normal(size=(n_items, 1)) + rng.normal(size=(n_items, n_raters))
        hits += alpha_interval(ratings, n_resamples=n_resamples).covers(0.5)
    return hits / n_datasets


def print_raters(n_datasets: int, n_resamples: int) -> None:
    """Print the tables."""
    print(f"| ratings ({n_datasets} data sets) | means | differences | severities |\n|---|---|---|---|")
    for case in CASES:
        tally = run_case(case, n_datasets)
        shares = " | ".join(share(tally, kind) for kind in ("means", "differences", "severities"))
        print(f"| {case.name} | {shares} |", flush=True)
    print("\n| items x raters | alpha, ceiling |\n|---|---|")
    for n_items, n_raters in ((20, 3), (50, 3), (200, 3), (50, 10)):
        covers = agreement_coverage(n_items, n_raters, n_datasets, n_resamples)
        print(f"| {n_items} x {n_raters} | {covers:.1%} |", flush=True)

"""Simulated data sets, and how often the intervals made from them cover the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from rejoinder.arrays import Floats
from rejoinder.stats.intervals import Interval

CONTEXTS, REPLIES, ALIKE = 50, 4, 0.4
NOT_CLAIMED = ("percentile", "without", "Fisher")
"""Parts of the names of intervals that are shown for comparison."""


@dataclass(frozen=True)
class Case:
    """One data set's intervals, by name; `truth` has the value that each should cover."""

    title: str
    intervals: Callable[[np.random.Generator, int], dict[str, Interval]]
    truth: dict[str, float]
    claimed: bool = True
    share: float = 1.0
    """The share of the data sets that are simulated, below 1 where one takes long."""


def replies(
    rng: np.random.Generator, contexts: int = CONTEXTS, each: int = REPLIES, between: float = 0.5, within: float = 0.3
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Two latent qualities of each reply, standard normal, correlated between and within contexts; the
    contexts."""

    def pair(correlation: float, size: int) -> Floats:
        noise = rng.normal(size=(2, size))
        return np.stack([noise[0], correlation * noise[0] + np.sqrt(1 - correlation**2) * noise[1]])

    of = np.repeat(np.arange(contexts), each)
    first, second = np.sqrt(ALIKE) * pair(between, contexts)[:, of] + np.sqrt(1 - ALIKE) * pair(within, of.size)
    return first, second, of


def rated(latent: Floats) -> Floats:
    """The quality as people rate it, 1..5, more often low than high."""
    return (np.digitize(latent, [-0.6, 0.1, 0.8, 1.5]) + 1).astype(np.float64)


def scored(latent: Floats) -> Floats:
    """The quality as a metric scores it: 0..1, heaped near 0."""
    return np.asarray(ndtr(latent) ** 3)


def heavy_tailed(sigma: float) -> Callable[[Floats], Floats]:
    """A metric whose scores are log-normal: a few are many times the others."""
    return lambda latent: np.exp(sigma * latent)


def coverage(case: Case, n_datasets: int, n_resamples: int, seed: int = 0) -> dict[str, float]:
    """The share of data sets in which each interval covers the truth; undefined bounds cover nothing."""
    rng = np.random.default_rng(seed)
    hits = dict.fromkeys(case.truth, 0)
    for _ in range(n_datasets):
        for name, interval in case.intervals(rng, n_resamples).items():
            hits[name] += interval.covers(case.truth[name])
    return {name: count / n_datasets for name, count in hits.items()}


def print_coverage(cases: Iterable[Case], n_datasets: int, n_resamples: int, only: str = "") -> None:
    """Print the coverage of every interval: first the cases that the claim includes, then those beyond it."""
    print(f"{'case':<50} {'interval':<28} {'covers':>7} {'sets':>5}  claim 93..97")
    for case in sorted(cases, key=lambda case: not case.claimed):
        if only not in case.title:
            continue
        n_sets = max(1, round(case.share * n_datasets))
        for name, share in coverage(case, n_sets, n_resamples).items():
            judged = case.claimed and not any(word in name for word in NOT_CLAIMED)
            verdict = ("holds" if 0.93 <= share <= 0.97 else "MISSED") if judged else "not claimed"
            print(f"{case.title:<50} {name:<28} {100 * share:>6.1f}% {n_sets:>5}  {verdict}", flush=True)

"""Intervals in hard cases: hardly any unlabelled replies, tied ratings of few replies, few systems or judged sets.

python benchmarks/coverage.py --section intervals
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import ndtri

from coverage_case import Case, rated, replies
from rejoinder.arrays import Floats
from rejoinder.stats.correlation import KINDS, correlate
from rejoinder.stats.correlation_intervals import bootstrap_correlations
from rejoinder.stats.intervals import Interval
from rejoinder.stats.predicted import LabelledScores, prediction_powered_mean
from rejoinder.stats.random_effects import pool_correlations
from rejoinder.stats.systems import FixedSystems, pairwise_accuracies

POPULATION = 400_000


def hard_cases() -> Iterator[Case]:
    """All of them."""
    for cases in (label_cases, tied_cases, system_pair_cases, pooled_cases):
        yield from cases()


def label_cases() -> Iterator[Case]:
    """Prediction-powered means with few labels, or next to no unlabelled replies."""
    yes: Callable[[Floats], Floats] = lambda latent: (latent > ndtri(0.7)).astype(np.float64)  # noqa: E731
    for title, labelled, others, label, claimed in (
        ("30 labels, 1 unlabelled", 30, 1, rated, True),
        ("30 labels, 2 unlabelled", 30, 2, rated, True),
        ("100 labels, 1 unlabelled", 100, 1, rated, True),
        ("5 yes/no labels, 200 unlabelled", 5, 200, yes, False),
        ("30 yes/no labels, 200 unlabelled", 30, 200, yes, True),
    ):
        values = (0.0, 1.0) if label is yes and labelled >= 30 else None

        def intervals(
            rng: np.random.Generator,
            _: int,
            n: int = labelled,
            others: int = others,
            label: Callable[[Floats], Floats] = label,
            values: tuple[float, float] | None = values,
        ) -> dict[str, Interval]:
            latent = rng.normal(size=n + others)
            score = latent + 0.6 * rng.normal(size=n + others)
            given = LabelledScores(label(latent[:n]), score[:n], score[n:])
            return {"mean": prediction_powered_mean(given, label_values=values).interval}

        truth = float(label(np.random.default_rng(11).normal(size=4 * POPULATION)).mean())
        yield Case(f"prediction-powered, {title}", intervals, {"mean": truth}, claimed)


def tied_cases() -> Iterator[Case]:
    """Correlations of few replies with ratings 1..3."""

    def three(latent: Floats) -> Floats:
        return np.digitize(latent, [-0.5, 0.8]).astype(np.float64)

    x, y, _ = replies(np.random.default_rng(12), POPULATION, 1, 0.5, 0.5)
    truth = {kind: correlate(x, three(y), kind).coefficient for kind in KINDS}
    for n_replies in (10, 20):

        def intervals(rng: np.random.Generator, n: int, n_replies: int = n_replies) -> dict[str, Interval]:
            x, y, _ = replies(rng, n_replies, 1, 0.5, 0.5)
            found = bootstrap_correlations(x, three(y), None, n, seed=int(rng.integers(2**31)), kinds=KINDS)
            return {kind: values[0] for kind, values in found.items()}

        yield Case(f"correlation, {n_replies} replies, ratings 1..3", intervals, truth, claimed=False)


def system_pair_cases() -> Iterator[Case]:
    """Pairwise accuracies of given systems on new contexts; the truth is what such data sets show on average."""

    def data(rng: np.random.Generator, n_systems: int) -> FixedSystems:
        quality, contexts = np.linspace(0, 1.2, n_systems), 100
        ease = rng.normal(size=(contexts, 1))
        human, score = (quality + ease + 2 * rng.normal(size=(contexts, n_systems)) for _ in range(2))
        systems = np.tile(np.arange(n_systems), contexts)
        return FixedSystems.of(score.reshape(-1, 1), human.ravel(), systems, np.repeat(np.arange(contexts), n_systems))

    for n_systems in (5, 10):
        rng = np.random.default_rng(13)
        found = [pairwise_accuracies(data(rng, n_systems), 200)[0] for _ in range(400)]
        truth = {
            "pairwise accuracy": float(np.mean([each.accuracy for each in found])),
            "soft pairwise accuracy": float(np.mean([each.soft_accuracy for each in found])),
        }

        def intervals(rng: np.random.Generator, n: int, n_systems: int = n_systems) -> dict[str, Interval]:
            (each,) = pairwise_accuracies(data(rng, n_systems), 200, int(rng.integers(2**31)), n)
            return {"pairwise accuracy": each.accuracy_interval, "soft pairwise accuracy": each.soft_interval}

        yield Case(f"pairs of {n_systems} systems, other contexts", intervals, truth, claimed=False, share=0.4)


def pooled_cases() -> Iterator[Case]:
    """The mean correlation over judged sets of 60 replies, whose true correlations differ."""
    for n_sets in (4, 10):

        def intervals(rng: np.random.Generator, _: int, n_sets: int = n_sets) -> dict[str, Interval]:
            z = np.arctanh(0.4) + 0.15 * rng.normal(size=n_sets) + rng.normal(size=n_sets) / np.sqrt(57)
            return {"mean of all sets": pool_correlations(np.tanh(z), np.full(n_sets, 1 / np.sqrt(57))).mean}

        yield Case(f"meta-analysis of {n_sets} judged sets", intervals, {"mean of all sets": 0.4})

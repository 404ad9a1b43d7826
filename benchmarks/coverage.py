"""Do the 95 % intervals cover the true value in 95 % of samples, and are verdicts right as often as they claim?

    python benchmarks/coverage.py [--datasets 1000] [--resamples 500] [--section NAME] [--only WORD]

Prints the figures of docs/reference/statistics.md, in five sections: *intervals*, *preferences*
(coverage_preferences.py), *raters* (coverage_raters.py), *labelling* (coverage_labelling.py) and *verdicts*
(verdict_rates.py). Rows that take long use fewer data sets, a share of `--datasets`.

Unless a title says otherwise, a data set has 50 contexts with 4 replies each, and the replies of one context are alike
(intraclass correlation .4), as judged sets are; the known truth comes from the model that made them. Claimed: 93..97 %.

Why these intervals. A plain percentile bootstrap covers too little with few contexts: it divides by G instead of G - 1
and takes normal for t quantiles. The expanded percentile repairs that, and is what correlations get. Means also get the
BCa correction, since it costs nothing there and a skewed score needs it. The rows `percentile`, measured on the same
resamples, show what is gained. Prediction-powered means get cluster-robust t intervals whose degrees of freedom pay for
the tuned weights.

Cases beyond the claim are printed whatever they are, such as Pearson with a heavy-tailed score, where Spearman should
be used, and correlations over few systems.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

import coverage_case
import coverage_labelling
import coverage_preferences
import coverage_raters
import verdict_rates
from coverage_case import ALIKE, CONTEXTS, REPLIES, Case, heavy_tailed, rated, replies, scored
from coverage_hard import hard_cases
from rejoinder.arrays import Floats
from rejoinder.stats.correlation import KINDS, correlate
from rejoinder.stats.correlation_intervals import bootstrap_correlations, correlation_replicates
from rejoinder.stats.correlation_tests import compare_correlations
from rejoinder.stats.intervals import Interval
from rejoinder.stats.means import compare_paired, compare_unpaired
from rejoinder.stats.pairs import pairwise_agreement
from rejoinder.stats.predicted import LabelledScores, prediction_powered_difference, prediction_powered_mean
from rejoinder.stats.resampling import bootstrap_counts, mean_interval
from rejoinder.stats.systems import FixedSystems

POPULATION = 400_000
"""Contexts in the sample that stands for the truth: its own error is a fiftieth of that of a data set."""


def mean_cases() -> Iterator[Case]:
    """Means of normal, rated and rare yes-or-no scores; beyond the claim, over 20 contexts."""
    shapes: dict[str, Callable[[Floats], Floats]] = {
        "normal": lambda latent: latent,
        "rated 1..5": rated,
        "1 in 10 yes": lambda latent: (latent > 1.2816).astype(float),
    }
    for contexts in (CONTEXTS, 20):
        for name, shape in shapes.items():
            truth = float(shape(np.random.default_rng(1).normal(size=4 * POPULATION)).mean())

            def intervals(
                rng: np.random.Generator, n: int, shape: Callable[[Floats], Floats] = shape, contexts: int = contexts
            ) -> dict[str, Interval]:
                latent, _, of = replies(rng, contexts)
                values, seed = shape(latent), int(rng.integers(2**31))
                means = bootstrap_counts(of, n, seed) @ np.bincount(of, weights=values) / values.size
                return {"mean": mean_interval(values, of, n, seed=seed), "percentile": percentile(means)}

            title = f"mean, {name}" + (f", {contexts} contexts" if contexts != CONTEXTS else "")
            yield Case(title, intervals, {"mean": truth, "percentile": truth}, contexts == CONTEXTS)


def correlation_cases() -> Iterator[Case]:
    """Correlations of scores with ratings: normal, bounded and skewed, strong; and, beyond the claim,
    heavy-tailed."""
    same: Callable[[Floats], Floats] = lambda latent: latent  # noqa: E731
    for title, score, rate, between, within, claimed in (
        ("normal", same, same, 0.5, 0.3, True),
        ("skewed score, ratings 1..5", scored, rated, 0.5, 0.3, True),
        ("strong, skewed score, ratings 1..5", scored, rated, 0.9, 0.8, True),
        ("log-normal score, ratings 1..5", heavy_tailed(1.0), rated, 0.5, 0.3, False),
        ("log-normal score, sigma 1.5", heavy_tailed(1.5), rated, 0.5, 0.3, False),
    ):
        # A heavy tail needs the larger population: its own error must not pass for the interval's.
        x, y, _ = replies(np.random.default_rng(2), POPULATION if claimed else 10 * POPULATION, 1, between, within)
        truth = {kind: correlate(score(x), rate(y), kind).coefficient for kind in KINDS}

        def intervals(
            rng: np.random.Generator,
            n: int,
            score: Callable[[Floats], Floats] = score,
            rate: Callable[[Floats], Floats] = rate,
            between: float = between,
            within: float = within,
        ) -> dict[str, Interval]:
            x, y, of = replies(rng, between=between, within=within)
            seed = int(rng.integers(2**31))
            found = bootstrap_correlations(score(x), rate(y), of, n, seed=seed, kinds=KINDS)
            plain = correlation_replicates(score(x), rate(y), of, n, seed, ["pearson"])["pearson"]
            return {kind: values[0] for kind, values in found.items()} | {"pearson percentile": percentile(plain)}

        truth["pearson percentile"] = truth["pearson"]
        yield Case(f"correlation, {title}", intervals, truth, claimed)


def comparison_cases() -> Iterator[Case]:
    """Differences of two systems' means and of two metrics' correlations, and pairwise accuracy."""

    def means(rng: np.random.Generator, n: int) -> dict[str, Interval]:
        a, b, of = replies(rng)
        seed = int(rng.integers(2**31))
        paired = compare_paired(rated(a), rated(b + 0.3), of, n_permutations=n, seed=seed)
        other, _, other_of = replies(rng, contexts=30)
        unpaired = compare_unpaired(rated(a), rated(other + 0.3), of, other_of, n_permutations=n, seed=seed)
        return {"paired": paired.difference, "unpaired": unpaired.difference}

    latent = np.random.default_rng(3).normal(size=4 * POPULATION)
    gain = float(rated(latent + 0.3).mean() - rated(latent).mean())
    yield Case("difference of means, ratings 1..5", means, {"paired": gain, "unpaired": gain})

    def metrics(rng: np.random.Generator, contexts: int = CONTEXTS) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
        x, y, of = replies(rng, contexts)
        other = 0.7 * x + 0.7 * rng.normal(size=x.size)
        return scored(x), scored(other), rated(y), of

    def correlations(rng: np.random.Generator, n: int) -> dict[str, Interval]:
        a, b, human, of = metrics(rng)
        seed = int(rng.integers(2**31))
        return {
            kind: compare_correlations(
                a, b, human, of, kind=kind, n_permutations=1, n_resamples=n, seed=seed
            ).difference
            for kind in ("pearson", "spearman")
        }

    a, b, human, _ = metrics(np.random.default_rng(4), POPULATION // REPLIES)
    truth = {
        kind: correlate(b, human, kind).coefficient - correlate(a, human, kind).coefficient
        for kind in ("pearson", "spearman")
    }
    yield Case("difference of correlations", correlations, truth)

    def accuracy(rng: np.random.Generator, n: int) -> dict[str, Interval]:
        x, y, of = replies(rng)
        agreement = pairwise_agreement(scored(x), rated(y), of, 0.05, n_resamples=n, seed=int(rng.integers(2**31)))
        return {"acc_eq": agreement.accuracy}

    x, y, of = replies(np.random.default_rng(5), POPULATION)
    truth = {"acc_eq": pairwise_agreement(scored(x), rated(y), of, 0.05, n_resamples=1).accuracy.estimate}
    yield Case("pairwise accuracy, epsilon .05", accuracy, truth)


def prediction_cases() -> Iterator[Case]:
    """Means and differences from 50 labelled contexts and 500 others, by a biased metric."""

    def side(rng: np.random.Generator, quality: float, ease: Floats, of: NDArray[np.int64]) -> LabelledScores:
        latent = quality + ease[of] + np.sqrt(1 - ALIKE) * rng.normal(size=of.size)
        score, labelled = scored(latent + 0.5 + 0.6 * rng.normal(size=of.size)), of < CONTEXTS
        return LabelledScores(rated(latent[labelled]), score[labelled], score[~labelled], of[labelled], of[~labelled])

    def intervals(rng: np.random.Generator, _: int) -> dict[str, Interval]:
        of = np.repeat(np.arange(11 * CONTEXTS), REPLIES)
        ease = np.sqrt(ALIKE) * rng.normal(size=11 * CONTEXTS)
        a, b = side(rng, 0.0, ease, of), side(rng, 0.3, ease, of)
        mean, difference = prediction_powered_mean(a), prediction_powered_difference(a, b)
        fixed = prediction_powered_mean(a, weight=1.0)
        return {"mean": mean.interval, "mean, lambda 1": fixed.interval, "difference": difference.interval}

    latent = np.random.default_rng(6).normal(size=4 * POPULATION)
    mean = float(rated(latent).mean())
    gain = float(rated(latent + 0.3).mean()) - mean
    yield Case("prediction-powered", intervals, {"mean": mean, "mean, lambda 1": mean, "difference": gain})


def system_cases() -> Iterator[Case]:
    """Correlations over the means of a few systems, true correlation .8 (normal)."""
    for n_systems in (5, 10, 20):
        x, y, _ = replies(np.random.default_rng(7), POPULATION, 1, 0.8, 0.8)
        truth = {kind: correlate(x, y, kind).coefficient for kind in KINDS}

        def intervals(rng: np.random.Generator, n: int, n_systems: int = n_systems) -> dict[str, Interval]:
            x, y, _ = replies(rng, n_systems, 1, 0.8, 0.8)
            found = bootstrap_correlations(x, y, None, n, seed=int(rng.integers(2**31)), kinds=KINDS)
            return {kind: values[0] for kind, values in found.items()}

        yield Case(f"system level, {n_systems} systems", intervals, truth, claimed=False)


def fixed_system_cases() -> Iterator[Case]:
    """Correlations over the means of given systems on new contexts: what `rejoinder trust` prints at system level.

    The truth is what such data sets show on average: the interval keeps the systems and varies the contexts.
    """

    def data(rng: np.random.Generator, n_systems: int) -> FixedSystems:
        quality, contexts = np.linspace(0, 1.2, n_systems), 2 * CONTEXTS
        ease = rng.normal(size=(contexts, 1))
        human, score = (quality + ease + rng.normal(size=(contexts, n_systems)) for _ in range(2))
        systems = np.tile(np.arange(n_systems), contexts)
        return FixedSystems.of(score.reshape(-1, 1), human.ravel(), systems, np.repeat(np.arange(contexts), n_systems))

    for n_systems in (5, 20):
        rng = np.random.default_rng(8)
        found = [data(rng, n_systems) for _ in range(1000)]
        truth = {kind: float(np.mean([each.correlations(kind)[0] for each in found])) for kind in KINDS}

        def intervals(rng: np.random.Generator, n: int, n_systems: int = n_systems) -> dict[str, Interval]:
            drawn = data(rng, n_systems)
            return {kind: drawn.intervals(kind, n, int(rng.integers(2**31)))[0] for kind in KINDS}

        yield Case(f"the same {n_systems} systems, other contexts", intervals, truth, claimed=False)


def clustered_cases() -> Iterator[Case]:
    """Means over contexts with many replies, as `rejoinder score` prints them: intraclass correlation .5."""
    for contexts, each in ((20, 5), (50, 20)):

        def intervals(
            rng: np.random.Generator, n: int, contexts: int = contexts, each: int = each
        ) -> dict[str, Interval]:
            of = np.repeat(np.arange(contexts), each)
            values = np.sqrt(0.5) * (rng.normal(size=contexts)[of] + rng.normal(size=of.size))
            seed = int(rng.integers(2**31))
            return {
                "mean": mean_interval(values, of, n, seed=seed),
                "without contexts": mean_interval(values, None, n, seed=seed),
            }

        title = f"score, {contexts} contexts x {each} replies"
        yield Case(title, intervals, {"mean": 0.0, "without contexts": 0.0})


def few_pairs_cases() -> Iterator[Case]:
    """Differences over 10 and 20 contexts, of skewed and of rare yes-or-no scores."""
    for contexts in (10, 20):

        def skewed(rng: np.random.Generator, n: int, contexts: int = contexts) -> dict[str, Interval]:
            a, b = rng.exponential(size=(2, contexts))
            gamma = rng.exponential(size=contexts) - 1
            seed = int(rng.integers(2**31))
            return {
                "skewed scores": compare_paired(a, b, n_permutations=n, seed=seed).difference,
                "skewed differences": compare_paired(np.zeros(contexts), gamma, n_permutations=n, seed=seed).difference,
            }

        truth = {"skewed scores": 0.0, "skewed differences": 0.0}
        yield Case(f"difference, {contexts} contexts", skewed, truth)

        def rare(rng: np.random.Generator, n: int, contexts: int = contexts) -> dict[str, Interval]:
            a, b = (rng.random((2, contexts)) < 0.1).astype(float)
            found = compare_paired(a, b, n_permutations=n, seed=int(rng.integers(2**31)), limits=(0.0, 1.0))
            return {"1 in 10 yes": found.difference}

        yield Case(f"difference, {contexts} contexts", rare, {"1 in 10 yes": 0.0}, claimed=False)


def percentile(replicates: Floats) -> Interval:
    """The plain percentile interval, for comparison."""
    low, high = np.nanquantile(replicates, [0.025, 0.975])
    return Interval(float(np.nanmean(replicates)), float(low), float(high))


def all_cases() -> Iterator[Case]:
    """Every interval that the package gives."""
    for cases in (
        mean_cases,
        clustered_cases,
        few_pairs_cases,
        correlation_cases,
        comparison_cases,
        prediction_cases,
        system_cases,
        fixed_system_cases,
        hard_cases,
    ):
        yield from cases()


SECTIONS = ("intervals", "preferences", "raters", "labelling", "verdicts")


def main() -> None:
    """Print the coverage of every interval, and how often verdicts are right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--section", choices=SECTIONS, help="run only this part")
    parser.add_argument("--only", default="", help="run only the cases whose title contains this")
    arguments = parser.parse_args()
    n_datasets, n_resamples, only = arguments.datasets, arguments.resamples, arguments.only
    error = 100 * (0.95 * 0.05 / n_datasets) ** 0.5
    print(f"coverage of 95 % intervals; with {n_datasets} data sets, the standard error is {error:.1f} points")
    sections: dict[str, Callable[[], None]] = {
        "intervals": lambda: coverage_case.print_coverage(all_cases(), n_datasets, n_resamples, only),
        "preferences": lambda: coverage_case.print_coverage(
            chain(coverage_preferences.preference_cases(), coverage_preferences.length_cases()),
            *(n_datasets, n_resamples, only),
        ),
        "raters": lambda: coverage_raters.print_raters(max(1, n_datasets // 5), n_resamples),
        "labelling": lambda: coverage_labelling.print_labelling(max(1, n_datasets // 5)),
        "verdicts": lambda: verdict_rates.print_rates(n_datasets, only),
    }
    for name, run in sections.items():
        if arguments.section in (None, name):
            started = time.perf_counter()
            print(f"\n== {name}\n")
            run()
            print(f"\n({name}: {(time.perf_counter() - started) / 60:.1f} minutes)", flush=True)


if __name__ == "__main__":
    main()

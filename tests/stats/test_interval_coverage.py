"""A small run of benchmarks/coverage.py: an interval that misses by much shows here; the figures are printed there."""

from __future__ import annotations

from typing import Any

import pytest

from benchmark_scripts import benchmark_script

DATASETS, RESAMPLES = 80, 150


@pytest.fixture(scope="module")
def benchmark() -> Any:
    module = benchmark_script("coverage")
    # The truth need not be sharper than 80 data sets are.
    module.POPULATION = module.coverage_preferences.POPULATION = 20_000
    return module


@pytest.mark.slow
@pytest.mark.parametrize("family", ["mean_cases", "correlation_cases", "comparison_cases", "prediction_cases"])
def test_intervals_cover_what_they_promise(benchmark: Any, family: str) -> None:
    """95 % less three standard errors of 80 data sets is 88 %."""
    for case in getattr(benchmark, family)():
        if not case.claimed or case.title.endswith("normal") or "strong" in case.title:
            continue
        for name, share in benchmark.coverage_case.coverage(case, DATASETS, RESAMPLES).items():
            assert share >= 0.875 or "percentile" in name, f"{case.title}, {name}: {share:.0%}"


@pytest.mark.slow
@pytest.mark.parametrize("family", ["preference_cases", "length_cases"])
def test_intervals_of_preferences_cover_what_they_promise(benchmark: Any, family: str) -> None:
    for case in getattr(benchmark.coverage_preferences, family)():
        if case.claimed:
            for name, share in benchmark.coverage_case.coverage(case, DATASETS, 100).items():
                assert share >= 0.875 or name == "Fisher", f"{case.title}, {name}: {share:.0%}"


def test_an_interval_that_ignores_the_contexts_covers_too_little(benchmark: Any) -> None:
    """The harness can tell: the same mean without its groups."""
    from rejoinder.stats.intervals import Interval
    from rejoinder.stats.resampling import mean_interval

    def intervals(rng: object, n: int) -> dict[str, Interval]:
        latent, _, _ = benchmark.replies(rng)
        return {"mean": mean_interval(latent, None, n)}

    case = benchmark.Case("no groups", intervals, {"mean": 0.0})
    assert benchmark.coverage_case.coverage(case, DATASETS, RESAMPLES)["mean"] < 0.88

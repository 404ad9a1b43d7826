"""A small run of benchmarks/coverage.py: an interval that misses by much shows here; the figures are printed there."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from places import ROOT

BENCHMARK = ROOT / "benchmarks" / "coverage.py"
DATASETS, RESAMPLES = 80, 150


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    if not BENCHMARK.exists():
        pytest.skip("needs benchmarks/coverage.py")
    specification = importlib.util.spec_from_file_location("coverage_benchmark", BENCHMARK)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[module.__name__] = module
    specification.loader.exec_module(module)
    module.POPULATION = 20_000  # type: ignore[attr-defined]  # the truth need not be sharper than 80 data sets are
    return module


@pytest.mark.parametrize("family", ["mean_cases", "correlation_cases", "comparison_cases", "prediction_cases"])
def test_intervals_cover_what_they_promise(benchmark: ModuleType, family: str) -> None:
    """95 % less three standard errors of 80 data sets is 88 %."""
    for case in getattr(benchmark, family)():
        if not case.claimed or case.title.endswith("normal") or "strong" in case.title:
            continue
        for name, share in benchmark.coverage(case, DATASETS, RESAMPLES).items():
            assert share >= 0.875 or "percentile" in name, f"{case.title}, {name}: {share:.0%}"


def test_an_interval_that_ignores_the_contexts_covers_too_little(benchmark: ModuleType) -> None:
    """The harness can tell: the same mean without its groups."""
    from rejoinder.stats.intervals import Interval
    from rejoinder.stats.resampling import mean_interval

    def intervals(rng: object, n: int) -> dict[str, Interval]:
        latent, _, _ = benchmark.replies(rng)
        return {"mean": mean_interval(latent, None, n)}

    case = benchmark.Case("no groups", intervals, {"mean": 0.0})
    assert benchmark.coverage(case, DATASETS, RESAMPLES)["mean"] < 0.88

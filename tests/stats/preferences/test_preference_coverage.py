"""A small run of benchmarks/coverage_preferences.py: an interval that misses by much shows here."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from places import ROOT

BENCHMARK = ROOT / "benchmarks" / "coverage_preferences.py"
DATASETS, RESAMPLES = 80, 100


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    if not BENCHMARK.exists():
        pytest.skip("needs benchmarks/coverage_preferences.py")
    specification = importlib.util.spec_from_file_location("coverage_preferences_benchmark", BENCHMARK)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[module.__name__] = module
    specification.loader.exec_module(module)
    module.POPULATION = 50_000  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize("family", ["preference_cases", "length_cases"])
def test_intervals_cover_what_they_promise(benchmark: ModuleType, family: str) -> None:
    """95 % less three standard errors of 80 data sets is 88 %."""
    for case in getattr(benchmark, family)():
        if not case.claimed:
            continue
        for name, share in benchmark.coverage(case, DATASETS, RESAMPLES).items():
            assert share >= 0.875 or name == "Fisher", f"{case.title}, {name}: {share:.0%}"

"""Intervals that stay within limits, and the limits that ratings show."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rejoinder.stats.intervals import Interval, rating_limits

INF = math.inf


def test_an_interval_within_limits() -> None:
    assert Interval(4.9, 4.7, 5.1).within((1, 5)) == Interval(4.9, 4.7, 5)
    assert Interval(5.02, 4.9, 5.1).within((1, 5)) == Interval(5, 4.9, 5)
    assert Interval(1.1, 0.9, 1.3).within((1, INF)) == Interval(1.1, 1, 1.3)
    unknown = Interval(4.0, math.nan, math.nan).within((1, 5))
    assert unknown.estimate == 4
    assert math.isnan(unknown.low)
    assert math.isnan(unknown.high)


@pytest.mark.parametrize(
    ("ratings", "limits"),
    [
        ([1] * 3 + [3] * 30 + [5] * 3, (1, 5)),
        ([1] * 3 + [3] * 30 + [5] * 2, (1, INF)),  # 5 may not be the end
        ([1] * 3 + [3] * 10 + [5] * 3, (-INF, INF)),  # too few ratings
        ([1.5] * 9 + [3] * 30 + [4.5] * 9, (-INF, INF)),  # no scale ends there
        ([0] * 9 + [33.3] * 30 + [100] * 9 + [math.nan] * 9, (0, 100)),
        ([], (-INF, INF)),
    ],
)
def test_the_limits_of_ratings(ratings: list[float], limits: tuple[float, float]) -> None:
    assert rating_limits(ratings) == limits


def test_measurements_without_a_scale_have_no_limits() -> None:
    assert rating_limits(np.random.default_rng(0).normal(size=(100, 3))) == (-INF, INF)

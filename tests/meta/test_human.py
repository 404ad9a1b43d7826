"""How well raters agree, and what a perfect metric would reach, on simulated raters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rejoinder.data.judged import JudgedSet
from rejoinder.trusting.correlations import human_ceiling
from rejoinder.types import Example, JudgedExample


def judged(ratings: np.ndarray) -> JudgedSet:
    return JudgedSet.of(
        JudgedExample(Example(str(row), (f"context {row}",), "reply"), {"overall": tuple(values)})
        for row, values in enumerate(ratings.tolist())
    )


@pytest.mark.slow
@pytest.mark.parametrize("raters", [2, 3, 5])
def test_a_perfect_metric_reaches_the_root_of_the_reliability(raters: int) -> None:
    """Raters who see the truth (variance 1) under noise of variance 1: of k raters the reliability is k / (k + 1)."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=6000)
    ratings = truth[:, None] + rng.normal(size=(6000, raters))
    reached = np.corrcoef(truth, ratings.mean(axis=1))[0, 1]
    ceiling = human_ceiling(judged(ratings), "overall")
    assert ceiling.perfect == pytest.approx(math.sqrt(raters / (raters + 1)), abs=0.015)
    assert ceiling.perfect == pytest.approx(reached, abs=0.015)


def test_examples_with_fewer_ratings_lower_the_ceiling() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=(2000, 1)) + rng.normal(size=(2000, 4))
    gaps = ratings.copy()
    gaps[::2, 2:] = np.nan
    assert human_ceiling(judged(gaps), "overall").perfect == pytest.approx(math.sqrt(8 / 11), abs=0.015)


def test_one_rating_per_example_says_nothing_of_agreement() -> None:
    ceiling = human_ceiling(judged(np.ones((20, 1))), "overall")
    assert math.isnan(ceiling.perfect)
    assert ceiling.sentence() == "overall: one rating per example, so the agreement between raters is unknown."

"""Figures that stand next to those of a paper have intervals over contexts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from papers.judged.agreement import (
    SPLITS,
    Agreement,
    agreement,
    agreement_of_halves,
    summarised_agreement,
)
from papers.judged.raters import kappa_interval
from papers.published import Correlations
from rejoinder.stats.correlation_intervals import bootstrap_correlations
from rejoinder.stats.intervals import Interval
from rejoinder.stats.rater_intervals import split_half_interval
from rejoinder.stats.raters import cohens_kappa, one_against_rest, rest_means, split_half

RNG = np.random.default_rng(3)
TRUTH = RNG.integers(1, 6, 60)
RATINGS = np.clip(TRUTH[:, None] + RNG.integers(-1, 2, (60, 4)), 1, 5).astype(np.float64)
CONTEXTS = np.arange(60) // 3
RESAMPLES = 200


def test_published_figures_as_text() -> None:
    figures = Correlations(0.3249, -0.2851)
    assert figures.text() == "0.32 / -0.29"
    assert figures.text(3, "<br>") == "0.325<br>-0.285"


def test_our_figures_as_text() -> None:
    found = Agreement(Interval(0.1734, 0.118, 0.232), Interval(0.1551, 0.09, 0.22))
    assert found.text() == "0.173 [0.12, 0.23] / 0.155 [0.09, 0.22]"
    assert found.text(2, "<br>") == "0.17 [0.12, 0.23]<br>0.16 [0.09, 0.22]"


def test_a_column_against_people() -> None:
    found = agreement(RATINGS[:, 0], RATINGS[:, 1], CONTEXTS, RESAMPLES)
    expected = bootstrap_correlations(RATINGS[:, 0], RATINGS[:, 1], CONTEXTS, RESAMPLES)
    assert [found.pearson, found.spearman] == [expected["pearson"][0], expected["spearman"][0]]


def test_halves_of_the_raters() -> None:
    found = agreement_of_halves(RATINGS, CONTEXTS, RESAMPLES)
    known = split_half_interval(RATINGS, CONTEXTS, n_splits=SPLITS, n_resamples=RESAMPLES)
    for bound in ("estimate", "low", "high"):
        assert getattr(found.pearson, bound) == pytest.approx(getattr(known, bound))
    spearman = split_half(RATINGS, kind="spearman", within_items=True).mean
    assert found.spearman.estimate == pytest.approx(spearman)
    assert found.spearman.low < spearman < found.spearman.high


def test_one_rater_has_no_halves() -> None:
    found = agreement_of_halves(RATINGS[:, :1], CONTEXTS, RESAMPLES)
    assert found.text(between="<br>") == "-<br>-"
    assert math.isnan(found.pearson.low)


def test_the_highest_of_several_raters() -> None:
    mean = summarised_agreement(RATINGS, rest_means(RATINGS), CONTEXTS, RESAMPLES)
    highest = summarised_agreement(RATINGS, rest_means(RATINGS), CONTEXTS, RESAMPLES, lambda rows: rows.max(axis=1))
    known = one_against_rest(RATINGS)
    assert mean.pearson.estimate == pytest.approx(known.mean)
    assert highest.pearson.estimate == pytest.approx(known.maximum)
    assert highest.spearman.estimate == pytest.approx(one_against_rest(RATINGS, kind="spearman").maximum)
    assert highest.pearson.low < highest.pearson.estimate < highest.pearson.high


def test_kappa_of_two_raters() -> None:
    found = kappa_interval(RATINGS[:, :2], CONTEXTS, RESAMPLES)
    assert found.estimate == pytest.approx(cohens_kappa(RATINGS[:, 0], RATINGS[:, 1]))
    assert found.low < found.estimate < found.high


def test_kappa_is_unknown_without_shared_replies() -> None:
    found = kappa_interval(RATINGS[:9, :2], CONTEXTS[:9], RESAMPLES)  # kappa needs ten
    assert math.isnan(found.estimate)
    assert math.isnan(found.low)

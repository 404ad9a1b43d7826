"""Correlations with people with their intervals over contexts, as the tables of a page show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.show.text import interval_text
from rejoinder.stats.correlation import correlate
from rejoinder.stats.correlation_intervals import bootstrap_correlations, correlation_replicates
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.stats.raters import half_means, row_means
from rejoinder.stats.resampling import Groups, group_codes
from rejoinder.types import Scores

SPLITS = 100
"""Random divisions of the raters into halves."""
Summary = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Pearson's and Spearman's correlation with people."""

    pearson: Interval
    spearman: Interval

    def text(self, digits: int | None = None, between: str = " / ") -> str:
        """`0.173 [0.12, 0.23] / 0.155 [0.09, 0.22]`."""
        return between.join(interval_text(each, digits, 2) for each in (self.pearson, self.spearman))


def agreement(scores: Scores, human: Scores, contexts: Groups, resamples: int) -> Agreement:
    """The correlations of scores with human ratings, over the replies that have both."""
    found = bootstrap_correlations(scores, human, contexts, resamples)
    return Agreement(found["pearson"][0], found["spearman"][0])


def agreement_of_halves(ratings: Floats, contexts: Groups, resamples: int) -> Agreement:
    """The mean correlations of random halves of each reply's raters (Liu et al. 2016); NaN with one rater per reply."""
    if ratings.shape[1] < 2:
        unknown = Interval(np.nan, np.nan, np.nan)
        return Agreement(unknown, unknown)
    return summarised_agreement(*half_means(ratings, n_splits=SPLITS, within_items=True), contexts, resamples)


def summarised_agreement(
    first: Floats, second: Floats, contexts: Groups, resamples: int, summary: Summary = row_means
) -> Agreement:
    """The mean, or another summary, of the correlations of corresponding columns.

    `first` and `second` are (replies, pairs); `summary` makes one number of each row of (resamples, pairs).
    """
    pairs = list(zip(first.T, second.T, strict=True))
    _, n_groups = group_codes(contexts, len(first))
    drawn = [correlation_replicates(x, y, contexts, resamples) for x, y in pairs]  # the same resamples for all pairs

    def interval(kind: str) -> Interval:
        estimate = summary(np.array([[correlate(x, y, kind).coefficient for x, y in pairs]]))[0]
        replicates = summary(np.concatenate([each[kind] for each in drawn], axis=1))
        return bootstrap_bounds(replicates, float(estimate), n_groups)

    return Agreement(interval("pearson"), interval("spearman"))

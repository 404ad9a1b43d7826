"""Spearman's correlation with people, averaged over sets, with intervals that resample contexts."""

from __future__ import annotations

import math

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.defaults import RESAMPLES
from rejoinder.stats.bootstrap_correlation import correlation_replicates
from rejoinder.stats.correlation import spearman
from rejoinder.stats.intervals import Interval, bootstrap_bounds


def mean_agreement(scores: Floats, human: Floats, sets: Ints) -> float:
    """The mean over sets of the correlation; sets in which it is unknown are left out."""
    found = [spearman(scores[sets == each], human[sets == each]).coefficient for each in np.unique(sets)]
    known = [value for value in found if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def agreement_replicates(scores: Floats, human: Floats, sets: Ints, groups: Ints, resamples: int = RESAMPLES) -> Floats:
    """The mean over sets of each column's correlation, in each resample of contexts. (resamples, columns)"""
    found = []
    for each in np.unique(sets):
        rows = sets == each
        drawn = correlation_replicates(
            scores[rows], human[rows], groups[rows], resamples, seed=int(each), kinds=["spearman"]
        )["spearman"]
        found.append(drawn)
    mean: Floats = np.mean(found, axis=0)
    return mean


def compared(first: Floats, second: Floats, human: Floats, sets: Ints, groups: Ints) -> tuple[Interval, Interval]:
    """The agreement of the second column, and by how much it exceeds that of the first."""
    known = ~np.isnan(first) & ~np.isnan(second)
    both = np.stack([first, second], axis=1)[known]
    human, sets, groups = human[known], sets[known], groups[known]
    of_first, of_second = (mean_agreement(column, human, sets) for column in both.T)
    drawn = agreement_replicates(both, human, sets, groups)
    contexts = len(np.unique(groups))
    return (
        bootstrap_bounds(drawn[:, 1], of_second, contexts),
        bootstrap_bounds(drawn[:, 1] - drawn[:, 0], of_second - of_first, contexts),
    )

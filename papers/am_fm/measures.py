"""Agreement with people over the systems of DSTC6, with and without the system that lies far from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from papers.am_fm.folds import Dstc6
from papers.published.am_fm import LAMBDA, OUTLIER
from papers.replies import OVERALL
from rejoinder.arrays import Bools, Ints
from rejoinder.stats.correlation import correlate
from rejoinder.stats.correlation_intervals import bootstrap_correlations
from rejoinder.stats.intervals import Interval
from rejoinder.stats.rater_intervals import split_half_interval
from rejoinder.stats.systems import FixedSystems
from rejoinder.trusting.probing import cell_text
from rejoinder.types import Scores

HEADER = ("", "theirs, r", "ours, r", "ours, rho", "r without S_20", "rho without S_20", "r, one system left out")
_RESAMPLES = 500
_SPLITS = 100
"""Random divisions of the raters into halves."""

Measured = Mapping[str, Interval]
"""pearson, spearman, kept, kept spearman (both without S_20) and left out (the range without one system)."""


def mixed(am: Scores, fm: Scores, weight: float = LAMBDA) -> Scores:
    """The weighted mean of AM and FM."""
    return weight * am + (1 - weight) * fm


def measured(data: Dstc6, column: Scores) -> Measured:
    """Correlations of one column over the systems, by the replies that it could score."""
    known, systems = ~np.isnan(column), data.judged.systems
    found: dict[str, Interval] = {}
    for which, rows in (("", known), ("kept", known & (systems != OUTLIER))):
        fixed = FixedSystems.of(column[rows, None], data.human[rows], systems[rows], data.item_of[rows])
        found[which or "pearson"] = fixed.intervals("pearson", _RESAMPLES, 0)[0]
        found[f"{which} spearman".strip()] = fixed.intervals("spearman", _RESAMPLES, 0)[0]
        if not which:
            found["left out"] = _left_out(fixed.means[:, 1], fixed.means[:, 0])
    return found


def table_rows(measures: Mapping[str, Measured], published: Mapping[str, float]) -> list[list[str]]:
    """Rows under HEADER: their figure, then ours."""
    return [
        [
            name,
            f"{published[name]:.3f}" if name in published else "",
            *(cell_text(each[key]) for key in ("pearson", "spearman", "kept", "kept spearman")),
            f"{each['left out'].low:.3f} .. {each['left out'].high:.3f}",
        ]
        for name, each in measures.items()
    ]


def system_means(data: Dstc6, names: Sequence[str], column: Scores) -> Scores:
    """The mean of a column over each system's replies."""
    return np.array([np.nanmean(column[data.judged.systems == name]) for name in names])


def fitted_lambda(data: Dstc6, am: Scores, fm: Scores, usable: Bools) -> Scores:
    """AM-FM of each fold, with the lambda that suits the systems best on the usable replies of all other folds."""
    found = np.full(len(am), np.nan)
    fold_of = data.fold_of_rows()
    for fold in range(data.folds):
        others, mine = (fold_of != fold) & usable, fold_of == fold
        codes = np.unique(data.judged.systems[others], return_inverse=True)[1]
        human, means_am, means_fm = (
            np.bincount(codes, column[others]) / np.bincount(codes) for column in (data.human, am, fm)
        )
        tried = [correlate(mixed(means_am, means_fm, x), human).coefficient for x in np.linspace(0, 1, 101)]
        found[mine] = mixed(am[mine], fm[mine], int(np.argmax(tried)) / 100)
    return found


def reply_agreement(data: Dstc6, rows: Ints, columns: Sequence[Scores]) -> list[Interval]:
    """Pearson of each column with people, then of two halves of the raters, over single replies.

    Intervals are over items.
    """
    items = data.item_of[rows]
    matrix = np.stack([column[rows] for column in columns], axis=1)
    found = bootstrap_correlations(matrix, data.human[rows], items, _RESAMPLES, kinds=("pearson",))
    halves = split_half_interval(data.judged.ratings[OVERALL][rows], items, n_splits=_SPLITS, n_resamples=_RESAMPLES)
    return [*found["pearson"], halves]


def random_halves(ratings: Scores, seed: int = 0) -> tuple[Scores, Scores]:
    """The means of one half of each reply's raters, drawn at random, and of the other half."""
    order = np.random.default_rng(seed).permuted(np.tile(np.arange(ratings.shape[1]), (len(ratings), 1)), axis=1)
    drawn = np.take_along_axis(ratings, order, axis=1)
    half = ratings.shape[1] // 2
    return np.nanmean(drawn[:, :half], axis=1), np.nanmean(drawn[:, half:], axis=1)


def _left_out(scores: Scores, human: Scores) -> Interval:
    """Pearson with all systems, and the lowest and highest without one of them."""
    each = [correlate(np.delete(scores, k), np.delete(human, k)).coefficient for k in range(len(human))]
    return Interval(correlate(scores, human).coefficient, min(each), max(each))

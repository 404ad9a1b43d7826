"""How often a metric orders two replies to the same context as people do, including ties.

A pair of replies is concordant, discordant, or tied by people, by the metric, or by both. People often give ties and
most metrics never do, so a tau that ignores ties, or penalises them on one side only, ranks metrics wrongly. Deutsch,
Foster and Freitag 2023, "Ties matter", count a pair as correct if metric and people give the same order or both a tie:
acc_eq. *Tie calibration* finds the difference of scores below which a metric's pair should count as a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.options import RESAMPLES
from rejoinder.stats.correlation import jointly_known
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import Groups, group_codes, mean_interval

MOST_PAIRS = 50_000_000
"""More pairs than this would not fit in memory; groups that large are unlikely to be contexts."""


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How a metric orders the pairs of replies within each context, averaged over contexts."""

    accuracy: Interval
    """acc_eq: the share of pairs in the same order, or tied by both. Its interval resamples contexts."""
    tau_eq: float
    """2 acc_eq - 1: concordant and tied by both, minus all others, over all pairs."""
    tau_b: float
    """Kendall's tau-b within a context, over the contexts where both sides vary."""
    epsilon: float
    n_pairs: int
    n_contexts: int


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The differences of all pairs within a group, right minus left."""

    score: Floats
    human: Floats
    group: Ints
    n_groups: int

    @property
    def weights(self) -> Floats:
        """Weights that sum to 1 over all pairs and are equal for all groups."""
        sizes = np.bincount(self.group, minlength=self.n_groups)
        weights: Floats = 1.0 / (sizes * self.n_groups)[self.group]
        return weights


def pairwise_agreement(
    scores: ArrayLike,
    human: ArrayLike,
    groups: Groups,
    epsilon: float = 0.0,
    *,
    n_resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
) -> PairAgreement:
    """acc_eq and tie-aware taus of the metric; scores that differ by at most `epsilon` are tied. Groups are contexts.

    A context with fewer than two scored replies has no pairs and does not count.
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon must not be negative, but is {epsilon}")
    pairs = _all_pairs(scores, human, groups)
    metric_order = np.where(np.abs(pairs.score) <= epsilon, 0, np.sign(pairs.score))
    human_order = np.sign(pairs.human)
    right = _group_totals(metric_order == human_order, pairs)
    accuracies = right / _group_totals(np.ones(pairs.group.size), pairs)
    accuracy = mean_interval(accuracies, None, n_resamples, confidence, seed, limits=(0.0, 1.0))
    return PairAgreement(
        accuracy=accuracy,
        tau_eq=2 * accuracy.estimate - 1,
        tau_b=_mean_tau_b(metric_order, human_order, pairs),
        epsilon=epsilon,
        n_pairs=pairs.score.size,
        n_contexts=pairs.n_groups,
    )


def calibrate_ties(scores: ArrayLike, human: ArrayLike, groups: Groups) -> float:
    """The epsilon with the highest acc_eq, the smallest if several are equal; NaN where there are no pairs.

    The accuracy on the examples that epsilon was fitted on is optimistic, so fit it on one half and report the other.
    """
    pairs = _all_pairs(scores, human, groups)
    if not pairs.score.size:
        return float("nan")
    distance = np.abs(pairs.score)
    order = np.argsort(distance, kind="stable")
    distance = distance[order]
    human_tie = pairs.human == 0
    concordant = ~human_tie & (np.sign(pairs.score) == np.sign(pairs.human))
    # A pair that becomes tied becomes correct if people tied it, and wrong if it had the human order.
    gains = np.cumsum((pairs.weights * (human_tie.astype(float) - concordant))[order])
    last_of_each = np.append(np.flatnonzero(np.diff(distance)), distance.size - 1)
    candidates, values = distance[last_of_each], gains[last_of_each]
    if candidates[0] > 0:  # no two scores are equal: an epsilon of 0, without any ties, is a candidate too
        candidates, values = np.append(0.0, candidates), np.append(0.0, values)
    # Equal accuracies may differ by rounding; take the smallest epsilon among them.
    return float(candidates[np.flatnonzero(values >= values.max() - 1e-12)[0]])


def _all_pairs(scores: ArrayLike, human: ArrayLike, groups: Groups) -> _Pairs:
    codes, _ = group_codes(groups, np.asarray(human).size)
    known = ~(np.isnan(np.asarray(scores, np.float64)) | np.isnan(np.asarray(human, np.float64)))
    score, target = jointly_known(scores, human)
    left, right = pairs_within(codes[known])
    group, n_groups = group_codes(codes[known][left], left.size)
    return _Pairs(score[right] - score[left], target[right] - target[left], group, n_groups)


def pairs_within(codes: Ints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The indices of the left and the right member of every pair with equal codes."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1)) if codes.size else np.zeros(0, np.int64)
    sizes = np.diff(np.append(starts, codes.size))
    n_pairs = int(np.sum(sizes * (sizes - 1) // 2))
    if n_pairs > MOST_PAIRS:
        raise ValueError(f"{n_pairs:,} pairs within groups are more than {MOST_PAIRS:,}; are the groups contexts?")
    left, right = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for size in np.unique(sizes[sizes > 1]):
        first, second = np.triu_indices(size, 1)
        members = starts[sizes == size][:, None]
        left.append(order[(members + first).reshape(-1)])
        right.append(order[(members + second).reshape(-1)])
    return np.concatenate(left), np.concatenate(right)


def _mean_tau_b(metric_order: Floats, human_order: Floats, pairs: _Pairs) -> float:
    balance = _group_totals(metric_order * human_order, pairs)
    scale = np.sqrt(_group_totals(metric_order != 0, pairs) * _group_totals(human_order != 0, pairs))
    varied = scale > 0
    return float(np.mean(balance[varied] / scale[varied])) if varied.any() else float("nan")


def _group_totals(values: NDArray[Any], pairs: _Pairs) -> Floats:
    totals = np.bincount(pairs.group, weights=values.astype(np.float64), minlength=pairs.n_groups)
    return totals.astype(np.float64)

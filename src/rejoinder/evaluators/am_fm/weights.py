"""Weighted means of AM-FM's parts, and weights fitted to human scores."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Floats
from rejoinder.errors import NeedsError
from rejoinder.types import Scores

MEANS = ("arithmetic", "geometric", "harmonic")
LEVELS = ("no", "replies", "systems")
_FEWEST = 3
"""The smallest number of replies or systems for a correlation."""


def weighted_mean(parts: Floats, weights: Floats, kind: str) -> Scores:
    """One score per row; parts of weight 0 are ignored. (rows, parts), (parts,) -> (rows,)"""
    used = weights > 0
    values, shares = parts[:, used], weights[used] / weights[used].sum()
    if kind == "arithmetic":
        # Not a matrix product: its last digit may depend on the number of rows.
        mean: Scores = (values * shares).sum(axis=1)
        return mean
    with np.errstate(divide="ignore"):
        if kind == "geometric":
            mean = np.exp((np.log(values) * shares).sum(axis=1))
        else:
            mean = 1 / (shares / values).sum(axis=1)
    return mean


def fitted_weights(parts: Floats, human: Scores, systems: NDArray[np.str_] | None, kind: str) -> Floats:
    """The weights with the highest Pearson correlation with human scores, in steps of .01 (two parts) or .05.

    Over replies, or over system means if systems are given. Of equals, the one with the most weight on the last part.
    """
    known = ~np.isnan(parts).any(axis=1) & ~np.isnan(human)
    parts, human = parts[known], human[known]
    groups = np.arange(len(human)) if systems is None else np.unique(systems[known], return_inverse=True)[1]
    units, what = len(np.unique(groups)), "replies" if systems is None else "systems"
    if units < _FEWEST:
        raise NeedsError(f"cannot fit the weights to {units} judged {what}: expected at least {_FEWEST}")
    grid = _simplex(parts.shape[1])
    target = _means(human, groups)
    found = [_pearson(_means(weighted_mean(parts, weights, kind), groups), target) for weights in grid]
    if np.isnan(found).all():
        raise NeedsError("cannot fit the weights: all human scores are equal, or all scores of the parts are")
    best: Floats = grid[int(np.nanargmax(found))]
    return best


def _simplex(parts: int) -> Floats:
    """All weights that sum to 1, on a grid. (weights, parts)"""
    steps = 100 if parts == 2 else 20
    ways = [(*head, steps - sum(head)) for head in product(range(steps + 1), repeat=parts - 1) if sum(head) <= steps]
    return np.array(ways, np.float64) / steps


def _means(values: Scores, groups: NDArray[np.int64]) -> Scores:
    means: Scores = np.bincount(groups, values) / np.bincount(groups)
    return means


def _pearson(left: Scores, right: Scores) -> float:
    a, b = left - left.mean(), right - right.mean()
    below = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / below) if below > 0 else float("nan")

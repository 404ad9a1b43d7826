"""Strengths of systems from pairwise preferences.

Bradley and Terry 1952: system i with the strength s_i beats j with the probability p_i / (p_i + p_j), p = exp(s).
Davidson 1970 adds ties: wins, losses and ties of i are as p_i : p_j : v (p_i p_j)^(1/2), where v says how common ties
are. Both likelihoods are concave in s and log v, so Newton's method finds the maximum; many resamples are fitted at
once. Without ties in the model, a tie counts as half a win for each side.

A system that beats all others has an infinite maximum-likelihood estimate. Where the maximum is not finite (see
`contests.all_beaten_in_turn`; also without any ties, or with nothing but ties), a prior is added: half a win, half a
loss and half a tie for each free strength, spread evenly over the compared pairs. For two systems this is Jeffreys'
prior up to the ties, and log((w + 1/2) / (l + 1/2)) has almost no bias (Haldane 1956; Anscombe 1956).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Bools, Floats
from rejoinder.stats.preferences.contests import LOSS, TIE, WIN, Contests, all_beaten_in_turn

PRIOR = 0.5
"""Wins, losses and ties that the prior adds for each free strength."""
_STEPS = 100
_SMALL = 1e-10
_LONGEST_STEP = 2.0


@dataclass(frozen=True, slots=True)
class Strengths:
    """The strengths of one or many data sets."""

    values: Floats
    """(rows, systems), each row with mean 0."""
    log_ties: Floats
    """log v of Davidson's model (rows,); -inf without ties in the model."""
    with_prior: Bools
    """Where the prior was added, because no finite maximum exists. (rows,)"""
    covariance: Floats
    """The inverse Fisher information of the strengths. (rows, systems, systems)"""


def fit(contests: Contests, totals: Floats, *, ties: bool = True) -> Strengths:
    """The strengths that fit the counts `totals` (rows, pairs, 3) best, one row per data set.

    The systems must be connected by comparisons. `ties=False` counts a tie as half a win for each.
    """
    counts = totals if ties else _halved(totals)
    alone = ~_has_maximum(contests, counts, ties=ties)
    counts = counts + alone[:, None, None] * _prior(contests, ties=ties)
    # A row of the design is a pair: half the first system's strength minus half the second's.
    design = np.zeros((contests.first.size, contests.n_systems))
    design[np.arange(len(design)), contests.first] = 0.5
    design[np.arange(len(design)), contests.second] = -0.5
    values, log_ties = np.zeros((len(counts), contests.n_systems)), np.zeros(len(counts))
    for _ in range(_STEPS):
        gradient, information = _derivatives(values, log_ties, counts, design, ties=ties)
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        size = np.abs(step).max(axis=1)
        step *= np.minimum(1, _LONGEST_STEP / np.maximum(size, _SMALL))[:, None]
        values, log_ties = values + step[:, :-1], log_ties + step[:, -1]
        if size.max(initial=0) < _SMALL:
            break
    _, information = _derivatives(values, log_ties, counts, design, ties=ties)
    covariance: Floats = np.linalg.inv(information).astype(np.float64)[:, :-1, :-1] - 1 / contests.n_systems**2
    return Strengths(values, log_ties if ties else np.full(len(counts), -np.inf), alone, covariance)


def _derivatives(
    values: Floats, log_ties: Floats, counts: Floats, design: Floats, *, ties: bool
) -> tuple[Floats, Floats]:
    """The gradient (rows, systems + 1) and the negative second derivatives of the log-likelihood; log v is last.

    The likelihood does not change if all strengths grow together, so the matrix gets a 1 in every cell of the
    strengths: the solution then has mean 0.
    """
    half = values @ design.T  # (rows, pairs)
    tie = np.broadcast_to(log_ties[:, None], half.shape) if ties else np.full(half.shape, -np.inf)
    top = np.maximum(np.abs(half), tie)
    weights = np.exp(np.stack([half, -half, tie], axis=2) - top[:, :, None])
    shares = weights / weights.sum(axis=2, keepdims=True)
    n = counts.sum(axis=2)
    lead, drawn = shares[:, :, WIN] - shares[:, :, LOSS], shares[:, :, TIE]
    rows, systems = values.shape
    gradient = np.empty((rows, systems + 1))
    gradient[:, :-1] = (counts[:, :, WIN] - counts[:, :, LOSS] - n * lead) @ design
    gradient[:, -1] = (counts[:, :, TIE] - n * drawn).sum(axis=1)
    information = np.empty((rows, systems + 1, systems + 1))
    outer = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    information[:, :-1, :-1] = ((n * (1 - drawn - lead**2)) @ outer).reshape(rows, systems, systems) + 1
    information[:, :-1, -1] = information[:, -1, :-1] = -(n * lead * drawn) @ design
    information[:, -1, -1] = (n * drawn * (1 - drawn)).sum(axis=1) if ties else 1.0
    return gradient, information


def _has_maximum(contests: Contests, counts: Floats, *, ties: bool) -> Bools:
    finite = all_beaten_in_turn(contests.wins(counts))
    return finite & (counts[:, :, TIE].sum(axis=1) > 0) if ties else finite


def _halved(totals: Floats) -> Floats:
    counts = totals.copy()
    counts[:, :, [WIN, LOSS]] += totals[:, :, [TIE]] / 2
    counts[:, :, TIE] = 0
    return counts


def _prior(contests: Contests, *, ties: bool) -> Floats:
    each = PRIOR * (contests.n_systems - 1) / max(contests.first.size, 1)
    return np.array([each, each, each if ties else 0.0])

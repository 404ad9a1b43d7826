"""The win rate that a system would have if its replies were as long as those of the other one.

Dubois, Galambosi, Liang and Hashimoto 2024, "Length-controlled AlpacaEval": a logistic regression predicts the
preference from which system replied and from the difference of lengths, and the win rate is read off at a difference of
0. The difference enters as tanh(difference / its standard deviation), so that very long replies do not dominate. Their
third term, the difficulty of each instruction, is estimated over many systems and is left out here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Floats
from rejoinder.defaults import RESAMPLES
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.stats.resampling import Groups, bootstrap_chunks, group_codes

RIDGE = 0.5
"""Penalty on the squared coefficients; it keeps them finite where one side wins everything."""
_STEPS = 50


@dataclass(frozen=True, slots=True)
class LengthControlled:
    """The win rate of a system, as it is and at equal lengths."""

    win_rate: float
    """Ties count half."""
    controlled: Interval
    length_effect: float
    """The log-odds that a much longer reply gains; above 0, longer replies are preferred."""
    n: int
    n_contexts: int


def length_controlled_win_rate(
    wins: ArrayLike,
    length_differences: ArrayLike,
    contexts: Groups = None,
    *,
    n_resamples: int = RESAMPLES,
    confidence: float = 0.95,
    seed: int = 0,
) -> LengthControlled:
    """The win rate at equal lengths: `wins` are 1, 0, or 0.5 for a tie (a judge may give any probability between).

    `length_differences` are the system's lengths minus the other's, in any unit. The interval resamples contexts.
    """
    won, differences = np.asarray(wins, np.float64), np.asarray(length_differences, np.float64)
    if won.shape != differences.shape or won.ndim != 1 or not won.size:
        raise ValueError("wins and length_differences must be vectors of equal length, and not empty")
    if ((won < 0) | (won > 1)).any() or np.isnan(won).any() or not np.isfinite(differences).all():
        raise ValueError("wins must be from 0 to 1, and length_differences finite")
    spread = float(differences.std())
    design = np.stack([np.ones(won.size), np.tanh(differences / spread) if spread > 0 else np.zeros(won.size)], axis=1)
    codes, n_contexts = group_codes(contexts, won.size)
    estimate = _fitted(design, won, np.ones((1, won.size)))[0]
    drawn = [_fitted(design, won, counts[:, codes]) for counts in bootstrap_chunks(n_contexts, n_resamples, seed)]
    bounds = bootstrap_bounds(np.concatenate(drawn)[:, 0], float(estimate[0]), n_contexts, confidence)
    low, middle, high = (float(1 / (1 + np.exp(-odds))) for odds in (bounds.low, bounds.estimate, bounds.high))
    return LengthControlled(float(won.mean()), Interval(middle, low, high), float(estimate[1]), won.size, n_contexts)


def _fitted(design: Floats, won: Floats, weights: Floats) -> Floats:
    """The coefficients of a logistic regression for each row of weights. (rows, coefficients)"""
    found = np.zeros((len(weights), design.shape[1]))
    outer = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    penalty = RIDGE * np.eye(design.shape[1])
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(-found @ design.T))
        gradient = (weights * (won - expected)) @ design - RIDGE * found
        information = ((weights * expected * (1 - expected)) @ outer).reshape(-1, *penalty.shape) + penalty
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        found = found + step
        if np.abs(step).max(initial=0) < 1e-9:
            break
    return found

"""Solvers for ADEM's matrices: exact, or gradient descent on mini-batches as in the paper.

    L(M, N) = mean((score - human)^2) + gamma * (|M|_1 + |N|_1),   score = (c^T M r^ + r^T N r^ - alpha) / beta

The score is linear in M and N, so this is a lasso whose features are the products of two coordinates: convex, with one
minimum. The features are never computed explicitly: for n coordinates and K replies a gradient costs K * n^2, as a
score does. Both solvers start from the identity, as the paper does; that only matters with early stopping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.errors import RejoinderError
from rejoinder.types import Scores

Watch = Callable[[int, Floats], None]
"""Called before each epoch with its number, from 0, and the matrices."""

_MOST_STEPS = 20_000
"""The largest number of steps of the exact solver."""
_LEAST_RATE = 1e-4
"""Gradient descent stops when the learning rate is below this share of the first one."""


@dataclass(frozen=True, eq=False)
class Compared:
    """The vectors of replies and of what they are compared with, and the human scores."""

    sides: Floats
    """The vectors of context and reference, or of one of them. (sides, replies, n)"""
    replies: Floats
    """(replies, n)"""
    human: Scores

    def __len__(self) -> int:
        return len(self.human)

    def take(self, rows: Ints) -> Compared:
        """A subset of the replies."""
        return Compared(self.sides[:, rows], self.replies[rows], self.human[rows])

    def first(self, components: int) -> Compared:
        """The same with fewer coordinates."""
        return replace(self, sides=self.sides[:, :, :components], replies=self.replies[:, :components])

    def products(self, matrices: Floats) -> Scores:
        """c^T M r^ + r^T N r^ of each reply. (sides, n, n) -> (replies,)"""
        total: Scores = np.zeros(len(self))
        for term in self.terms(matrices):
            total += term
        return total

    def terms(self, matrices: Floats) -> Iterator[Scores]:
        """The terms of the sum, one by one. (sides, n, n) -> (replies,) for each side"""
        for side, matrix in zip(self.sides, matrices, strict=True):
            yield ((side @ matrix) * self.replies).sum(axis=1)

    def weighted(self, weights: Scores) -> Floats:
        """The weighted sum of the replies' outer products: the transpose of `products`. (sides, n, n)"""
        scaled = self.replies * weights[:, None]
        return np.stack([side.T @ scaled for side in self.sides])

    def identity(self) -> Floats:
        """M = N = I. (sides, n, n)"""
        return np.stack([np.eye(self.replies.shape[1])] * len(self.sides))


@dataclass(frozen=True, slots=True)
class Scale:
    """The constants that bring the initial predictions to the scale of human scores."""

    alpha: float
    beta: float

    @classmethod
    def of(cls, compared: Compared) -> Scale:
        """With M = N = I the predictions then have the mean and standard deviation of the human scores."""
        first = compared.products(compared.identity())
        spread, wanted = float(first.std()), float(compared.human.std())
        beta = spread / wanted if spread > 0 and wanted > 0 else 1.0
        return cls(float(first.mean()) - beta * float(compared.human.mean()), beta)

    def scores(self, products: Scores) -> Scores:
        """Scores from products."""
        return (products - self.alpha) / self.beta


@dataclass(frozen=True, kw_only=True)
class Descent:
    """Settings of gradient descent; learning rate and batch are those of Lowe et al. 2017 (appendix D)."""

    learning_rate: float = 0.01
    batch: int = 16
    epochs: int = 200
    """The largest number of epochs."""
    patience: int = 5
    """Epochs without improvement after which the learning rate is cut to a third."""


def objective(compared: Compared, matrices: Floats, scale: Scale, gamma: float) -> float:
    """L(M, N)."""
    return squared_error(compared, matrices, scale) + gamma * float(np.abs(matrices).sum())


def squared_error(compared: Compared, matrices: Floats, scale: Scale) -> float:
    """The mean of (score - human)^2."""
    return float(((scale.scores(compared.products(matrices)) - compared.human) ** 2).mean())


def solve(
    compared: Compared,
    scale: Scale,
    gamma: float,
    *,
    start: Floats | None = None,
    tolerance: float = 1e-4,
    steepness: float | None = None,
) -> Floats:
    """The matrices that minimise L, by accelerated proximal gradients (Beck and Teboulle 2009, FISTA).

    Momentum is reset whenever it points uphill (O'Donoghue and Candes 2015). Iteration stops when every entry satisfies
    the lasso's optimality conditions to within `tolerance`. `steepness` is the Lipschitz constant of the gradient of
    the squared error, if known. (sides, n, n)
    """
    step = 1 / (_steepness(compared, scale) if steepness is None else steepness)
    matrices = ahead = compared.identity() if start is None else start
    momentum = 1.0
    for number in range(_MOST_STEPS):
        slope = _slope(compared, ahead, scale)
        if number % 10 == 0 and _violation(ahead, slope, gamma) <= tolerance:
            return ahead
        moved = _shrunk(ahead - step * slope, step * gamma)
        if np.vdot(ahead - moved, moved - matrices) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / following * (moved - matrices)
        matrices, momentum = moved, following
    return matrices


def path(compared: Compared, scale: Scale, gammas: Sequence[float], *, tolerance: float = 1e-3) -> list[Floats]:
    """The matrices that minimise L for each gamma; each solution is the start of the next. Largest first is fastest."""
    found: list[Floats] = []
    steepness = _steepness(compared, scale)
    for gamma in gammas:
        start = found[-1] if found else None
        found.append(solve(compared, scale, gamma, start=start, tolerance=tolerance, steepness=steepness))
    return found


def descend(
    compared: Compared,
    scale: Scale,
    gamma: float,
    how: Descent,
    seed: int,
    *,
    valid: Compared | None = None,
    start: Floats | None = None,
    watch: Watch | None = None,
) -> Floats:
    """The matrices with the lowest loss of all epochs: the squared error on `valid`, if given, else L. (sides, n, n)"""
    rng = np.random.default_rng(seed)
    matrices = compared.identity() if start is None else start
    rate, since = how.learning_rate, 0
    best, least = matrices, _monitored(compared, valid, matrices, scale, gamma)
    for epoch in range(how.epochs):
        if watch is not None:
            watch(epoch, matrices)
        order = rng.permutation(len(compared))
        for first in range(0, len(order), how.batch):
            some = compared.take(order[first : first + how.batch])
            matrices = matrices - rate * (_slope(some, matrices, scale) + gamma * np.sign(matrices))
        loss = _monitored(compared, valid, matrices, scale, gamma)
        if loss < least * (1 - 1e-5):
            best, least, since = matrices, loss, 0
        else:
            since += 1
        if since >= how.patience or not loss < 1e3 * least + 1e3:  # no improvement, or divergence
            matrices, rate, since = best, rate / 3, 0
        if rate < how.learning_rate * _LEAST_RATE:
            break
    if watch is not None:
        watch(epoch + 1, matrices)
    if not np.isfinite(best).all():
        raise RejoinderError("gradient descent diverged: a smaller learning rate may help")
    return best


def _monitored(compared: Compared, valid: Compared | None, matrices: Floats, scale: Scale, gamma: float) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        if valid is None or not len(valid):
            return objective(compared, matrices, scale, gamma)
        return squared_error(valid, matrices, scale)


def _slope(compared: Compared, matrices: Floats, scale: Scale) -> Floats:
    """The gradient of the squared error."""
    off = scale.scores(compared.products(matrices)) - compared.human
    return compared.weighted(off * (2 / (len(compared) * scale.beta)))


def _steepness(compared: Compared, scale: Scale) -> float:
    """Slightly more than the largest eigenvalue of the squared error's Hessian, by power iteration."""
    direction = np.random.default_rng(0).normal(size=compared.identity().shape)
    largest = 0.0
    for _ in range(100):
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
        direction = compared.weighted(compared.products(direction))
        before, largest = largest, float(np.linalg.norm(direction))
        if largest - before <= 1e-6 * largest:  # too low an estimate would make steps too long
            break
    return max(1.1 * 2 * largest / (len(compared) * scale.beta**2), 1e-12)


def _violation(matrices: Floats, slope: Floats, gamma: float) -> float:
    """By how much the worst entry violates the optimality conditions."""
    missed = np.where(matrices == 0, np.maximum(np.abs(slope) - gamma, 0), np.abs(slope + gamma * np.sign(matrices)))
    return float(missed.max())


def _shrunk(values: Floats, by: float) -> Floats:
    """Soft thresholding, the proximal map of L1."""
    shrunk: Floats = np.sign(values) * np.maximum(np.abs(values) - by, 0)
    return shrunk

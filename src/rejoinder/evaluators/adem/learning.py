"""How ADEM is fitted: its settings by cross-validation, and the solvers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.errors import NeedsError, RejoinderError
from rejoinder.learning.data import fold_of_groups, held_out
from rejoinder.types import Scores

# ADEM's settings, chosen by cross-validation: the number of components, and the strength and target of the penalty.
#
# `towards` is what the L1 penalty draws M and N to. With `zero`, as in the paper, coordinates that carry no information
# drop out. With `identity` each matrix is drawn to a multiple of I, which is fitted first: the result stays close to
# the dot product unless the labels contradict it, which suits encoders whose dot product is meaningful.


TOWARDS = ("zero", "identity")
COMPONENTS = (7, 20, 50)
"""The values tried; the first is that of Lowe et al. 2017, the last that of Zhao et al. 2020."""
GAMMAS = (0.1, 0.05, 0.02, 0.01)
"""The values tried; .02 is that of Lowe et al. 2017. The largest first, which is fastest."""
FOLDS = 4
HELD_OUT, FEWEST_TO_HOLD_OUT = 0.15, 8
"""The share of contexts for early stopping, and the number of contexts below which none are held out."""


@dataclass(frozen=True, slots=True)
class AdemSetting:
    """Settings that are fixed before the matrices are learned."""

    components: int
    gamma: float
    towards: str

    def __str__(self) -> str:
        return f"{self.components} components, gamma {self.gamma:g}, drawn towards {self.towards}"


@dataclass(frozen=True, eq=False)
class Bilinear:
    """M and N, and the constants alpha and beta."""

    matrices: Floats  # (sides, n, n)
    scale: PredictionScale
    means: tuple[float, ...] = ()
    """The mean of each term over the training replies; empty in folders that were saved before it was kept."""

    def scores(self, compared: ComparedVectors) -> Scores:
        """The score of each reply."""
        return self.scale.scores(compared.products(self.matrices))


def learned(compared: ComparedVectors, setting: AdemSetting, *, tolerance: float = 1e-4) -> Bilinear:
    """The matrices with the least loss."""
    anchor, shifted, scale = anchored(compared.first(setting.components), setting.towards)
    return Bilinear(anchor + solve(shifted, _origin(scale, setting), setting.gamma, tolerance=tolerance), scale)


def descended(
    compared: ComparedVectors, valid: ComparedVectors | None, setting: AdemSetting, how: DescentSettings, seed: int
) -> Bilinear:
    """The matrices by gradient descent, with early stopping on `valid`."""
    anchor, shifted, scale = anchored(compared.first(setting.components), setting.towards)
    if valid is not None:
        near = valid.first(setting.components)
        base = Bilinear(anchor, scale).scores(near) if setting.towards == "identity" else np.zeros(len(near))
        valid = replace(near, human=near.human - base)
    start = np.zeros_like(anchor) if setting.towards == "identity" else None
    found = descend(shifted, _origin(scale, setting), setting.gamma, how, seed, valid=valid, start=start)
    return Bilinear(anchor + found, scale)


def anchored(compared: ComparedVectors, towards: str) -> tuple[Floats, ComparedVectors, PredictionScale]:
    """The matrices that M and N are drawn to (the anchor), the replies with residuals as targets, and the scale."""
    scale, identity = PredictionScale.of(compared), compared.identity()
    if towards == "zero":
        return np.zeros_like(identity), compared, scale
    dots = [(side * compared.replies).sum(axis=1) for side in compared.sides]
    columns = np.stack([np.ones(len(compared)), *dots], axis=1)
    (level, *weights), *_ = np.linalg.lstsq(columns, compared.human, rcond=None)
    anchor = identity * (np.array(weights) * scale.beta)[:, None, None]
    scale = PredictionScale(-float(level) * scale.beta, scale.beta)
    left = compared.human - Bilinear(anchor, scale).scores(compared)
    return anchor, replace(compared, human=left), scale


def chosen(compared: ComparedVectors, groups: Ints, wanted: Sequence[AdemSetting], seed: int) -> AdemSetting:
    """The setting with the least squared error on held-out folds; of equals, the first."""
    if len(wanted) == 1:
        return wanted[0]
    fold_of = _folds(groups, seed)
    errors = dict.fromkeys(wanted, 0.0)
    for fold in range(int(fold_of.max()) + 1):
        train, test = (np.flatnonzero(rows) for rows in (fold_of != fold, fold_of == fold))
        for (components, towards), settings in _paths(wanted).items():
            part, tested = (compared.first(components).take(rows) for rows in (train, test))
            anchor, shifted, scale = anchored(part, towards)
            found = solution_path(shifted, _origin(scale, settings[0]), [setting.gamma for setting in settings])
            for setting, matrices in zip(settings, found, strict=True):
                off = Bilinear(anchor + matrices, scale).scores(tested) - tested.human
                errors[setting] += float(off @ off)
    return min(errors, key=errors.__getitem__)


def settings_of(components: int | None, gamma: float | None, towards: str | None, most: int) -> list[AdemSetting]:
    """Every combination of the values to try, with at most `most` components; one if all are given."""
    numbers = dict.fromkeys(min(number, most) for number in ((components,) if components else COMPONENTS))
    gammas = GAMMAS if gamma is None else (gamma,)
    return [
        AdemSetting(number, strength, goal)
        for number, goal, strength in product(numbers, (towards,) if towards else TOWARDS, gammas)
    ]


def early_stopping_rows(groups: Ints, seed: int) -> tuple[Ints, Ints]:
    """Rows to learn from, and rows for early stopping; no context is in both."""
    held = held_out(groups, HELD_OUT, [seed, 9], fewest=FEWEST_TO_HOLD_OUT)
    return np.flatnonzero(~held), np.flatnonzero(held)


def _folds(groups: Ints, seed: int) -> Ints:
    contexts = len(np.unique(groups))
    if contexts < FOLDS:
        raise NeedsError(
            f"{contexts} contexts are too few to choose settings by: expected {FOLDS}, or components, gamma and "
            "towards given"
        )
    return fold_of_groups(groups, FOLDS, [seed, 8], by_size=False)


def _paths(wanted: Sequence[AdemSetting]) -> dict[tuple[int, str], list[AdemSetting]]:
    """Settings that differ in gamma only, grouped."""
    paths: dict[tuple[int, str], list[AdemSetting]] = {}
    for setting in wanted:
        paths.setdefault((setting.components, setting.towards), []).append(setting)
    return paths


def _origin(scale: PredictionScale, setting: AdemSetting) -> PredictionScale:
    """The scale of the residuals: the anchor has explained the mean."""
    return scale if setting.towards == "zero" else PredictionScale(0.0, scale.beta)


# Solvers for ADEM's matrices: exact, or gradient descent on mini-batches as in the paper.
#
#     L(M, N) = mean((score - human)^2) + gamma * (|M|_1 + |N|_1),   score = (c^T M r^ + r^T N r^ - alpha) / beta
#
# The score is linear in M and N, so this is a lasso whose features are the products of two coordinates: convex, with
# one minimum. The features are never computed explicitly: for n coordinates and K replies a gradient costs K * n^2,
# as a score does. Both solvers start from the identity, as the paper does; that only matters with early stopping.


Watch = Callable[[int, Floats], None]
"""Called before each epoch with its number, from 0, and the matrices."""

_MOST_STEPS = 20_000
"""The largest number of steps of the exact solver."""
_LEAST_RATE = 1e-4
"""Gradient descent stops when the learning rate is below this share of the first one."""


@dataclass(frozen=True, eq=False)
class ComparedVectors:
    """The vectors of replies and of what they are compared with, and the ratings."""

    sides: Floats
    """The vectors of context and reference, or of one of them. (sides, replies, n)"""
    replies: Floats
    """(replies, n)"""
    human: Scores

    def __len__(self) -> int:
        return len(self.human)

    def take(self, rows: Ints) -> ComparedVectors:
        """A subset of the replies."""
        return ComparedVectors(self.sides[:, rows], self.replies[rows], self.human[rows])

    def first(self, components: int) -> ComparedVectors:
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
class PredictionScale:
    """The constants that bring the initial predictions to the scale of ratings."""

    alpha: float
    beta: float

    @classmethod
    def of(cls, compared: ComparedVectors) -> PredictionScale:
        """With M = N = I the predictions then have the mean and standard deviation of the ratings."""
        first = compared.products(compared.identity())
        spread, wanted = float(first.std()), float(compared.human.std())
        beta = spread / wanted if spread > 0 and wanted > 0 else 1.0
        return cls(float(first.mean()) - beta * float(compared.human.mean()), beta)

    def scores(self, products: Scores) -> Scores:
        """Scores from products."""
        return (products - self.alpha) / self.beta


@dataclass(frozen=True, kw_only=True)
class DescentSettings:
    """Settings of gradient descent; learning rate and batch are those of Lowe et al. 2017 (appendix D)."""

    learning_rate: float = 0.01
    batch: int = 16
    epochs: int = 200
    """The largest number of epochs."""
    patience: int = 5
    """Epochs without improvement after which the learning rate is cut to a third."""


def objective(compared: ComparedVectors, matrices: Floats, scale: PredictionScale, gamma: float) -> float:
    """L(M, N)."""
    return squared_error(compared, matrices, scale) + gamma * float(np.abs(matrices).sum())


def squared_error(compared: ComparedVectors, matrices: Floats, scale: PredictionScale) -> float:
    """The mean of (score - human)^2."""
    return float(((scale.scores(compared.products(matrices)) - compared.human) ** 2).mean())


def solve(
    compared: ComparedVectors,
    scale: PredictionScale,
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


def solution_path(
    compared: ComparedVectors, scale: PredictionScale, gammas: Sequence[float], *, tolerance: float = 1e-3
) -> list[Floats]:
    """The matrices that minimise L for each gamma; each solution is the start of the next. Largest first is fastest."""
    found: list[Floats] = []
    steepness = _steepness(compared, scale)
    for gamma in gammas:
        start = found[-1] if found else None
        found.append(solve(compared, scale, gamma, start=start, tolerance=tolerance, steepness=steepness))
    return found


def descend(
    compared: ComparedVectors,
    scale: PredictionScale,
    gamma: float,
    how: DescentSettings,
    seed: int,
    *,
    valid: ComparedVectors | None = None,
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


def _monitored(
    compared: ComparedVectors, valid: ComparedVectors | None, matrices: Floats, scale: PredictionScale, gamma: float
) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        if valid is None or not len(valid):
            return objective(compared, matrices, scale, gamma)
        return squared_error(valid, matrices, scale)


def _slope(compared: ComparedVectors, matrices: Floats, scale: PredictionScale) -> Floats:
    """The gradient of the squared error."""
    off = scale.scores(compared.products(matrices)) - compared.human
    return compared.weighted(off * (2 / (len(compared) * scale.beta)))


def _steepness(compared: ComparedVectors, scale: PredictionScale) -> float:
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

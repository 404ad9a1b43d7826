"""ADEM's settings, chosen by cross-validation: the number of components, and the strength and target of the penalty.

`towards` is what the L1 penalty draws M and N to. With `zero`, as in the paper, coordinates that carry no information
drop out. With `identity` each matrix is drawn to a multiple of I, which is fitted first: the result stays close to the
dot product unless the labels contradict it, which suits encoders whose dot product is meaningful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.errors import NeedsError
from rejoinder.evaluators.adem.solvers import Compared, Descent, Scale, descend, path, solve
from rejoinder.learning.splits import fold_of_groups, held_out
from rejoinder.types import Scores

TOWARDS = ("zero", "identity")
COMPONENTS = (7, 20, 50)
"""The values tried; the first is that of Lowe et al. 2017, the last that of Zhao et al. 2020."""
GAMMAS = (0.1, 0.05, 0.02, 0.01)
"""The values tried; .02 is that of Lowe et al. 2017. The largest first, which is fastest."""
FOLDS = 4
HELD_OUT, FEWEST_TO_HOLD_OUT = 0.15, 8
"""The share of contexts for early stopping, and the number of contexts below which none are held out."""


@dataclass(frozen=True, slots=True)
class Setting:
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
    scale: Scale
    means: tuple[float, ...] = ()
    """The mean of each term over the training replies; empty in folders that were saved before it was kept."""

    def scores(self, compared: Compared) -> Scores:
        """The score of each reply."""
        return self.scale.scores(compared.products(self.matrices))


def learned(compared: Compared, setting: Setting, *, tolerance: float = 1e-4) -> Bilinear:
    """The matrices with the least loss."""
    anchor, shifted, scale = anchored(compared.first(setting.components), setting.towards)
    return Bilinear(anchor + solve(shifted, _origin(scale, setting), setting.gamma, tolerance=tolerance), scale)


def descended(compared: Compared, valid: Compared | None, setting: Setting, how: Descent, seed: int) -> Bilinear:
    """The matrices by gradient descent, with early stopping on `valid`."""
    anchor, shifted, scale = anchored(compared.first(setting.components), setting.towards)
    if valid is not None:
        near = valid.first(setting.components)
        base = Bilinear(anchor, scale).scores(near) if setting.towards == "identity" else np.zeros(len(near))
        valid = replace(near, human=near.human - base)
    start = np.zeros_like(anchor) if setting.towards == "identity" else None
    found = descend(shifted, _origin(scale, setting), setting.gamma, how, seed, valid=valid, start=start)
    return Bilinear(anchor + found, scale)


def anchored(compared: Compared, towards: str) -> tuple[Floats, Compared, Scale]:
    """The matrices that M and N are drawn to (the anchor), the replies with residuals as targets, and the scale."""
    scale, identity = Scale.of(compared), compared.identity()
    if towards == "zero":
        return np.zeros_like(identity), compared, scale
    dots = [(side * compared.replies).sum(axis=1) for side in compared.sides]
    columns = np.stack([np.ones(len(compared)), *dots], axis=1)
    (level, *weights), *_ = np.linalg.lstsq(columns, compared.human, rcond=None)
    anchor = identity * (np.array(weights) * scale.beta)[:, None, None]
    scale = Scale(-float(level) * scale.beta, scale.beta)
    left = compared.human - Bilinear(anchor, scale).scores(compared)
    return anchor, replace(compared, human=left), scale


def chosen(compared: Compared, groups: Ints, wanted: Sequence[Setting], seed: int) -> Setting:
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
            found = path(shifted, _origin(scale, settings[0]), [setting.gamma for setting in settings])
            for setting, matrices in zip(settings, found, strict=True):
                off = Bilinear(anchor + matrices, scale).scores(tested) - tested.human
                errors[setting] += float(off @ off)
    return min(errors, key=errors.__getitem__)


def settings_of(components: int | None, gamma: float | None, towards: str | None, most: int) -> list[Setting]:
    """Every combination of the values to try, with at most `most` components; one if all are given."""
    numbers = dict.fromkeys(min(number, most) for number in ((components,) if components else COMPONENTS))
    gammas = GAMMAS if gamma is None else (gamma,)
    return [
        Setting(number, strength, goal)
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


def _paths(wanted: Sequence[Setting]) -> dict[tuple[int, str], list[Setting]]:
    """Settings that differ in gamma only, grouped."""
    paths: dict[tuple[int, str], list[Setting]] = {}
    for setting in wanted:
        paths.setdefault((setting.components, setting.towards), []).append(setting)
    return paths


def _origin(scale: Scale, setting: Setting) -> Scale:
    """The scale of the residuals: the anchor has explained the mean."""
    return scale if setting.towards == "zero" else Scale(0.0, scale.beta)

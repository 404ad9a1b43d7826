"""What ADEM learns beside its matrices: in how many components, how strongly drawn, and towards what.

`towards` is what the L1 penalty draws M and N to. With `zero`, the paper's, a coordinate that tells nothing drops out.
With `identity` each matrix is drawn to a multiple of I, which is fitted first: the dot product stays unless the labels
speak against it, which suits encoders whose dot product means something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.errors import NeedsError
from rejoinder.evaluators.adem.solvers import Compared, Descent, Scale, descend, path, solve
from rejoinder.types import Scores

TOWARDS = ("zero", "identity")
COMPONENTS = (7, 20, 50)
"""Those that are tried; the first is adem's, the last roberta-eval's."""
GAMMAS = (0.1, 0.05, 0.02, 0.01)
"""Those that are tried, adem's among them; the largest first, which is quickest."""
FOLDS = 4
_FEWEST_GROUPS = 8
"""Contexts below which nothing is kept aside."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is chosen before the matrices are learned."""

    components: int
    gamma: float
    towards: str

    def __str__(self) -> str:
        return f"{self.components} components, gamma {self.gamma:g}, drawn towards {self.towards}"


@dataclass(frozen=True, eq=False)
class Bilinear:
    """Matrices and the constants of their scale."""

    matrices: Floats  # (sides, n, n)
    scale: Scale

    def scores(self, compared: Compared) -> Scores:
        """The score of each reply."""
        return self.scale.scores(compared.products(self.matrices))


def learned(compared: Compared, setting: Setting, *, tolerance: float = 1e-4) -> Bilinear:
    """The matrices of the least loss."""
    anchor, shifted, scale = anchored(compared.first(setting.components), setting.towards)
    return Bilinear(anchor + solve(shifted, _origin(scale, setting), setting.gamma, tolerance=tolerance), scale)


def descended(compared: Compared, valid: Compared | None, setting: Setting, how: Descent, seed: int) -> Bilinear:
    """The matrices by gradient descent, which stops when `valid` gets no better."""
    anchor, shifted, scale = anchored(compared.first(setting.components), setting.towards)
    if valid is not None:
        near = valid.first(setting.components)
        base = Bilinear(anchor, scale).scores(near) if setting.towards == "identity" else np.zeros(len(near))
        valid = replace(near, human=near.human - base)
    start = np.zeros_like(anchor) if setting.towards == "identity" else None
    found = descend(shifted, _origin(scale, setting), setting.gamma, how, seed, valid=valid, start=start)
    return Bilinear(anchor + found, scale)


def anchored(compared: Compared, towards: str) -> tuple[Floats, Compared, Scale]:
    """What M and N are drawn to, the replies with what it leaves to explain, and the scale."""
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
    """The setting of the least squared error on contexts that were not learned from; the first of equals."""
    if len(wanted) == 1:
        return wanted[0]
    fold_of = _folds(groups, seed)
    errors = dict.fromkeys(wanted, 0.0)
    for fold in range(int(fold_of.max()) + 1):
        train, test = (np.flatnonzero(rows) for rows in (fold_of != fold, fold_of == fold))
        for (components, towards), settings in _paths(wanted).items():
            part, held_out = (compared.first(components).take(rows) for rows in (train, test))
            anchor, shifted, scale = anchored(part, towards)
            found = path(shifted, _origin(scale, settings[0]), [setting.gamma for setting in settings])
            for setting, matrices in zip(settings, found, strict=True):
                off = Bilinear(anchor + matrices, scale).scores(held_out) - held_out.human
                errors[setting] += float(off @ off)
    return min(errors, key=errors.__getitem__)


def settings_of(components: int | None, gamma: float | None, towards: str | None, most: int) -> list[Setting]:
    """Every setting that is left open, with at most so many components; one where nothing is."""
    numbers = dict.fromkeys(min(number, most) for number in ((components,) if components else COMPONENTS))
    gammas = GAMMAS if gamma is None else (gamma,)
    return [
        Setting(number, strength, goal)
        for number, goal, strength in product(numbers, (towards,) if towards else TOWARDS, gammas)
    ]


def kept_aside(groups: Ints, seed: int, share: float = 0.15) -> tuple[Ints, Ints]:
    """Rows to learn from and rows to stop by, which share no context; none to stop by where contexts are few."""
    names = np.unique(groups)
    if len(names) < _FEWEST_GROUPS:
        return np.arange(len(groups)), np.empty(0, np.int64)
    aside = np.random.default_rng([seed, 9]).permutation(names)[: max(1, round(share * len(names)))]
    held_out = np.isin(groups, aside)
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def _folds(groups: Ints, seed: int) -> Ints:
    names, code_of = np.unique(groups, return_inverse=True)
    if len(names) < FOLDS:
        raise NeedsError(
            f"{len(names)} contexts are too few to choose settings by: expected {FOLDS}, or components, gamma and "
            "towards given"
        )
    fold_of = np.random.default_rng([seed, 8]).permutation(np.arange(len(names)) % FOLDS)
    chosen_folds: Ints = fold_of[code_of]
    return chosen_folds


def _paths(wanted: Sequence[Setting]) -> dict[tuple[int, str], list[Setting]]:
    """Settings that differ in gamma alone, together."""
    paths: dict[tuple[int, str], list[Setting]] = {}
    for setting in wanted:
        paths.setdefault((setting.components, setting.towards), []).append(setting)
    return paths


def _origin(scale: Scale, setting: Setting) -> Scale:
    """The scale of what is left to explain: the anchor has taken up the level."""
    return scale if setting.towards == "zero" else Scale(0.0, scale.beta)

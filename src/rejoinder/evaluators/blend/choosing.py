"""Cross-validation of a blend's models, and the choice of one.

Rows are held out by whole contexts, or by whole sets, which shows what to expect of data unlike all that was labelled.
The models are ridge regression, boosted trees, and the mean of both. For the agreement that is reported, the choice for
each fold is made on the other folds: no figure was maximised on the rows that it is measured on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.errors import NeedsError
from rejoinder.evaluators.blend.agreement import mean_agreement
from rejoinder.evaluators.blend.labelled import Labelled
from rejoinder.evaluators.blend.ridge import Ridge
from rejoinder.evaluators.blend.trees import Trees
from rejoinder.learning.splits import fold_of_groups

KINDS = ("ridge", "trees")
HOLD_OUT = ("contexts", "sets")
_FOLDS = 5


@dataclass(frozen=True)
class Models:
    """Fitted models; a prediction is the mean of theirs."""

    ridge: Ridge | None = None
    trees: Trees | None = None

    @classmethod
    def fit(cls, data: Labelled, kinds: Sequence[str], hold_out: str, seed: int) -> Models:
        """Models of these kinds, fitted on all rows."""
        ridge = trees = None
        if "ridge" in kinds:
            folds = folds_of(data, hold_out, seed + 1)
            ridge = Ridge.fit(data.columns, data.target, data.weights, data.sets, folds)
        if "trees" in kinds:
            trees = Trees.fit(data.columns, data.target, data.weights, seed)
        return cls(ridge, trees)

    def predict(self, columns: Floats) -> Floats:
        """One prediction per row, in standard deviations of human scores."""
        mean: Floats = np.mean([model.predict(columns) for model in (self.ridge, self.trees) if model], axis=0)
        return mean


@dataclass(frozen=True)
class Choice:
    """The kinds of model that agree best with people, and predictions that no fold had a part in."""

    kinds: tuple[str, ...]
    held_out: Floats
    """Out-of-fold predictions; the kinds for each fold were chosen on the others. (rows,)"""
    chosen: Floats
    """Out-of-fold predictions of the kinds that were chosen on all folds. (rows,)"""


def folds_of(data: Labelled, hold_out: str, seed: int) -> Ints:
    """The fold of each row. With one set, or two, whole sets cannot be held out of the inner choice."""
    _, sets = np.unique(data.sets, return_inverse=True)
    if hold_out == "sets" and sets.max() >= 1:
        return sets.astype(np.int64)
    return fold_of_groups(data.groups, min(_FOLDS, len(np.unique(data.groups))), seed)


def choose(data: Labelled, kinds: Sequence[str], hold_out: str, seed: int) -> Choice:
    """Fit on all folds but one, in turn, and choose between the kinds and their mean."""
    if hold_out == "sets" and len(np.unique(data.sets)) < 3:
        raise NeedsError("holding out whole sets needs at least three judged sets")
    if len(np.unique(data.groups)) < 2 * _FOLDS:
        raise NeedsError(f"{len(np.unique(data.groups))} contexts are too few for a blend: expected {2 * _FOLDS}")
    folds = folds_of(data, hold_out, seed)
    predicted = {kind: held_out_predictions(data, (kind,), hold_out, seed) for kind in kinds}
    choices = [(kind,) for kind in kinds] + ([tuple(kinds)] if len(kinds) > 1 else [])
    columns = {each: np.mean([predicted[kind] for kind in each], axis=0) for each in choices}
    held_out = np.empty(len(folds))
    for fold in np.unique(folds):
        here, others = folds == fold, folds != fold
        held_out[here] = columns[_best(columns, data.rows(others), others)][here]
    best = _best(columns, data, np.ones(len(folds), np.bool_))
    return Choice(best, held_out, columns[best])


def held_out_predictions(data: Labelled, kinds: tuple[str, ...], hold_out: str, seed: int) -> Floats:
    """For each row the prediction of models that were fitted without its fold. (rows,)"""
    folds, predicted = folds_of(data, hold_out, seed), np.empty(len(data.human))
    for fold in np.unique(folds):
        models = Models.fit(data.rows(folds != fold), kinds, hold_out, seed)
        predicted[folds == fold] = models.predict(data.columns[folds == fold])
    return predicted


def _best(columns: dict[tuple[str, ...], Floats], data: Labelled, rows: Bools) -> tuple[str, ...]:
    return max(columns, key=lambda each: mean_agreement(columns[each][rows], data.human, data.sets))

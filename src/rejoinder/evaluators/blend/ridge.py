"""Ridge regression over columns that may have gaps.

    score = sum of weight * (column - centre) / spread, + missing weight where a column has no value

A column is limited to the values that it had in the fit, so that odd input cannot move a score without limit. Human
scores of different sets are joined by their order within a set, so that only differences within a set can be learned:
columns are centred within each set for the fit. How strongly weights are shrunk is decided by cross-validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.loading.array_schema import Array

SHRINKAGE = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Penalties that are tried, relative to the variance of a column."""


@dataclass(frozen=True, eq=False)
class Ridge:
    """A fitted linear model; each field is (columns,)."""

    centre: Floats
    spread: Floats
    low: Floats
    high: Floats
    weight: Floats
    missing: Floats
    """What a missing value adds."""

    @classmethod
    def fit(cls, columns: Floats, target: Floats, weights: Floats, sets: Ints, folds: Ints) -> Ridge:
        """Weights for all rows, with the shrinkage that predicts each of the folds best from the others."""
        scaling = _scaling(columns, sets)
        design = _design(columns, *scaling)
        errors = np.zeros(len(SHRINKAGE))
        for fold in np.unique(folds):
            held, rest = folds == fold, folds != fold
            found = _solutions(design[rest], target[rest], weights[rest], sets[rest])
            predicted = _centred(design[held], weights[held], sets[held]) @ found  # (held, shrinkages)
            wanted = _centred(target[held, None], weights[held], sets[held])
            errors += weights[held] @ (predicted - wanted) ** 2
        found = _solutions(design, target, weights, sets)[:, int(np.argmin(errors))]
        weight, missing = np.split(found, 2)
        return cls(*scaling, weight, missing)

    def predict(self, columns: Floats) -> Floats:
        """One prediction per row. (rows, columns) -> (rows,)"""
        predicted: Floats = _design(columns, self.centre, self.spread, self.low, self.high) @ np.concatenate(
            [self.weight, self.missing]
        )
        return predicted

    @property
    def arrays(self) -> dict[str, Floats]:
        """By name, for saving."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def saved(cls) -> dict[str, Array]:
        """What the saved arrays must be like."""
        return {field.name: Array("f", ("columns",)) for field in fields(cls)}

    @classmethod
    def of(cls, arrays: Mapping[str, Any]) -> Ridge:
        """From saved arrays."""
        return cls(*(arrays[field.name] for field in fields(cls)))


def _scaling(columns: Floats, sets: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean, deviation within sets, lowest and highest value of each column; one without values is constantly 0."""
    filled = np.where((~np.isnan(columns)).any(0), columns, 0.0)
    centre = np.nanmean(filled, 0)
    whole = np.where(np.isnan(filled), centre, filled)
    spread = _centred(whole, np.ones(len(whole)), sets).std(0)
    return centre, np.where(spread > 1e-9, spread, 1.0), np.nanmin(filled, 0), np.nanmax(filled, 0)


def _design(columns: Floats, centre: Floats, spread: Floats, low: Floats, high: Floats) -> Floats:
    """Standardised columns with 0 for gaps, and after them one column per gap. (rows, 2 * columns)"""
    gaps = np.isnan(columns)
    standard = np.where(gaps, 0.0, (np.clip(columns, low, high) - centre) / spread)
    return np.concatenate([standard, gaps.astype(np.float64)], axis=1)


def _solutions(design: Floats, target: Floats, weights: Floats, sets: Ints) -> Floats:
    """The weights for each shrinkage. (2 * columns, shrinkages)"""
    centred, wanted = _centred(design, weights, sets), _centred(target[:, None], weights, sets)
    gram = centred.T @ (weights[:, None] * centred) / weights.sum()
    moment = centred.T @ (weights[:, None] * wanted) / weights.sum()
    values, vectors = np.linalg.eigh(gram)
    turned = vectors.T @ moment  # (2 * columns, 1)
    solved: Floats = vectors @ (turned / (np.maximum(values, 0.0)[:, None] + np.array(SHRINKAGE)))
    return solved


def _centred(columns: Floats, weights: Floats, sets: Ints) -> Floats:
    """The columns minus their weighted mean in each set."""
    _, code = np.unique(sets, return_inverse=True)
    total = np.bincount(code, weights=weights)
    means = np.stack([np.bincount(code, weights=weights * column) / total for column in columns.T], axis=1)
    return columns - means[code]

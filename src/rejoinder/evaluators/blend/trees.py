"""Boosted regression trees (Friedman 2001, "Greedy function approximation"), kept as arrays.

scikit-learn grows the trees; a saved model is evaluated in numpy alone. A missing value goes to the side that was
better when the tree was grown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.learning.extras import require_extra
from rejoinder.loading.array_schema import Array

TREES = 100
DEPTH = 3
RATE = 0.07
"""The share of each tree's prediction that is added."""
ROWS = 0.6
"""The share of rows that each tree is grown on."""
COLUMNS = 0.5
"""The share of columns that each split may use."""
_LEAST_LEAF = 5
_LEAF_SHARE = 0.02


@dataclass(frozen=True, eq=False)
class Trees:
    """Fitted trees; each field is (trees, nodes). Nodes that do not exist are filled with zeros."""

    column: Ints
    threshold: Floats
    left: Ints
    """The node to go to for values up to the threshold; -1 at a leaf."""
    right: Ints
    missing_left: NDArray[np.bool_]
    value: Floats
    """What a leaf adds to the prediction."""

    @classmethod
    def fit(cls, columns: Floats, target: Floats, weights: Floats, seed: int) -> Trees:
        """Trees that each predict what those before left over."""
        require_extra("train", "growing regression trees")
        from sklearn.tree import DecisionTreeRegressor

        rng = np.random.default_rng([seed, 19])
        rows, left_over, grown = columns.astype(np.float32), target.astype(np.float64), []
        leaf = max(_LEAST_LEAF, round(_LEAF_SHARE * len(target)))
        for number in range(TREES):
            drawn = np.flatnonzero(rng.random(len(target)) < ROWS)
            if len(drawn) < 2 * leaf:
                break
            tree = DecisionTreeRegressor(
                max_depth=DEPTH, min_samples_leaf=leaf, max_features=COLUMNS, random_state=seed * TREES + number
            ).fit(rows[drawn], left_over[drawn], sample_weight=weights[drawn])
            grown.append(tree.tree_)
            left_over = left_over - RATE * tree.tree_.predict(rows).ravel()
        return cls._of_grown(grown)

    @classmethod
    def _of_grown(cls, grown: list[Any]) -> Trees:
        nodes = max((tree.node_count for tree in grown), default=1)

        def stacked(values: list[NDArray[Any]], dtype: type) -> NDArray[Any]:
            table = np.zeros((len(values), nodes), dtype)
            for row, value in zip(table, values, strict=True):
                row[: len(value)] = value
            return table

        return cls(
            stacked([np.maximum(tree.feature, 0) for tree in grown], np.int64),
            stacked([tree.threshold for tree in grown], np.float64),
            stacked([tree.children_left for tree in grown], np.int64),
            stacked([tree.children_right for tree in grown], np.int64),
            stacked([tree.missing_go_to_left.astype(bool) for tree in grown], np.bool_),
            stacked([RATE * tree.value[:, 0, 0] for tree in grown], np.float64),
        )

    def predict(self, columns: Floats) -> Floats:
        """One prediction per row. (rows, columns) -> (rows,)"""
        rows = columns.astype(np.float32)  # as in growing, so that values at a threshold go the same way
        every, tree = np.arange(len(rows))[:, None], np.arange(len(self.left))[None, :]
        node = np.zeros((len(rows), len(self.left)), np.int64)
        for _ in range(DEPTH):
            value = rows[every, self.column[tree, node]]
            goes_left = np.where(np.isnan(value), self.missing_left[tree, node], value <= self.threshold[tree, node])
            after = np.where(goes_left, self.left[tree, node], self.right[tree, node])
            node = np.where(self.left[tree, node] < 0, node, after)
        predicted: Floats = self.value[tree, node].sum(1)
        return predicted

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """By name, for saving."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def saved(cls, columns: int, nodes: int) -> dict[str, Array]:
        """What the saved arrays of trees with so many nodes must be like."""
        shape = ("trees", "nodes")
        node = Array("i", shape, low=-1, high=nodes - 1)
        return {
            "column": Array("i", shape, low=0, high=columns - 1),
            "threshold": Array("f", shape),
            "left": node,
            "right": node,
            "missing_left": Array("b", shape),
            "value": Array("f", shape),
        }

    @classmethod
    def of(cls, arrays: Mapping[str, Any]) -> Trees:
        """From saved arrays."""
        return cls(*(arrays[field.name] for field in fields(cls)))

"""The models of a blend, the choice between them by cross-validation, and the report on what was found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.errors import NeedsError
from rejoinder.evaluators.blend.columns import LENGTH, LabelledRows
from rejoinder.evaluators.blend.pairs import PairRows
from rejoinder.folders.array_schema import Array
from rejoinder.folders.sources import require_extra
from rejoinder.learning.data import fold_of_groups
from rejoinder.options import RESAMPLES
from rejoinder.show.text import grid, interval_text, number_text
from rejoinder.stats.correlation import spearman
from rejoinder.stats.correlation_intervals import correlation_replicates
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.stats.resampling import mean_interval

# Ridge regression over columns that may have gaps.
#
#     score = sum of weight * (column - centre) / spread, + missing weight where a column has no value
#
# A column is limited to the values that it had in the fit, so that odd input cannot move a score without limit. Human
# scores of different sets are joined by their order within a set, so that only differences within a set can be learned:
# columns are centred within each set for the fit. How strongly weights are shrunk is decided by cross-validation.


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
    def fit(
        cls, columns: Floats, target: Floats, weights: Floats, sets: Ints, folds: Ints, pairs: PairRows | None = None
    ) -> Ridge:
        """Weights for all rows and pairs, with the shrinkage that predicts each fold of the rows best from the rest."""
        scaling = _scaling(*_with_pairs(columns, sets, pairs))
        design = _design(columns, *scaling)
        differences = None
        if pairs is not None:
            differences = _design(pairs.first, *scaling) - _design(pairs.second, *scaling)
        errors = np.zeros(len(SHRINKAGE))
        for fold in np.unique(folds):
            held, rest = folds == fold, folds != fold
            found = _solutions(design[rest], target[rest], weights[rest], sets[rest], differences, pairs)
            predicted = _centred(design[held], weights[held], sets[held]) @ found  # (held, shrinkages)
            wanted = _centred(target[held, None], weights[held], sets[held])
            errors += weights[held] @ (predicted - wanted) ** 2
        found = _solutions(design, target, weights, sets, differences, pairs)[:, int(np.argmin(errors))]
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


def _with_pairs(columns: Floats, sets: Ints, pairs: PairRows | None) -> tuple[Floats, Ints]:
    """The columns of rows and of both replies of each pair, and their sets."""
    if pairs is None:
        return columns, sets
    both = np.tile(pairs.sets + sets.max() + 1, 2)
    return np.concatenate([columns, pairs.both]), np.concatenate([sets, both])


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


def _solutions(
    design: Floats, target: Floats, weights: Floats, sets: Ints, differences: Floats | None, pairs: PairRows | None
) -> Floats:
    """The weights for each shrinkage. (2 * columns, shrinkages)"""
    centred, wanted = _centred(design, weights, sets), _centred(target[:, None], weights, sets)
    if differences is not None and pairs is not None:
        # A pair is a row of its own: its columns are differences, which need no centring.
        centred, wanted = np.concatenate([centred, differences]), np.concatenate([wanted, pairs.wanted[:, None]])
        weights = np.concatenate([weights, pairs.weights])
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


# Boosted regression trees (Friedman 2001, "Greedy function approximation"), kept as arrays.
#
# scikit-learn grows the trees; a saved model is evaluated in numpy alone. A missing value goes to the side that was
# better when the tree was grown.


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
    def fit(cls, columns: Floats, target: Floats, weights: Floats, seed: int, pairs: PairRows | None = None) -> Trees:
        """Trees that each predict what those before left over; of a pair each reply is to predict half of it."""
        require_extra("train", "growing regression trees")
        from sklearn.tree import DecisionTreeRegressor

        rng = np.random.default_rng([seed, 19])
        count, grown = len(target), list[Any]()
        if pairs is not None:
            columns, target = (
                np.concatenate([columns, pairs.both]),
                np.concatenate([target, np.zeros(2 * len(pairs.sets))]),
            )
            weights = np.concatenate([weights, pairs.weights, pairs.weights])
        rows, predicted = columns.astype(np.float32), np.zeros(len(target))
        leaf = max(_LEAST_LEAF, round(_LEAF_SHARE * len(target)))
        for number in range(TREES):
            left_over = target - predicted
            if pairs is not None:
                first, second = np.split(predicted[count:], 2)
                half = (pairs.wanted - (first - second)) / 2
                left_over[count:] = np.concatenate([half, -half])
            drawn = np.flatnonzero(rng.random(len(target)) < ROWS)
            if len(drawn) < 2 * leaf:
                break
            tree = DecisionTreeRegressor(
                max_depth=DEPTH, min_samples_leaf=leaf, max_features=COLUMNS, random_state=seed * TREES + number
            ).fit(rows[drawn], left_over[drawn], sample_weight=weights[drawn])
            grown.append(tree.tree_)
            predicted = predicted + RATE * tree.tree_.predict(rows).ravel()
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


# Cross-validation of a blend's models, and the choice of one.
#
# Rows are held out by whole contexts, or by whole sets, which shows what to expect of data unlike all that was
# labelled. The models are ridge regression, boosted trees, and the mean of both. For the agreement that is reported,
# the choice for each fold is made on the other folds: no figure was maximised on the rows that it is measured on.


MODEL_KINDS = ("ridge", "trees")
HOLD_OUT = ("contexts", "sets")
_FOLDS = 5


@dataclass(frozen=True)
class BlendModels:
    """Fitted models; a prediction is the mean of theirs."""

    ridge: Ridge | None = None
    trees: Trees | None = None

    @classmethod
    def fit(cls, data: LabelledRows, kinds: Sequence[str], hold_out: str, seed: int) -> BlendModels:
        """Models of these kinds, fitted on all rows."""
        ridge = trees = None
        if "ridge" in kinds:
            folds = folds_of(data, hold_out, seed + 1)
            ridge = Ridge.fit(data.columns, data.target, data.weights, data.sets, folds, data.pairs)
        if "trees" in kinds:
            trees = Trees.fit(data.columns, data.target, data.weights, seed, data.pairs)
        return cls(ridge, trees)

    def predict(self, columns: Floats) -> Floats:
        """One prediction per row, in standard deviations of ratings."""
        mean: Floats = np.mean([model.predict(columns) for model in (self.ridge, self.trees) if model], axis=0)
        return mean


@dataclass(frozen=True)
class ModelChoice:
    """The kinds of model that agree best with people, and predictions that no fold had a part in."""

    kinds: tuple[str, ...]
    held_out: Floats
    """Out-of-fold predictions; the kinds for each fold were chosen on the others. (rows,)"""
    chosen: Floats
    """Out-of-fold predictions of the kinds that were chosen on all folds. (rows,)"""


def folds_of(data: LabelledRows, hold_out: str, seed: int) -> Ints:
    """The fold of each row. With one set, or two, whole sets cannot be held out of the inner choice."""
    _, sets = np.unique(data.sets, return_inverse=True)
    if hold_out == "sets" and sets.max() >= 1:
        return sets.astype(np.int64)
    return fold_of_groups(data.groups, min(_FOLDS, len(np.unique(data.groups))), seed)


def choose_models(data: LabelledRows, kinds: Sequence[str], hold_out: str, seed: int) -> ModelChoice:
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
    return ModelChoice(best, held_out, columns[best])


def held_out_predictions(data: LabelledRows, kinds: tuple[str, ...], hold_out: str, seed: int) -> Floats:
    """For each row the prediction of models that were fitted without its fold. (rows,)"""
    folds, predicted = folds_of(data, hold_out, seed), np.empty(len(data.human))
    for fold in np.unique(folds):
        models = BlendModels.fit(data.rows(folds != fold), kinds, hold_out, seed)
        predicted[folds == fold] = models.predict(data.columns[folds == fold])
    return predicted


def _best(columns: dict[tuple[str, ...], Floats], data: LabelledRows, rows: Bools) -> tuple[str, ...]:
    return max(columns, key=lambda each: mean_agreement(columns[each][rows], data.human, data.sets))


# Spearman's correlation with people, averaged over sets, with intervals that resample contexts.


def mean_agreement(scores: Floats, human: Floats, sets: Ints) -> float:
    """The mean over sets of the correlation; sets in which it is unknown are left out."""
    found = [spearman(scores[sets == each], human[sets == each]).coefficient for each in np.unique(sets)]
    known = [value for value in found if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def agreement_replicates(scores: Floats, human: Floats, sets: Ints, groups: Ints, resamples: int = RESAMPLES) -> Floats:
    """The mean over sets of each column's correlation, in each resample of contexts. (resamples, columns)"""
    found = []
    for each in np.unique(sets):
        rows = sets == each
        drawn = correlation_replicates(
            scores[rows], human[rows], groups[rows], resamples, seed=int(each), kinds=["spearman"]
        )["spearman"]
        found.append(drawn)
    mean: Floats = np.mean(found, axis=0)
    return mean


def compared(first: Floats, second: Floats, human: Floats, sets: Ints, groups: Ints) -> tuple[Interval, Interval]:
    """The agreement of the second column, and by how much it exceeds that of the first."""
    known = ~np.isnan(first) & ~np.isnan(second)
    both = np.stack([first, second], axis=1)[known]
    human, sets, groups = human[known], sets[known], groups[known]
    of_first, of_second = (mean_agreement(column, human, sets) for column in both.T)
    drawn = agreement_replicates(both, human, sets, groups)
    contexts = len(np.unique(groups))
    return (
        bootstrap_bounds(drawn[:, 1], of_second, contexts),
        bootstrap_bounds(drawn[:, 1] - drawn[:, 0], of_second - of_first, contexts),
    )


# What was found when a blend was fitted: agreement with people, what each member adds, and in which direction.


_RISE = (25.0, 75.0)
"""A member's score is raised from the first to the second of these percentiles for the check of its direction."""


@dataclass(frozen=True)
class SetLine:
    """Agreement on one set, or on average; Spearman's correlation."""

    name: str
    replies: int
    contexts: int
    blend: Interval
    """Of out-of-fold predictions."""
    best: str
    """The member that agrees best here."""
    best_agreement: float
    gain: Interval
    """By how much the blend exceeds that member."""


@dataclass(frozen=True)
class MemberLine:
    """What one member contributes."""

    name: str
    alone: float
    """Its own agreement, averaged over sets."""
    adds: Interval
    """By how much the blend agrees better with it than without it, fitted anew."""
    rising: float
    """The share of replies whose score rises when only this member's score does."""


@dataclass(frozen=True)
class PairLine:
    """How often the preferred reply of a file's pairs has the higher score, by fits without its context."""

    name: str
    pairs: int
    right: Interval
    longer: float | None
    """How often the preferred reply is the longer one; None where lengths are not counted."""


@dataclass(frozen=True)
class BlendFigures:
    """Everything that is known about the fit."""

    kinds: tuple[str, ...]
    hold_out: str
    sets: tuple[SetLine, ...]
    """One per set, and the average last if there are several."""
    members: tuple[MemberLine, ...]
    pairs: tuple[PairLine, ...] = ()
    """One per file of preferences."""
    leaks: tuple[str, ...] = ()
    """Members that were trained on contexts of the judged replies."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        plain: dict[str, Any] = asdict(self)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> BlendFigures:
        """From plain values."""
        sets = [
            SetLine(**{**line, "blend": Interval(**line["blend"]), "gain": Interval(**line["gain"])})
            for line in plain["sets"]
        ]
        members = [MemberLine(**{**line, "adds": Interval(**line["adds"])}) for line in plain["members"]]
        pairs = [PairLine(**{**line, "right": Interval(**line["right"])}) for line in plain.get("pairs", ())]
        leaks = tuple(plain.get("leaks", ()))
        return cls(tuple(plain["kinds"]), plain["hold_out"], tuple(sets), tuple(members), tuple(pairs), leaks)

    def __str__(self) -> str:
        held = "five folds of contexts" if self.hold_out == "contexts" else "one set held out at a time"
        rows = [
            [
                line.name,
                str(line.replies),
                interval_text(line.blend, 2),
                f"{number_text(line.best_agreement, 2)} {line.best}",
                interval_text(line.gain, 2, sign=True),
            ]
            for line in self.sets
        ]
        parts = [
            [line.name, number_text(line.alone, 2), interval_text(line.adds, 3, sign=True), f"{line.rising:.0%}"]
            for line in self.members
        ]
        return "\n".join(
            [
                f"model: {' and '.join(self.kinds)}; Spearman correlation with people, {held}",
                grid(["judged set", "replies", "blend", "best member", "gain"], rows),
                "",
                grid(["member", "alone", "adds to the blend", "score rises with it"], parts),
                *self._of_pairs(),
                *self.warnings(),
            ]
        )

    def _of_pairs(self) -> list[str]:
        if not self.pairs:
            return []
        rows = [
            [
                line.name,
                str(line.pairs),
                interval_text(line.right, 2),
                "-" if line.longer is None else number_text(line.longer, 2),
            ]
            for line in self.pairs
        ]
        return ["", grid(["pairs", "number", "preferred reply higher", "preferred reply longer"], rows)]

    def warnings(self) -> list[str]:
        """What a reader should not overlook."""
        found = [f"note: {leak}" for leak in self.leaks]
        found += [
            f"note: where {line.name} is higher, the blend is lower for {1 - line.rising:.0%} of the replies"
            for line in self.members
            if line.rising < 0.5
        ]
        if self.sets[-1].gain.low <= 0:
            found.append(
                f"note: the blend is not significantly better than its best member, {self.sets[-1].best}: "
                "more labels or other members may help"
            )
        return found


def report_on(
    data: LabelledRows,
    choice: ModelChoice,
    models: BlendModels,
    members: Sequence[str],
    sets: Sequence[str],
    pairs: Sequence[str] = (),
    *,
    hold_out: str,
    seed: int,
) -> BlendFigures:
    """The report on a fit."""
    alone = {place: name for place, name in enumerate(data.names) if name in members}
    lines = [
        _line(name, data.rows(data.sets == each), choice.held_out[data.sets == each], alone)
        for each, name in enumerate(sets)
    ]
    if len(sets) > 1:
        lines.append(_line("mean", data, choice.held_out, alone))
    contributions = []
    for place, name in enumerate(members):
        less = data.without(place)
        without = held_out_predictions(less, choice.kinds, hold_out, seed) if less.names else np.zeros(len(data.human))
        _, adds = compared(without, choice.chosen, data.human, data.sets, data.groups)
        column = data.names.index(name)
        contributions.append(
            MemberLine(
                name,
                mean_agreement(_filled(data.columns[:, column]), data.human, data.sets),
                adds,
                _rising(models, data.columns, column),
            )
        )
    return BlendFigures(
        choice.kinds, hold_out, tuple(lines), tuple(contributions), _pair_lines(data, choice, pairs, seed)
    )


def _pair_lines(data: LabelledRows, choice: ModelChoice, names: Sequence[str], seed: int) -> tuple[PairLine, ...]:
    """How often the pairs of each file are in order, predicted by fits without their contexts."""
    if data.pairs is None:
        return ()
    right = held_out_pairs(data, data.pairs, choice.kinds, seed)
    length = data.names.index(LENGTH) if LENGTH in data.names else None
    lines = []
    for number, name in enumerate(names):
        mine = (data.pairs.sets == number) & ~np.isnan(right)
        longer = None
        if length is not None:
            part = data.pairs.rows(mine)
            longer = float(np.mean(part.in_order(part.first[:, length], part.second[:, length])))
        interval = mean_interval(right[mine], data.pairs.groups[mine])
        if math.isnan(interval.low):  # a single context says nothing about others
            interval = replace(interval, low=0.0, high=1.0)
        lines.append(PairLine(name, int(mine.sum()), interval, longer))
    return tuple(lines)


def held_out_pairs(data: LabelledRows, pairs: PairRows, kinds: tuple[str, ...], seed: int) -> Floats:
    """For each pair whether models fitted without its context put it in order; NaN where people preferred neither."""
    right = np.empty(len(pairs.sets))
    folds = fold_of_groups(pairs.groups, min(_FOLDS, len(np.unique(pairs.groups))), seed)
    for fold in np.unique(folds):
        held = folds == fold
        models = BlendModels.fit(replace(data, pairs=pairs.rows(~held)), kinds, "contexts", seed)
        part = pairs.rows(held)
        right[held] = part.in_order(models.predict(part.first), models.predict(part.second))
    return right


def _line(name: str, data: LabelledRows, held_out: Floats, alone: Mapping[int, str]) -> SetLine:
    agreements = {place: mean_agreement(_filled(data.columns[:, place]), data.human, data.sets) for place in alone}
    best = max(agreements, key=lambda place: np.nan_to_num(agreements[place], nan=-1.0))
    blend, gain = compared(_filled(data.columns[:, best]), held_out, data.human, data.sets, data.groups)
    return SetLine(name, len(held_out), len(np.unique(data.groups)), blend, alone[best], agreements[best], gain)


def _filled(column: Floats) -> Floats:
    """A column with its mean in place of gaps, so that it is compared on the same replies as the blend."""
    return np.where(np.isnan(column), np.nanmean(column) if not np.isnan(column).all() else 0.0, column)


def _rising(models: BlendModels, columns: Floats, place: int) -> float:
    """The share of rows whose prediction does not fall when one column rises."""
    if np.isnan(columns[:, place]).all():
        return 1.0
    low, high = np.nanpercentile(columns[:, place], _RISE)
    raised, lowered = columns.copy(), columns.copy()
    raised[:, place], lowered[:, place] = high, low
    return float(np.mean(models.predict(raised) >= models.predict(lowered)))

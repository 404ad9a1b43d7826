"""AM-FM (D'Haro et al. 2019): the evaluator and its weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Floats
from rejoinder.errors import CallError, DataError, NeedsError, UnknownNameError
from rejoinder.evaluators.am_fm_parts import (
    AM_FM_PAPER,
    Am,
    FluencyModel,
    FluencySettings,
    Fm,
    SemanticSpace,
    adequacy,
    likeness,
    load_fluency,
    load_space,
    pretrained_name,
    save_space,
    with_digest,
)
from rejoinder.evaluators.base import Evaluator, EvaluatorFit, Use
from rejoinder.evaluators.calibration import OVERFLOW
from rejoinder.folders.schema import CONFIG, checked_member
from rejoinder.learning.data import TrainingData, labels
from rejoinder.metrics.base import Metric, TextMetric, check_choice
from rejoinder.metrics.batch import BATCH, Batch, encodable
from rejoinder.metrics.pragmatic import brief, component, shares
from rejoinder.registry import SHIPPED_EVALUATORS, check_portable
from rejoinder.specs import parse_spec
from rejoinder.types import Example, Scores

# The evaluator AM-FM (D'Haro et al. 2019), optionally with a pragmatic component (PM).
#
#     score = lambda * AM + (1 - lambda) * FM
#
# Adequacy and fluency are learned from plain sentences; lambda is given, or learned from ratings.


NONE = "none"
PARTS = ("am", "fm")
PM = "pm"
"""The subfolder that the evaluator behind PM is saved in."""


@dataclass(frozen=True, kw_only=True)
class AmFm(FluencySettings, Evaluator, TextMetric):
    """A weighted mean of adequacy (AM), fluency (FM) and, if named, a pragmatic component (PM)."""

    name: ClassVar[str] = "am-fm"
    measures: ClassVar[str] = "adequacy and fluency of a reply compared with references"
    citation: ClassVar[str] = AM_FM_PAPER
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = f"no references, none with a known word, or {OVERFLOW}"
    labels: ClassVar[Use] = "optional"
    dialogues: ClassVar[Use] = "needed"
    reads_sentences: ClassVar[bool] = True

    dimensions: int = 10
    """Dimensions of the semantic space."""
    am_refs: str = "max"
    """With several references: the max or the mean of AM, or AM with their centroid."""
    fm_refs: str = "max"
    """The same for FM."""
    mean: str = "arithmetic"
    """How AM and FM are averaged: arithmetic, geometric or harmonic."""
    weight: float = 0.8
    """Lambda, the weight of AM against FM, unless it is fitted."""
    pm: str = NONE
    """A metric, or the folder of an evaluator, that measures how well a reply fits its context."""
    pm_weight: float = 0.2
    """The weight of PM against AM and FM together, if there is a PM."""
    fit_weight: str = "no"
    """Fit the weights to ratings, for the best correlation over replies or over systems."""
    dimension: str = "auto"
    """The dimension of the ratings to fit the weights to; auto: the only one, or the one called overall."""

    space_: SemanticSpace = field(init=False, repr=False, compare=False)
    model_: FluencyModel = field(init=False, repr=False, compare=False)
    weights_: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "mean", MEANS)
        check_choice(self, "fit_weight", LEVELS)
        for key in ("weight", "pm_weight"):
            if not 0 <= getattr(self, key) <= 1:
                raise CallError(f"{self.name}: {key} must be from 0 to 1, not {getattr(self, key)}")
        _ = self._am, self._fm, self.pragmatic  # each checks its own parameters

    @property
    def pretrained_names(self) -> tuple[tuple[str, str], ...]:
        """The language model, if it is pretrained."""
        return pretrained_name(self.lm)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The semantic space, the language model, and the weights of the parts."""
        learned = {**self._am.learn(data), **self._fm.learn(data)}
        weights = self.given_weights
        if self.fit_weight != "no":
            weights = self._learned_weights(data, learned)
        return {**learned, "weights_": weights}

    def _learned_weights(self, data: TrainingData, learned: Mapping[str, Any]) -> NDArray[np.float64]:
        if not data.judged:
            raise NeedsError(f"{self.name}: fit_weight={self.fit_weight} needs judged examples")
        examples, human = labels(data.judged, None if self.dimension == "auto" else self.dimension)
        parts = np.concatenate([self._parts(batch, learned) for batch in batches(examples)])
        systems = np.array([example.system for example in examples]) if self.fit_weight == "systems" else None
        return fitted_weights(parts, human, systems, self.mean)

    def predict(self, batch: Batch) -> Scores:
        """One score per example, from 0 to 1."""
        learned = {"space_": self.space_, "model_": self.model_}
        return weighted_row_means(self._parts(batch, learned, self.weights_ > 0), self.weights_, self.mean)

    def _parts(
        self, batch: Batch, learned: Mapping[str, Any], used: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """AM, FM and, if there is one, PM of each example; NaN for parts that are not used. (examples, parts)"""
        batch = encodable(batch)
        parts = np.full((len(batch), len(self.given_weights)), np.nan)
        wanted = np.ones(parts.shape[1], np.bool_) if used is None else used
        if wanted[0]:
            parts[:, 0] = adequacy(batch, learned["space_"], self.text, self.am_refs)
        if wanted[1]:
            refs = self.fm_refs if self.fluency == "relative" else "none"
            parts[:, 1] = likeness(batch, learned["model_"], self.text, refs)
        if self.pragmatic is not None and wanted[2]:
            parts[:, 2] = shares(self.pragmatic, batch)
        return parts

    @property
    def given_weights(self) -> NDArray[np.float64]:
        """The weights of AM, FM and, if there is one, PM by the parameters."""
        both = np.array([self.weight, round(1 - self.weight, 12)])
        return both if self.pm == NONE else np.array([*both * (1 - self.pm_weight), self.pm_weight])

    @cached_property
    def pragmatic(self) -> Metric | None:
        """The metric behind PM."""
        return None if self.pm == NONE else component(self.pm)

    @property
    def am(self) -> Am:
        """Adequacy alone, with what this evaluator has learned."""
        part = self._am
        part._remember({"space_": self.space_}, self._own_fit)
        return part

    @property
    def fm(self) -> Fm:
        """Fluency alone, with what this evaluator has learned."""
        part = self._fm
        part._remember({"model_": self.model_}, self._own_fit)
        return part

    @property
    def _own_fit(self) -> EvaluatorFit:
        """What it was fitted on, without its calibration, which holds for its own mean only."""
        return replace(self.fitted, calibration=None)

    @property
    def _am(self) -> Am:
        return Am(dimensions=self.dimensions, refs=self.am_refs, **self._shared)

    @property
    def _fm(self) -> Fm:
        own = {each.name: getattr(self, each.name) for each in fields(FluencySettings)}
        return Fm(refs=self.fm_refs, **own, **self._shared)

    @property
    def _shared(self) -> dict[str, Any]:
        return {"tokenise": self.tokenise, "lowercase": self.lowercase, "strip": self.strip}

    @property
    def signature(self) -> str:
        """The parameters and the fit, with the content hashes of models."""
        known = with_digest(super().signature, "lm", self.lm, None if self.fit_ is None else self.model_)
        if self.pragmatic is None:
            return known
        return known.replace(f"|pm:{self.pm}|", f"|pm:{brief(self.pragmatic)}|")

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the space and the n-grams."""
        save_space(self.space_, folder)
        self.model_.save(folder)
        if isinstance(self.pragmatic, Evaluator) and self.pm not in SHIPPED_EVALUATORS:
            self.pragmatic.save(folder / PM)
        elif self.pm != NONE:
            check_portable(*parse_spec(self.pm))
        return {"weights_": self.weights_.tolist()}

    @classmethod
    def saved_parameters(cls, parameters: dict[str, Any], folder: Path) -> dict[str, Any]:
        """With the folder of PM, if there is one, as part of this folder."""
        if (folder / PM).is_dir():
            return parameters | {"pm": str(folder / PM)}
        if isinstance(pm := parameters.get("pm", NONE), str) and pm != NONE:
            check_portable(*parse_spec(pm))
        return parameters

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The space, the language model and the weights of the folder."""
        file = str(folder / CONFIG)
        weights = np.array(checked_member(plain, "weights_", tuple[float, ...], file), np.float64)
        if weights.shape != self.given_weights.shape or (weights < 0).any() or not (weights > 0).any():
            wanted = f"must be {len(self.given_weights)} weights that are not negative"
            raise DataError(wanted, file=file, field="learned.weights_")
        return {"space_": load_space(folder), "model_": load_fluency(self.lm, folder), "weights_": weights}

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        part: str | None = None,
        weight: float | None = None,
        mean: str | None = None,
        pm: str | None = None,
        pm_weight: float | None = None,
    ) -> Any:
        """The evaluator of a folder, with other weights, mean or PM if they are given; or one `part`, am or fm."""
        evaluator = super().load(folder)
        if part is not None:
            if part not in PARTS:
                raise UnknownNameError(f"part of {folder}:", part, PARTS)
            return evaluator.am if part == "am" else evaluator.fm
        given = {"weight": weight, "mean": mean, "pm": pm, "pm_weight": pm_weight}
        changes = {key: value for key, value in given.items() if value is not None}
        return evaluator.with_changes(**changes) if changes else evaluator

    def with_changes(self, **changes: Any) -> Self:
        """A copy with another `weight`, `mean`, `pm` or `pm_weight`."""
        weighted = bool(changes.keys() & {"weight", "pm", "pm_weight"})
        other = replace(self, **(changes | {"fit_weight": "no"} if weighted else changes))
        weights = other.given_weights if weighted else self.weights_
        other._remember({"space_": self.space_, "model_": self.model_, "weights_": weights}, self._own_fit)
        return other


def batches(examples: Sequence[Example]) -> Iterator[Batch]:
    """The examples in batches of the default size."""
    return (Batch(examples[start : start + BATCH]) for start in range(0, len(examples), BATCH))


# Weighted means of AM-FM's parts, and weights fitted to ratings.


MEANS = ("arithmetic", "geometric", "harmonic")
LEVELS = ("no", "replies", "systems")
_FEWEST = 3
"""The smallest number of replies or systems for a correlation."""


def weighted_row_means(parts: Floats, weights: Floats, kind: str) -> Scores:
    """One score per row; parts of weight 0 are ignored. (rows, parts), (parts,) -> (rows,)"""
    used = weights > 0
    values, shares = parts[:, used], weights[used] / weights[used].sum()
    if kind == "arithmetic":
        # Not a matrix product: its last digit may depend on the number of rows.
        mean: Scores = (values * shares).sum(axis=1)
        return mean
    with np.errstate(divide="ignore"):
        if kind == "geometric":
            mean = np.exp((np.log(values) * shares).sum(axis=1))
        else:
            mean = 1 / (shares / values).sum(axis=1)
    return mean


def fitted_weights(parts: Floats, human: Scores, systems: NDArray[np.str_] | None, kind: str) -> Floats:
    """The weights with the highest Pearson correlation with ratings, in steps of .01 (two parts) or .05.

    Over replies, or over system means if systems are given. Of equals, the one with the most weight on the last part.
    """
    known = ~np.isnan(parts).any(axis=1) & ~np.isnan(human)
    parts, human = parts[known], human[known]
    groups = np.arange(len(human)) if systems is None else np.unique(systems[known], return_inverse=True)[1]
    units, what = len(np.unique(groups)), "replies" if systems is None else "systems"
    if units < _FEWEST:
        raise NeedsError(f"cannot fit the weights to {units} judged {what}: expected at least {_FEWEST}")
    grid = _simplex(parts.shape[1])
    target = _means(human, groups)
    found = [_pearson(_means(weighted_row_means(parts, weights, kind), groups), target) for weights in grid]
    if np.isnan(found).all():
        raise NeedsError("cannot fit the weights: all ratings are equal, or all scores of the parts are")
    best: Floats = grid[int(np.nanargmax(found))]
    return best


def _simplex(parts: int) -> Floats:
    """All weights that sum to 1, on a grid. (weights, parts)"""
    steps = 100 if parts == 2 else 20
    ways = [(*head, steps - sum(head)) for head in product(range(steps + 1), repeat=parts - 1) if sum(head) <= steps]
    return np.array(ways, np.float64) / steps


def _means(values: Scores, groups: NDArray[np.int64]) -> Scores:
    means: Scores = np.bincount(groups, values) / np.bincount(groups)
    return means


def _pearson(left: Scores, right: Scores) -> float:
    a, b = left - left.mean(), right - right.mean()
    below = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / below) if below > 0 else float("nan")

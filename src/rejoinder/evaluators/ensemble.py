"""Several metrics as one: the weighted mean of their standardised scores, and how a saved one finds its members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.contexts import TrainedContexts
from rejoinder.data.negatives import Negatives, places_of
from rejoinder.errors import CallError, DataError, shortened
from rejoinder.evaluators.base import Evaluator, Use
from rejoinder.evaluators.calibration import HIGHEST, LOWEST
from rejoinder.folders.schema import CONFIG, checked_member, checked_object, plain_name
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch, encodable, even_batches
from rejoinder.metrics.pragmatic import brief
from rejoinder.registry import build, check_portable, load, load_evaluator
from rejoinder.types import Example, Scores

# Several evaluators and metrics as one: the weighted mean of their standardised scores.


MOST_PLACES = 1000
"""Turns of the dialogues that means and deviations are computed on."""
_LOGISTIC = 1.702
"""The logistic function of this times x is the normal distribution function, to within .01."""


@dataclass(frozen=True, kw_only=True)
class Ensemble(Evaluator):
    """The weighted mean of its members' standardised scores, from 1 to 5.

    Means and deviations are computed on true replies of the dialogues and on as many that do not fit. The normal
    distribution function maps the result to the scale, so that these replies spread over all of it in the same order.
    """

    name: ClassVar[str] = "ensemble"
    measures: ClassVar[str] = "the mean of several evaluators and metrics"
    citation: ClassVar[str] = "standard scores, averaged: common practice"
    cannot_score: ClassVar[str] = "a member could not score it"
    raw_range: ClassVar[tuple[float, float]] = (LOWEST, HIGHEST)
    labels: ClassVar[Use] = "unused"
    dialogues: ClassVar[Use] = "needed"

    members: tuple[str | Metric, ...]
    """Names of metrics, which may have parameters, folders of trained evaluators, or metric objects."""
    weights: tuple[float, ...] = ()
    """One per member; equal unless given."""

    members_: tuple[Metric, ...] = field(init=False, repr=False, compare=False)
    centres_: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    """The mean score of each member, and last that of their weighted mean."""
    spreads_: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    """The standard deviations, in the same order."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        members: object = self.members  # types do not prevent one name in place of a tuple of names
        if isinstance(members, str) or not self.members:
            raise CallError(f"{self.name}: members must be a list of at least one, not {self.members!r}")
        if self.weights and (len(self.weights) != len(self.members) or min(self.weights) <= 0):
            raise CallError(f"{self.name}: weights must be above 0, one per member, not {self.weights}")

    @property
    def parameters(self) -> dict[str, Any]:
        """With the names of members that were given as objects."""
        return {**super().parameters, "members": tuple(map(_name, self.members))}

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The members."""
        return self.members_ if self.is_fitted else self._loaded

    def clone(self) -> Self:
        """One with the same members that is not fitted."""
        return type(self)(members=self.members, weights=self.weights)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The members, their means and deviations."""
        examples = fitting_and_not(data)
        columns = self._columns(self._loaded, examples)
        for member, column in zip(map(_name, self.members), columns, strict=True):
            known = column[~np.isnan(column)]
            if len(known) < 2 or np.ptp(known) == 0:
                raise CallError(f"{self.name}: {member} gives all replies of these dialogues the same score")
        centres, spreads = np.nanmean(columns, axis=1), np.nanstd(columns, axis=1)
        together = self._mean((columns - centres[:, None]) / spreads[:, None])
        together = together[~np.isnan(together)]
        if len(together) < 2 or np.ptp(together) == 0:
            raise CallError(f"{self.name}: these dialogues have no replies that all members can score")
        return {
            "members_": self._loaded,
            "centres_": np.append(centres, together.mean()),
            "spreads_": np.append(spreads, together.std()),
        }

    def predict(self, batch: Batch) -> Scores:
        """One score per example, from 1 to 5; NaN if a member cannot score it."""
        batch = encodable(batch)
        columns = np.stack([_signed(member) * member.score_batch(batch) for member in self.members_])
        together = self._mean((columns - self.centres_[:-1, None]) / self.spreads_[:-1, None])
        standard = (together - self.centres_[-1]) / self.spreads_[-1]
        scores: Scores = LOWEST + (HIGHEST - LOWEST) / (1 + np.exp(-np.clip(_LOGISTIC * standard, -30, 30)))
        return scores

    def inherited_contexts(self) -> TrainedContexts:
        """The contexts that any member was trained on."""
        found = TrainedContexts()
        for member in self._loaded:
            if isinstance(member, Evaluator):
                found |= member.trained_contexts
        return found

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write each evaluator to its own folder; return metrics by name and parameters."""
        places = [saved_place(member, folder, number) for number, member in enumerate(self.members_)]
        return {"members": places, "centres": self.centres_.tolist(), "spreads": self.spreads_.tolist()}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The members, from folders within this one."""
        file = str(folder / CONFIG)
        places = plain.get("members")
        if not isinstance(places, list):
            raise DataError("must be a list", file=file, field=FIELD)
        numbers = [np.array(checked_member(plain, key, tuple[float, ...], file)) for key in ("centres", "spreads")]
        if not len(places) == len(self.members) == len(numbers[0]) - 1 == len(numbers[1]) - 1:
            wanted = "must have one entry per member, and centres and spreads one more"
            raise DataError(wanted, file=file, field=FIELD)
        if not (numbers[1] > 0).all():
            raise DataError("must be above 0", file=file, field="learned.spreads")
        members = tuple(saved_member(place, folder) for place in places)
        return {"members_": members, "centres_": numbers[0], "spreads_": numbers[1]}

    @cached_property
    def _loaded(self) -> tuple[Metric, ...]:
        """The members from where their parameter says they are."""
        found = tuple(load(member) if isinstance(member, str) else member for member in self.members)
        for name, member in zip(map(_name, self.members), found, strict=True):
            if member.observer() is not None:
                raise CallError(
                    f"{self.name}: {name} has to see all replies before it scores one, so that it cannot be a member"
                )
        return found

    def _columns(self, members: Sequence[Metric], examples: Sequence[Example]) -> NDArray[np.float64]:
        """The members' scores, higher being better. (members, examples)"""
        batches = even_batches(examples)
        return np.stack(
            [_signed(member) * np.concatenate([member.score_batch(batch) for batch in batches]) for member in members]
        )

    def _mean(self, columns: NDArray[np.float64]) -> Scores:
        weights = np.array(self.weights or [1.0] * len(self.members))
        mean: Scores = weights @ columns / weights.sum()
        return mean


def fitting_and_not(data: TrainingData) -> list[Example]:
    """True replies of the dialogues, and as many that do not fit.

    The reference of the latter is the true reply. A true reply has no reference: it would be compared with itself.
    """
    places = places_of(data.dialogues)
    source, rng = Negatives(places), np.random.default_rng([data.seed, 7])
    examples = []
    for number in np.sort(rng.permutation(len(places))[:MOST_PLACES]).tolist():
        place = places[number]
        other = source.draw(number, rng)[1]
        examples.append(Example(f"{number}+", place.context, place.response, speakers=place.speakers))
        examples.append(Example(f"{number}-", place.context, other, (place.response,), speakers=place.speakers))
    return examples


def _name(member: str | Metric) -> str:
    """What `load` takes; for a trained evaluator, which has no name of its own, its kind and a hash."""
    if isinstance(member, str):
        return member
    return brief(member) if isinstance(member, Evaluator) else member.spec


def _signed(member: Metric) -> float:
    return 1.0 if member.higher_is_better else -1.0


# The members of a saved ensemble or blend: evaluators in folders within its own, and metrics by name.


FIELD = "learned.members"
"""Where config.json lists them."""


def saved_place(member: Metric, folder: Path, number: int) -> dict[str, Any]:
    """Where `saved_member` finds a member again; an evaluator is written into a folder within this one."""
    if isinstance(member, Evaluator):
        member.save(folder / f"member-{number}")
        return {"folder": f"member-{number}"}
    check_portable(member.name, member.parameters)
    return {"metric": member.name, "parameters": member.parameters}


def saved_member(place: object, folder: Path) -> Metric:
    """The member at a place that `saved_place` gave."""
    file = str(folder / CONFIG)
    given = checked_object(place, file, FIELD)
    if "folder" in given:
        evaluator: Metric = load_evaluator(folder / plain_name(given["folder"], file, FIELD), {})
        return evaluator
    name = checked_member(given, "metric", str, file, FIELD)
    parameters = checked_object(given.get("parameters"), file, FIELD)
    check_portable(name, parameters)
    metric: Metric = build(name, parameters)
    if not isinstance(metric, Metric) or isinstance(metric, Evaluator):
        raise DataError(f"must be metrics, not {shortened(name)}", file=file, field=FIELD)
    return metric

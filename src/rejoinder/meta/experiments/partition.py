"""Judged sets split into training, validation and test rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.data import contexts
from rejoinder.data.contexts import context_keys
from rejoinder.errors import CallError, NeedsError
from rejoinder.learning.splits import fold_of_groups
from rejoinder.meta.comparing.pairing import labels_of
from rejoinder.meta.judged import JudgedSet, chosen_dimensions, context_key, read_judged
from rejoinder.types import Example, JudgedExample, Scores

PUBLISHED = "published"
"""In place of a number of folds: use the data's own field `split`."""

Folds = int | str

NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Part:
    """One split of a set: rows to train on, to validate on (for early stopping) and to test on."""

    name: str
    train: Ints
    test: Ints
    valid: Ints


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """A judged set on one of its dimensions."""

    judged: JudgedSet
    dimension: str

    @classmethod
    def of(cls, origin: Any, dimension: str | None) -> LabelledSet:
        """From a judged set, or a source to read one from; by default on the overall dimension."""
        judged = read_judged(origin)
        chosen = chosen_dimensions(judged, dimension)
        if len(chosen) != 1:
            listed = ", ".join(chosen)
            raise CallError(f"{judged.name} was judged on {listed}: expected one of them as the dimension")
        return cls(judged, chosen[0])

    def __len__(self) -> int:
        return len(self.judged)

    @property
    def name(self) -> str:
        """The name of the set: a file's name without its folder and suffix."""
        return labels_of([self.judged.name])[0]

    @cached_property
    def human(self) -> Scores:
        """The mean rating of each example."""
        return self.judged.human(self.dimension)

    @cached_property
    def groups(self) -> Ints:
        """The number of each example's context; contexts that share an id, a text or a reference count as one."""
        return context_groups(self.judged.examples)

    def examples(self, rows: Ints) -> tuple[Example, ...]:
        """The examples of these rows."""
        return tuple(self.judged.examples[row] for row in rows)

    def training(self, rows: Ints, valid: Ints = NONE) -> tuple[JudgedExample, ...]:
        """The rated examples of these training and validation rows, with their ratings on the dimension."""
        return tuple(
            self._rated[split][row]
            for chosen, split in ((rows, "train"), (valid, "valid"))
            for row in chosen.tolist()
            if row in self._rated[split]
        )

    @cached_property
    def _rated(self) -> dict[str, dict[int, JudgedExample]]:
        """Split -> row -> the example with its ratings, made once because most cells of a grid share them."""
        ratings = self.judged.ratings[self.dimension]
        rows = np.flatnonzero(~np.isnan(self.human)).tolist()
        return {
            split: {
                row: JudgedExample(self.judged.examples[row], {self.dimension: tuple(ratings[row].tolist())}, split)
                for row in rows
            }
            for split in ("train", "valid")
        }

    def parts(self, folds: Folds, seed: int = 0) -> list[Part]:
        """Folds that share no context, or the one published split."""
        if folds == PUBLISHED:
            return [self._published()]
        if isinstance(folds, str) or folds < 2:
            raise CallError(f"folds must be a number of at least 2, or {PUBLISHED!r}, not {folds!r}")
        fold_of = fold_of_groups(self.groups, folds, seed)
        return [
            Part(f"fold {fold + 1}", np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold), NONE)
            for fold in range(folds)
        ]

    def _published(self) -> Part:
        rows = {split: self._rows_of(split) for split in ("train", "valid", "test")}
        if not len(rows["train"]) or not len(rows["test"]):
            raise NeedsError(f"{self.judged.name} has no published split: expected `split` to be train or test")
        return Part("published split", rows["train"], rows["test"], rows["valid"])

    def _rows_of(self, split: str) -> Ints:
        return np.flatnonzero(self.judged.in_split(split))


def context_groups(examples: Sequence[Example]) -> Ints:
    """The groups of `data.contexts` for examples of one data set, where equal ids also mean the same context."""
    return contexts.context_groups(examples, signs)


def signs(example: Example) -> Iterator[Hashable]:
    """Everything that identifies an example's context within its data set."""
    yield context_key(example)
    yield from context_keys(example)


def shares_context(examples: Sequence[Example], others: Sequence[Example], *, same_set: bool) -> NDArray[np.bool_]:
    """Which of the examples have a context of the others; ids are compared only within one data set."""
    by = signs if same_set else context_keys
    known = {key for other in others for key in by(other)}
    return np.array([not known.isdisjoint(by(example)) for example in examples], np.bool_)

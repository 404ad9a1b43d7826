"""A set of judged replies, with its ratings as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Bools, Ints
from rejoinder.data.judged import JudgedSource, LabelSource
from rejoinder.data.record import Fields
from rejoinder.data.source import OnError
from rejoinder.errors import CallError, DataError, UnknownNameError
from rejoinder.stats.agreement.ceiling import row_means
from rejoinder.stats.agreement.outliers import without_outliers
from rejoinder.types import Example, JudgedExample, Scores

Ratings = NDArray[np.float64]  # (examples, raters); NaN: not rated


@dataclass(frozen=True, eq=False)
class JudgedSet:
    """Examples with their human ratings."""

    name: str
    examples: tuple[Example, ...]
    ratings: Mapping[str, Ratings]
    """Dimension -> (examples, raters)."""
    splits: tuple[str, ...] = ()
    probabilities: tuple[float, ...] = ()
    """With what probability each example was chosen to be rated (NaN: unknown); empty where none is known."""
    languages: tuple[str, ...] = ()
    """The language of each example, "" where the data do not say it."""

    @classmethod
    def of(cls, judged: Iterable[JudgedExample], name: str = "judged") -> JudgedSet:
        """The set of these examples."""
        items = list(judged)
        dimensions = dict.fromkeys(dimension for item in items for dimension in item.scores)
        ratings = {dimension: _matrix([item.scores.get(dimension, ()) for item in items]) for dimension in dimensions}
        splits, languages = tuple(item.split for item in items), tuple(item.language for item in items)
        probabilities = tuple(item.probability for item in items)
        known = () if all(map(math.isnan, probabilities)) else probabilities
        return cls(name, tuple(item.example for item in items), ratings, splits, known, languages)

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of what was judged."""
        return tuple(self.ratings)

    @cached_property
    def systems(self) -> NDArray[np.str_]:
        """The system of each example."""
        return np.array([example.system for example in self.examples], dtype=np.str_)

    @cached_property
    def contexts(self) -> Ints:
        """The number of each example's context, from 0: replies to one context are not independent of each other."""
        codes: dict[tuple[object, ...], int] = {}
        return np.array([codes.setdefault(context_key(example), len(codes)) for example in self.examples], np.int64)

    def human(self, dimension: str) -> Scores:
        """The mean rating of each example; NaN where nobody rated it."""
        return row_means(self._known(dimension))

    def take(self, rows: Ints) -> JudgedSet:
        """The examples of the given rows."""
        return JudgedSet(
            self.name,
            tuple(self.examples[row] for row in rows),
            {dimension: matrix[rows] for dimension, matrix in self.ratings.items()},
            tuple(self.splits[row] for row in rows) if self.splits else (),
            tuple(self.probabilities[row] for row in rows) if self.probabilities else (),
            tuple(self.languages[row] for row in rows) if self.languages else (),
        )

    def in_split(self, split: str) -> Bools:
        """Which examples are in a split of the data: `train`, `valid` or `test`. (examples,)"""
        names = self.splits or ("",) * len(self)
        return np.array([name == split for name in names], np.bool_)

    def part(self, split: str) -> JudgedSet:
        """The examples of a split."""
        return self.take(np.flatnonzero(self.in_split(split)))

    def without_outliers(self, threshold: float = 1.0) -> JudgedSet:
        """The same set without ratings that are far from their example's median (Zhao et al. 2020, section 4)."""
        cleaned = {dimension: without_outliers(matrix, threshold) for dimension, matrix in self.ratings.items()}
        return replace(self, ratings=cleaned)

    def judged_examples(self) -> list[JudgedExample]:
        """The set as single judged examples."""
        return [
            JudgedExample(
                example,
                {dimension: tuple(matrix[row].tolist()) for dimension, matrix in self.ratings.items()},
                self.splits[row] if self.splits else "",
                language=self.languages[row] if self.languages else "",
            )
            for row, example in enumerate(self.examples)
        ]

    def _known(self, dimension: str) -> Ratings:
        if dimension not in self.ratings:
            raise UnknownNameError("dimension", dimension, self.ratings)
        return self.ratings[dimension]


def read_judged(origin: Any, *, fields: Fields | None = None, on_error: OnError = "raise") -> JudgedSet:
    """The judged set in a file, a data frame or a list of records."""
    if isinstance(origin, JudgedSet):
        return origin
    with closing(JudgedSource(origin, fields, on_error)) as source:
        return _judged(source)


def read_labels(origin: Any) -> JudgedSet:
    """Human scores by id and system, as `read_judged` reads them; the texts may be missing."""
    if isinstance(origin, JudgedSet):
        return origin
    with closing(LabelSource(origin)) as source:
        return _judged(source)


def _judged(source: JudgedSource) -> JudgedSet:
    judged = JudgedSet.of(source.judged(), source.name)
    if not len(judged):
        raise DataError("has no judged examples: expected at least one", file=judged.name)
    return judged


def chosen_dimensions(judged: JudgedSet, wanted: str | None) -> tuple[str, ...]:
    """The requested dimension; by default overall, or all if there is none."""
    if wanted == "all":
        return judged.dimensions
    if wanted is not None:
        if wanted not in judged.ratings:
            raise UnknownNameError(f"dimension of {judged.name}:", wanted, [*judged.ratings, "all"])
        return (wanted,)
    overall = tuple(dimension for dimension in judged.dimensions if dimension.lower().startswith("overall"))
    return overall or judged.dimensions


def context_key(example: Example) -> tuple[object, ...]:
    """What identifies the example's context: its id or text; without a context its references, else itself."""
    if example.context_id:
        return ("context_id", example.context_id)
    if example.context:
        return ("context", example.context)
    if example.references:
        return ("references", example.references)
    return ("id", example.id, example.system)


def _matrix(rows: list[tuple[float, ...]]) -> Ratings:
    width = max((len(row) for row in rows), default=0)
    if width == 0:
        raise CallError("a dimension has no ratings: expected at least one")
    matrix = np.full((len(rows), width), np.nan)
    for place, row in enumerate(rows):
        matrix[place, : len(row)] = row
    return matrix

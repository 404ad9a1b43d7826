"""Judged examples: replies with the scores that people gave them.

`scores` of a record is an object that maps each dimension to a number, or to a list with one number per rater (null:
not rated); data with a single dimension may give only the number or the list. `split` (train, valid, test) is optional.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rejoinder.data.source import Source
from rejoinder.data.values import FieldError, as_list, is_missing, kind_of, parsed_json, text_of
from rejoinder.errors import shortened
from rejoinder.types import Example, JudgedExample

ONLY_DIMENSION = "score"
"""The name of the dimension of data that has a single, unnamed one."""


class JudgedSource(Source):
    """A source whose records also contain human scores."""

    _judged: Mapping[str, tuple[float, ...]]
    _split: str
    _known_source: str = ""
    """The source of a record that is a judged example already."""

    def judged(self) -> Iterator[JudgedExample]:
        """The examples with their scores."""
        return (
            JudgedExample(example, dict(self._judged), self._split, self._known_source or self.name)
            for _, _, example in self.numbered()
        )

    def _example(self, record: Any, number: int) -> Example:
        if isinstance(record, JudgedExample):
            self._judged, self._split, self._known_source = record.scores, record.split, record.source
            return super()._example(record.example, number)
        example = super()._example(record, number)
        if isinstance(record, Example):
            raise FieldError("scores", "is missing: expected human scores with the example")
        name, split = self.fields.of("scores"), record.get(self.fields.of("split"))
        self._judged = scores_of(record.get(name), name)
        self._split = "" if split is None or is_missing(split) else text_of(split, self.fields.of("split"))
        return example


def scores_of(value: Any, name: str) -> dict[str, tuple[float, ...]]:
    """Dimension -> one number per rater; FieldError if the value is anything else."""
    value = as_list(value)
    if isinstance(value, str):  # a cell of a table
        try:
            value = parsed_json(value)
        except ValueError:
            raise FieldError(name, f"expected a number or JSON, found {shortened(value, 40)}") from None
    if value is None or is_missing(value):
        raise FieldError(name, "is missing: expected human scores")
    if not isinstance(value, dict):
        value = {ONLY_DIMENSION: value}
    scores = {
        text_of(str(dimension), name): _ratings(ratings, f"{name}.{dimension}") for dimension, ratings in value.items()
    }
    if not scores:
        raise FieldError(name, "is empty: expected at least one dimension")
    return scores


def _ratings(value: Any, name: str) -> tuple[float, ...]:
    value = as_list(value)
    ratings = value if isinstance(value, list | tuple) else [value]
    return tuple(_rating(rating, name) for rating in ratings)


def _rating(value: Any, name: str) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError(name, f"expected a number, a list of numbers or null, found {kind_of(value)}")
    try:
        rating = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        rating = math.inf
    if math.isinf(rating):
        raise FieldError(name, "expected a number, found one that is infinite or too large")
    return rating

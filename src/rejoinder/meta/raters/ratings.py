"""Who gave which score to which reply, as arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rejoinder.data.judged import RatingSource, chosen_with
from rejoinder.data.record import Fields
from rejoinder.data.source import OnError, Source
from rejoinder.errors import CallError, DataError, UnknownNameError, shortened
from rejoinder.meta.judged import Ratings
from rejoinder.types import Example, Judgement

Key = tuple[str, str]  # id and system


@dataclass(frozen=True, eq=False)
class RatingSet:
    """Ratings of replies by raters."""

    name: str
    examples: tuple[Example, ...]
    raters: tuple[str, ...]
    ratings: Mapping[str, Ratings]
    """Dimension -> (examples, raters), NaN: not rated."""
    named: bool
    """Whether the data say who gave each score; else raters are places in the lists of scores."""
    has_texts: bool
    """Whether the examples have replies, and not only ids."""
    probabilities: Mapping[Key, float]
    """Id and system -> with what probability the reply was chosen to be rated, where that is known."""
    skipped: tuple[str, ...] = ()

    def with_ratings(self, ratings: Mapping[str, Ratings]) -> RatingSet:
        """The same set with other ratings."""
        return replace(self, ratings=ratings)

    def chosen_dimensions(self, wanted: str | None) -> tuple[str, ...]:
        """The requested dimension; by default all."""
        if wanted is None or wanted == "all":
            return tuple(self.ratings)
        if wanted not in self.ratings:
            raise UnknownNameError(f"dimension of {self.name}:", wanted, [*self.ratings, "all"])
        return (wanted,)


def read_ratings(
    origin: Any, *, replies: Any = None, fields: Fields | None = None, on_error: OnError = "raise"
) -> RatingSet:
    """The ratings of judged records, or of a long table with one row per rating.

    `replies` is a file of the replies that were rated, where the ratings have only their ids.
    """
    with closing(RatingSource(origin, fields, on_error)) as source:
        found = list(source.judgements())
        name, skipped = source.name, tuple(str(error) for error in source.skipped.values())
        named, has_texts, probabilities = source.all_named, source.all_with_replies, source.probabilities
    if not found:
        raise DataError("has no ratings: expected at least one", file=name)
    rows: dict[Key, int] = {}
    examples: list[Example] = []
    for example, _ in found:
        if rows.setdefault((example.id, example.system), len(rows)) == len(examples):
            examples.append(example)
    if replies is not None:
        examples, chosen = _with_texts(examples, replies, name)
        probabilities = {**chosen, **probabilities}
    raters = sorted({judgement.rater for _, judgement in found}, key=_natural)
    ratings = _matrices([judgement for _, judgement in found], rows, raters, name)
    return RatingSet(
        name, tuple(examples), tuple(raters), ratings, named, has_texts or replies is not None, probabilities, skipped
    )


def _matrices(found: list[Judgement], rows: Mapping[Key, int], raters: list[str], name: str) -> dict[str, Ratings]:
    columns = {rater: column for column, rater in enumerate(raters)}
    matrices: dict[str, Ratings] = {}
    for given in found:
        if given.dimension not in matrices:
            matrices[given.dimension] = np.full((len(rows), len(raters)), np.nan)
        matrix = matrices[given.dimension]
        place = rows[given.example_id, given.system], columns[given.rater]
        if not math.isnan(matrix[place]):
            who, what = shortened(given.rater, 40), shortened(given.example_id, 40)
            raise DataError(f"the rater {who} rated {what} twice: expected one {given.dimension} score", file=name)
        matrix[place] = given.score
    return matrices


def _with_texts(examples: list[Example], replies: Any, name: str) -> tuple[list[Example], dict[Key, float]]:
    """The rated replies as the file of replies has them; ratings without a system match by id alone."""
    with closing(Source(replies)) as source:
        known: dict[Key, Example] = {(example.id, example.system): example for example in source}
    by_id: dict[str, list[Example]] = {}
    for example in known.values():
        by_id.setdefault(example.id, []).append(example)
    found = []
    for example in examples:
        same_id = by_id.get(example.id, []) if not example.system else []
        match = known.get((example.id, example.system)) or (same_id[0] if len(same_id) == 1 else None)
        if match is None:
            what = f"{shortened(example.id, 40)} of the system {shortened(example.system, 40)}"
            raise CallError(f"{name}: no reply has the id {what}: expected the replies that were rated")
        found.append(match)
    return found, chosen_with(replies)


def _natural(rater: str) -> tuple[int, str]:
    """Numbers in their order, and before names."""
    return (int(rater), rater) if rater.isdecimal() and len(rater) < 10 else (10**10, rater)

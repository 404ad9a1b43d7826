"""The rows that a blend is fitted on: columns of numbers, and the ratings of one or more sets.

People's scales differ from set to set, and so does what they looked at. Only the order within a set is comparable, so
that ratings become ranks or standard scores within their set. All sets have the same weight, whatever their size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.data.contexts import context_groups
from rejoinder.errors import CallError, NeedsError
from rejoinder.evaluators.scale import observed_scale, on_our_scale
from rejoinder.learning.data import labels
from rejoinder.stats.correlation import midranks
from rejoinder.types import Example, JudgedExample

FEWEST = 20
"""Rated replies that a set must have."""


@dataclass(frozen=True)
class RatedSet:
    """The rated replies of one file."""

    name: str
    examples: tuple[Example, ...]
    human: Floats
    """The mean rating of each, on 1..5."""
    scale: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows with columns, ratings and weights. (rows,) unless said otherwise"""

    columns: Floats
    """(rows, columns)"""
    names: tuple[str, ...]
    """One per column: `member: column`, or the name of a surface feature."""
    owner: Ints
    """The member that each column belongs to; -1 for a surface feature. (columns,)"""
    human: Floats
    """Mean ratings on 1..5."""
    target: Floats
    """The same, comparable between sets."""
    weights: Floats
    sets: Ints
    groups: Ints
    """Contexts; no context has two numbers."""

    def rows(self, chosen: Bools) -> Labelled:
        """Some of the rows."""
        names = ("columns", "human", "target", "weights", "sets", "groups")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def without(self, member: int) -> Labelled:
        """Without the columns of a member."""
        kept = self.owner != member
        names = tuple(name for name, keep in zip(self.names, kept, strict=True) if keep)
        return replace(self, columns=self.columns[:, kept], names=names, owner=self.owner[kept])


def rated_sets(judged: Sequence[JudgedExample], dimensions: Sequence[str]) -> list[RatedSet]:
    """The judged examples, set by set; of each set the first of the dimensions that it has."""
    by_source: dict[str, list[JudgedExample]] = {}
    for item in judged:
        by_source.setdefault(item.source, []).append(item)
    return [_rated(source, items, dimensions) for source, items in by_source.items()]


def _rated(source: str, items: Sequence[JudgedExample], dimensions: Sequence[str]) -> RatedSet:
    known = {name for item in items for name in item.scores}
    name = source or "the judged examples"
    if dimensions and known.isdisjoint(dimensions):
        listed, found = ", ".join(dimensions), ", ".join(sorted(known))
        raise CallError(f"{name}: none of the dimensions {listed}: expected one of {found}")
    dimension = next((each for each in dimensions if each in known), None)
    try:
        examples, human = labels(items, dimension)
        scale = observed_scale(items, dimension)
    except CallError as error:
        raise CallError(f"{name}: {error}") from error
    if len(examples) < FEWEST:
        raise NeedsError(f"{name}: {len(examples)} rated replies are too few for a blend: expected at least {FEWEST}")
    return RatedSet(source, tuple(examples), on_our_scale(human, scale), scale)


def labelled_rows(sets: Sequence[RatedSet], columns: Mapping[str, Floats], owner: Sequence[int], join: str) -> Labelled:
    """All rows of the sets, in their order; `columns` have one number per row."""
    sizes = [len(each.human) for each in sets]
    weights = np.concatenate([np.full(size, sum(sizes) / (len(sizes) * size)) for size in sizes])
    return Labelled(
        np.stack(list(columns.values()), axis=1),
        tuple(columns),
        np.array(owner),
        np.concatenate([each.human for each in sets]),
        np.concatenate([joined(each.human, join) for each in sets]),
        weights,
        np.repeat(np.arange(len(sets)), sizes),
        context_groups([example for each in sets for example in each.examples]),
    )


def joined(human: Floats, join: str) -> Floats:
    """Ratings of one set with mean 0 and deviation 1: by their ranks, or as they are (`z-scores`)."""
    values = midranks(human) if join == "ranks" else human
    standard: Floats = (values - values.mean()) / values.std()
    return standard

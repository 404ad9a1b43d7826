"""Preferences that a blend is fitted to, beside ratings: a pair of replies is a difference of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.data.contexts import context_groups
from rejoinder.data.judged import PreferenceSource
from rejoinder.errors import CallError, NeedsError
from rejoinder.types import Example

FEWEST_PAIRS = 20
"""Pairs that a file must have."""
DISTANCE = 2 / math.sqrt(math.pi)
"""By how much a preferred reply should score above the other, in standard deviations of ratings: the mean distance of
two ratings that are drawn at random from a normal distribution."""
_VALUES = {"a": 1.0, "b": -1.0}


@dataclass(frozen=True)
class PreferenceSet:
    """The pairs of one file."""

    name: str
    first: tuple[Example, ...]
    second: tuple[Example, ...]
    preferred: Floats
    """From 1, all prefer the first, to -1. (pairs,)"""

    @classmethod
    def read(cls, path: str) -> PreferenceSet:
        """The pairs of a file; that several people judged a pair is one pair with the mean of what they said."""
        said: dict[tuple[Example, tuple[str, str]], list[float]] = {}
        with closing(PreferenceSource(path)) as source:
            for each in source.preferences():
                if each.responses is None:
                    raise CallError(f"{path}: a blend learns from preferences with response_a and response_b")
                example = Example("", each.example.context, "", speakers=each.example.speakers)
                said.setdefault((example, each.responses), []).append(_VALUES.get(each.outcome, 0.0))
        if len(said) < FEWEST_PAIRS:
            raise NeedsError(f"{path}: {len(said)} pairs are too few for a blend: expected at least {FEWEST_PAIRS}")
        first, second = (tuple(replace(each, response=texts[half]) for each, texts in said) for half in (0, 1))
        return cls(Path(path).name, first, second, np.array([np.mean(votes) for votes in said.values()]))


@dataclass(frozen=True, eq=False)
class PairRows:
    """Pairs with the columns of both replies. (pairs,) unless said otherwise"""

    first: Floats
    """(pairs, columns)"""
    second: Floats
    """(pairs, columns)"""
    preferred: Floats
    """From 1, all prefer the first, to -1."""
    weights: Floats
    sets: Ints
    """The file of each pair."""
    groups: Ints
    """Contexts; no context has two numbers."""

    @property
    def wanted(self) -> Floats:
        """By how much the first should score above the second."""
        wanted: Floats = DISTANCE * self.preferred
        return wanted

    @property
    def both(self) -> Floats:
        """The columns of the first replies, then of the second. (2 * pairs, columns)"""
        return np.concatenate([self.first, self.second])

    def rows(self, chosen: Bools) -> PairRows:
        """Some of the pairs."""
        names = ("first", "second", "preferred", "weights", "sets", "groups")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def with_columns(self, kept: Bools) -> PairRows:
        """With some of the columns."""
        return replace(self, first=self.first[:, kept], second=self.second[:, kept])

    def in_order(self, first: Floats, second: Floats) -> Floats:
        """1 where the preferred reply has the higher score, .5 for a tie; NaN where people preferred neither."""
        right = (np.sign((first - second) * self.preferred) + 1) / 2
        return np.where(self.preferred == 0, np.nan, right)


def pair_rows(sets: Sequence[PreferenceSet], columns: Mapping[str, Floats], weight: float) -> PairRows | None:
    """The pairs of all files; None without any.

    `columns` have one number for each first reply of each file and then for each second one; each file has this weight.
    """
    if not sets:
        return None
    whole = np.stack(list(columns.values()), axis=1)
    sizes = [len(each.preferred) for each in sets]
    parts = np.split(whole, np.cumsum(np.repeat(sizes, 2))[:-1])  # of each file the first replies, then the second
    return PairRows(
        np.concatenate(parts[::2]),
        np.concatenate(parts[1::2]),
        np.concatenate([each.preferred for each in sets]),
        np.concatenate([np.full(size, weight / size) for size in sizes]),
        np.repeat(np.arange(len(sets)), sizes),
        context_groups([example for each in sets for example in each.first]),
    )

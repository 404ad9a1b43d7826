"""Wins and ties of each pair of systems, by context: what every estimate from preferences starts from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.stats.resampling import Groups, group_codes

WIN, LOSS, TIE = 0, 1, 2
"""The outcome of a comparison, for the first system."""


@dataclass(frozen=True, eq=False)
class Contests:
    """The outcomes of comparisons, counted by context and pair of systems."""

    counts: Floats
    """(contexts, pairs, 3): wins of the pair's first system, wins of its second, ties."""
    first: Ints
    second: Ints
    """The systems of each pair, first < second. (pairs,)"""
    n_systems: int

    @classmethod
    def of(cls, first: ArrayLike, second: ArrayLike, outcomes: ArrayLike, contexts: Groups = None) -> Contests:
        """From one comparison per row: two systems as integers from 0, and WIN, LOSS or TIE of the first."""
        left, right = np.asarray(first, np.int64), np.asarray(second, np.int64)
        outcome = np.asarray(outcomes, np.int64)
        if not left.shape == right.shape == outcome.shape or left.ndim != 1:
            raise ValueError("first, second and outcomes must be vectors of equal length")
        if (left == right).any():
            raise ValueError("a comparison must be of two different systems")
        turned = (left > right) & (outcome != TIE)
        outcome = np.where(turned, LOSS - outcome, outcome)
        left, right = np.minimum(left, right), np.maximum(left, right)
        n_systems = int(right.max(initial=-1)) + 1
        names, pair = np.unique(left * n_systems + right, return_inverse=True)
        context, n_contexts = group_codes(contexts, left.size)
        cell = (context * names.size + pair) * 3 + outcome
        counts = np.bincount(cell, minlength=n_contexts * names.size * 3).astype(np.float64)
        return cls(counts.reshape(n_contexts, names.size, 3), names // n_systems, names % n_systems, n_systems)

    @property
    def n_contexts(self) -> int:
        """How many contexts there are."""
        return len(self.counts)

    @cached_property
    def totals(self) -> Floats:
        """The counts over all contexts. (pairs, 3)"""
        totals: Floats = self.counts.sum(axis=0)
        return totals

    @cached_property
    def components(self) -> Ints:
        """The number of each system's component: systems of different components were never compared, not even
        through others. (systems,)"""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        shape = (self.n_systems, self.n_systems)
        graph = coo_array((np.ones(self.first.size), (self.first, self.second)), shape=shape)
        _, labels = connected_components(graph, directed=False)
        components: Ints = labels.astype(np.int64)
        return components

    def wins(self, totals: Floats) -> Floats:
        """How often each system beat each other one, from counts (rows, pairs, 3). (rows, systems, systems)"""
        table = np.zeros((len(totals), self.n_systems, self.n_systems))
        table[:, self.first, self.second] = totals[:, :, WIN]
        table[:, self.second, self.first] = totals[:, :, LOSS]
        return table

    def take(self, systems: Ints) -> Contests:
        """The contests among the given systems, which are numbered anew in that order."""
        place = np.full(self.n_systems, -1)
        place[systems] = np.arange(systems.size)
        kept = np.flatnonzero((place[self.first] >= 0) & (place[self.second] >= 0))
        left, right = place[self.first[kept]], place[self.second[kept]]
        counts = self.counts[:, kept]
        turned = left > right
        counts[:, turned] = counts[:, turned][:, :, [LOSS, WIN, TIE]]
        compared = counts.sum(axis=(1, 2)) > 0  # contexts of other systems only are not these systems' contexts
        return Contests(counts[compared], np.minimum(left, right), np.maximum(left, right), systems.size)


def all_beaten_in_turn(wins: Floats) -> Bools:
    """Whether every division of the systems into two sets has wins in both directions (Ford 1957). (rows,)

    Exactly then is the likelihood of the Bradley-Terry model largest at finite strengths. `wins` is (rows, systems,
    systems).
    """
    reaches: Bools = np.asarray((wins > 0) | np.eye(wins.shape[1], dtype=np.bool_))
    for _ in range(max(1, int(np.ceil(np.log2(wins.shape[1]))))):  # paths of twice the length each time
        reaches = np.asarray((reaches.astype(np.float32) @ reaches.astype(np.float32)) > 0)
    everywhere: Bools = np.asarray(reaches.all(axis=(1, 2)))
    return everywhere

"""The rows of the page: judged sets, which dimension of each is measured, and on which of its replies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from papers.inputs import DIMENSIONS, Inputs
from rejoinder.data.judged import JudgedSet

LARGEST = 10_000
"""Replies above which a set is measured on a sample of its contexts."""
SAMPLED = 3_000
"""Approximate sample size in replies; contexts are kept whole."""
SEED = 0
SPLIT = ("zhao2020_dailydialog", "zhao2020_personachat")
"""Sets whose published test split is measured too."""
OTHER_DIMENSIONS = {"usr_personachat": ("context", "Maintains Context")}
"""Set -> a label, and the dimension that is measured in addition to the first."""
UNUSABLE = {"conture_dialogue": "people judged whole dialogues: there is no reply to score"}


@dataclass(frozen=True, slots=True)
class Part:
    """A judged set, or a part of one, as a row of the table."""

    key: str
    """The set; with /test, its published test split; with another word, one more dimension of it."""
    dimension: str
    unusable: str = ""
    """Why nothing can be measured on it."""

    @property
    def judged(self) -> str:
        """The name of the set."""
        return self.key.partition("/")[0]

    @property
    def is_published_split(self) -> bool:
        """Whether it is the published test split alone."""
        return self.key.endswith("/test")

    @property
    def scored_as(self) -> str:
        """The key of its scores in the cache: those of one set do not depend on the dimension."""
        return self.key if self.is_published_split else self.judged

    def read(self, inputs: Inputs) -> tuple[JudgedSet, int]:
        """Its replies, a seeded sample of contexts where there are too many; and how many there are.

        On the published split, ratings far from their reply's median are dropped, as in Zhao et al. 2020.
        """
        judged = inputs.judged(self.judged)
        if self.is_published_split:
            tested = judged.without_outliers().part("test")
            return tested, len(tested)
        return sampled(judged), len(judged)


def sampled(judged: JudgedSet) -> JudgedSet:
    """All replies of some contexts drawn at random where there are more than LARGEST; replies keep their order."""
    if len(judged) <= LARGEST:
        return judged
    contexts = judged.contexts  # in DSTC6, which has none, the items
    order = np.random.default_rng(SEED).permutation(contexts.max() + 1)
    enough = int(np.searchsorted(np.cumsum(np.bincount(contexts)[order]), SAMPLED)) + 1
    return judged.take(np.flatnonzero(np.isin(contexts, order[:enough])))


def _parts() -> Iterator[Part]:
    for name, dimension in DIMENSIONS.items():
        yield Part(name, dimension, UNUSABLE.get(name, ""))
        if name in SPLIT:
            yield Part(f"{name}/test", dimension)
        if name in OTHER_DIMENSIONS:
            word, other = OTHER_DIMENSIONS[name]
            yield Part(f"{name}/{word}", other)


PARTS = tuple(_parts())

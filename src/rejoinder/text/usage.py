"""How usual words, pairs of words and whole turns are in English dialogues.

The counts come with the package (recipes/usage.py makes them, from dialogues that are free for any use). They are kept
under hashes and rounded to about 3 %. Words that occur in fewer than three turns, and pairs of words that occur fewer
than five times, count as unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from rejoinder.loading.foreign import saved_arrays

TABLES = Path(__file__).parent.parent / "resources" / "usage.safetensors"
STEP = 16
"""Counts are stored as the nearest whole number to this times their logarithm."""
EDGE = "\n"
"""What stands before the first word of a turn, and after its last."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PRIOR = 10
"""Occurrences of a word that the probability of its follower is known from without any pair."""


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return _WORD.findall(text.lower().replace("’", "'"))


@dataclass(frozen=True, eq=False)
class Usage:
    """Tables of hashes with counts."""

    words: Mapping[int, float]
    """Word -> how often it occurs; that of EDGE is the number of turns."""
    turns_with: Mapping[int, float]
    """Word -> in how many turns it occurs."""
    pairs: Mapping[int, float]
    turns: Mapping[int, float]
    """Turn, as words joined by spaces -> how often it occurs."""
    total: float
    """The number of words."""

    def information(self, word: str) -> float:
        """-log of the share of turns that have the word; unknown words as if they were in two turns."""
        turns = self.words[crc32(EDGE.encode())]
        return math.log(turns / self.turns_with.get(crc32(word.encode()), 2.0))

    def usual_order(self, words: Sequence[str]) -> float:
        """The mean logarithm of the probability of each word after the one before it."""
        sequence = [EDGE, *words, EDGE]
        counts = [self.words.get(crc32(word.encode()), 0.5) for word in sequence]
        found = 0.0
        for (before, after), (of_before, of_after) in zip(pairwise(sequence), pairwise(counts), strict=True):
            together = self.pairs.get(crc32(f"{before} {after}".encode()), 0.0)
            found += math.log((together + _PRIOR * of_after / self.total) / (of_before + _PRIOR))
        return found / (len(sequence) - 1)

    def turn_count(self, words: Iterable[str]) -> float:
        """How often a turn of these words occurs."""
        return self.turns.get(crc32(" ".join(words).encode()), 0.0)


@cache
def shipped_usage() -> Usage:
    """The tables that come with the package."""
    return usage_of(saved_arrays(TABLES))


def usage_of(arrays: Mapping[str, NDArray[Any]]) -> Usage:
    """From saved arrays."""

    def table(name: str, counts: str) -> dict[int, float]:
        return dict(zip(arrays[name].tolist(), np.exp(arrays[counts] / STEP).tolist(), strict=True))

    return Usage(
        table("words", "word_counts"),
        table("words", "turns_with"),
        table("pairs", "pair_counts"),
        table("turns", "turn_counts"),
        float(arrays["total"][0]),
    )

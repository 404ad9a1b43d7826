"""Hashes of the contexts that a model was trained on, to detect later that it would be tested on its training data.

Two contexts count as the same when their text is equal, or when their last two turns are equal: a reply mostly answers
those, and one data set often keeps more of a dialogue than another. Letter case, white space and punctuation are
ignored. A model that was trained on a dialogue has seen every pair of consecutive turns in it, so a context is looked
up by its last two turns, and a context of one turn by that turn together with a reference. Two turns that are short
together ("Thanks." "You are welcome.") occur in any conversation and are ignored.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.types import Dialogue, Example

Keys = NDArray[np.uint64]

_SHORTEST_PAIR = 30
"""Bytes that two turns need together to identify a dialogue. Nearly all turns that common judged sets share with
unrelated dialogue corpora are shorter; bytes, because a Chinese character says as much as three letters."""


@dataclass(frozen=True, eq=False)
class TrainedContexts:
    """The contexts that a model was trained on."""

    keys: Keys = field(default_factory=lambda: np.empty(0, np.uint64))
    """Sorted and unique."""

    @classmethod
    def of(cls, examples: Iterable[Example]) -> TrainedContexts:
        """The contexts of these examples."""
        return cls(_sorted(chain.from_iterable(map(context_keys, examples))))

    @classmethod
    def within(cls, dialogues: Iterable[Dialogue]) -> TrainedContexts:
        """The contexts of all replies in these dialogues."""
        return cls(_sorted(chain.from_iterable(map(_turn_keys, dialogues))))

    def __len__(self) -> int:
        return len(self.keys)

    def __or__(self, other: TrainedContexts) -> TrainedContexts:
        return TrainedContexts(np.union1d(self.keys, other.keys))

    def holds(self, examples: Sequence[Example]) -> NDArray[np.bool_]:
        """Which of the examples have a context that was trained on. (examples,)"""
        each = [context_keys(example) for example in examples]
        found = np.isin(np.fromiter(chain.from_iterable(each), np.uint64), self.keys)
        owner = np.repeat(np.arange(len(each)), [len(keys) for keys in each])
        held: NDArray[np.bool_] = np.bincount(owner[found], minlength=len(each)) > 0
        return held


def context_keys(example: Example) -> tuple[int, ...]:
    """Hashes that identify an example's context; without a context, its references or else its response identify it."""
    if example.context:
        return _context_keys(example.context, example.references)
    return (_hash("replies", *sorted(map(bare, example.references or (example.response,)))),)


def context_groups(
    examples: Sequence[Example], keys_of: Callable[[Example], Iterable[Hashable]] = context_keys
) -> Ints:
    """One group number per example, in order of appearance; examples with equal numbers share a context.

    Two examples share a context when any of their keys is equal, or when both share one with a third example: splits
    made of whole groups have no context in common.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number_of: dict[Hashable, int] = {}
    each = [[number_of.setdefault(key, len(number_of)) for key in keys_of(example)] for example in examples]
    owner = np.repeat(np.arange(len(each)), np.array([len(keys) for keys in each], np.int64))
    keys = len(each) + np.array([key for keys in each for key in keys], np.int64)  # nodes after those of the examples
    nodes = len(each) + len(number_of)
    links = coo_array((np.ones(len(owner), np.int8), (owner, keys)), shape=(nodes, nodes))
    _, group_of = connected_components(links, directed=False)
    return np.asarray(group_of[: len(each)], np.int64)


def rows_of_contexts(examples: Sequence[Example]) -> list[list[int]]:
    """The rows of each context, for comparisons within a context: the examples of one list have all keys equal.

    To split data use `context_groups` instead, because two of these lists may share some of their keys.
    """
    rows_of: dict[tuple[int, ...], list[int]] = {}
    for row, example in enumerate(examples):
        rows_of.setdefault(context_keys(example), []).append(row)
    return list(rows_of.values())


def without_contexts(dialogues: Iterable[Dialogue], examples: Iterable[Example]) -> list[Dialogue]:
    """The dialogues that contain no context of the examples: safe to train on when the examples are the test set."""
    tested = set(chain.from_iterable(map(context_keys, examples)))
    return [dialogue for dialogue in dialogues if tested.isdisjoint(_turn_keys(dialogue))]


# Experiments ask for the same examples again in every cell of their grid.
@lru_cache(maxsize=1 << 17)
def _context_keys(context: tuple[str, ...], references: tuple[str, ...]) -> tuple[int, ...]:
    turns = [bare(turn) for turn in context]
    whole = _hash("context", "".join(turns))
    ends = [(turns[-2], turns[-1])] if len(turns) > 1 else [(turns[0], bare(reference)) for reference in references]
    return whole, *_pair_keys(ends)


def _turn_keys(dialogue: Dialogue) -> Iterator[int]:
    return _pair_keys(pairwise(map(bare, dialogue.turns)))


def _pair_keys(pairs: Iterable[tuple[str, str]]) -> Iterator[int]:
    return (_hash("turns", *pair) for pair in pairs if len(_bytes("".join(pair))) >= _SHORTEST_PAIR)


def bare(text: str) -> str:
    """A text without case, white space and punctuation, which differ between data sets; a text that has nothing else is
    only trimmed."""
    return unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS) or text.strip()


class _Letters(dict[int, int | None]):
    """A table for `str.translate` that drops characters by their Unicode category, filled lazily."""

    def __missing__(self, code: int) -> int | None:
        category = unicodedata.category(chr(code))
        # Punctuation, separators, control characters; Sk contains the back-tick, a quotation mark in old corpora.
        self[code] = None if category[0] in "PZC" or category == "Sk" else code
        return self[code]


_LETTERS = _Letters()


def _hash(*parts: str) -> int:
    return int.from_bytes(blake2b(_bytes("\n".join(parts)), digest_size=8).digest())


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _sorted(keys: Iterable[int]) -> Keys:
    return np.unique(np.fromiter(keys, np.uint64))

"""Which contexts a model has seen, as hashes: enough to tell later that it would be tested on what it learned.

Two contexts count as the same when their text is equal, or when their last two turns are: what a reply answers is
mostly there, and one data set often keeps more of a dialogue than another. Letter case, spaces and punctuation are
passed over. A dialogue was trained on wherever it goes from one turn to the next, so a context is found in it by its
last two turns, and a context of one turn by that turn and a reference. Two turns that are short together ("Thanks."
"You are welcome.") are said in any conversation and tell nothing.
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

FORMULA = 30
"""Bytes of two turns below which they are no sign of a dialogue. Of the turns that common judged sets and unrelated
dialogue corpora share, nearly all are shorter; bytes, because a Chinese character says as much as three letters."""


@dataclass(frozen=True, eq=False)
class TrainedContexts:
    """The contexts that something was trained on."""

    keys: Keys = field(default_factory=lambda: np.empty(0, np.uint64))
    """Sorted, each once."""

    @classmethod
    def of(cls, examples: Iterable[Example]) -> TrainedContexts:
        """The contexts of these examples."""
        return cls(_sorted(chain.from_iterable(map(context_keys, examples))))

    @classmethod
    def within(cls, dialogues: Iterable[Dialogue]) -> TrainedContexts:
        """Every place in these dialogues where a reply follows."""
        return cls(_sorted(chain.from_iterable(map(_turn_keys, dialogues))))

    def __len__(self) -> int:
        return len(self.keys)

    def __or__(self, other: TrainedContexts) -> TrainedContexts:
        return TrainedContexts(np.union1d(self.keys, other.keys))

    def holds(self, examples: Sequence[Example]) -> NDArray[np.bool_]:
        """Which of the examples have a context that was trained on."""
        each = [context_keys(example) for example in examples]
        found = np.isin(np.fromiter(chain.from_iterable(each), np.uint64), self.keys)
        owner = np.repeat(np.arange(len(each)), [len(keys) for keys in each])
        held: NDArray[np.bool_] = np.bincount(owner[found], minlength=len(each)) > 0
        return held


def context_keys(example: Example) -> tuple[int, ...]:
    """What identifies an example's context by its text; one without a context stands for its references, or itself."""
    if example.context:
        return _context_keys(example.context, example.references)
    return (_hash("replies", *sorted(map(bare, example.references or (example.response,)))),)


def context_groups(
    examples: Sequence[Example], keys_of: Callable[[Example], Iterable[Hashable]] = context_keys
) -> Ints:
    """A number an example, counted up as they come; equal numbers share a context.

    Two examples share one when any of their keys is equal, and so do two that share one with a third: parts that are
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
    """The rows of each context: examples all of whose keys are equal, for what is compared within a context.

    To keep contexts apart take `context_groups`, because two of these may share some of their keys.
    """
    rows_of: dict[tuple[int, ...], list[int]] = {}
    for row, example in enumerate(examples):
        rows_of.setdefault(context_keys(example), []).append(row)
    return list(rows_of.values())


def without_contexts(dialogues: Iterable[Dialogue], examples: Iterable[Example]) -> list[Dialogue]:
    """The dialogues that hold no context of the examples: those that may be learned from when they are tested."""
    tested = set(chain.from_iterable(map(context_keys, examples)))
    return [dialogue for dialogue in dialogues if tested.isdisjoint(_turn_keys(dialogue))]


# Studies ask for the same examples in every cell of their grid.
@lru_cache(maxsize=1 << 17)
def _context_keys(context: tuple[str, ...], references: tuple[str, ...]) -> tuple[int, ...]:
    turns = [bare(turn) for turn in context]
    whole = _hash("context", "".join(turns))
    ends = [(turns[-2], turns[-1])] if len(turns) > 1 else [(turns[0], bare(reference)) for reference in references]
    return whole, *_pair_keys(ends)


def _turn_keys(dialogue: Dialogue) -> Iterator[int]:
    return _pair_keys(pairwise(map(bare, dialogue.turns)))


def _pair_keys(pairs: Iterable[tuple[str, str]]) -> Iterator[int]:
    return (_hash("turns", *pair) for pair in pairs if len("".join(pair).encode("utf-8", "surrogatepass")) >= FORMULA)


def bare(text: str) -> str:
    """A text without what one data set writes and another does not: case, spaces, punctuation; all of it if that
    is all there is."""
    return unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS) or text.strip()


class _Letters(dict[int, int | None]):
    """For `str.translate`: each character as it is, or None for those that are dropped; filled as they are met."""

    def __missing__(self, code: int) -> int | None:
        category = unicodedata.category(chr(code))
        # Punctuation, separators, control characters; Sk holds the back-tick, a quotation mark in old corpora.
        self[code] = None if category[0] in "PZC" or category == "Sk" else code
        return self[code]


_LETTERS = _Letters()


def _hash(*parts: str) -> int:
    text = "\n".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest())


def _sorted(keys: Iterable[int]) -> Keys:
    return np.unique(np.fromiter(keys, np.uint64))

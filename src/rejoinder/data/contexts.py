"""Which replies share a context: by hashes for what a model was trained on, and by groups for pairing."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, run_starts
from rejoinder.errors import CallError
from rejoinder.types import Dialogue, Example

# Hashes of the contexts that a model was trained on, to detect later that it would be tested on its training data.
#
# Two contexts count as the same when their text is equal, or when their last two turns are equal: a reply mostly
# answers those, and one data set often keeps more of a dialogue than another. Letter case, white space and
# punctuation are ignored. A model that was trained on a dialogue has seen every pair of consecutive turns in it, so a
# context is looked up by its last two turns, and a context of one turn by that turn together with a reference. Two
# turns that are short together ("Thanks." "You are welcome.") occur in any conversation and are ignored.


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


# Short hashes that change when the data change.


def digest_of(values: Iterable[Any]) -> str:
    """A hash of JSON-like values, in order."""
    digest = blake2b(digest_size=16)
    for value in values:
        digest.update(json.dumps(value).encode() + b"\n")
    return digest.hexdigest()


# Every cell of an experiment's grid is fitted on the same dialogues, and there may be very many.
@lru_cache(maxsize=2)
def dialogues_digest(dialogues: tuple[Dialogue, ...]) -> str:
    """A hash of the dialogues with their ids and speakers."""
    return digest_of([dialogue.id, dialogue.turns, dialogue.speakers] for dialogue in dialogues)


# Which replies belong together: answers to one context, and turns of one dialogue.
#
# Replies of several systems are paired by *context*: `context_id`; without one, equal context and references; without
# those, the id. Contexts of one dialogue form a *cluster*, because what happens in one turn is repeated in the next:
# they are resampled and permuted together. A dialogue is known by its `dialogue_id`. Without one, it shows in
# contexts that continue each other: ["Hi!"], then ["Hi!", "Hello.", "How are you?"].


PAIR_FIELDS = ("id", "context_id", "context")

MOST_COMPARED = 250_000
"""Examples beyond which contexts that continue each other are not looked for: their prefixes would fill the memory."""

FEWEST_LINKED = 0.05
"""The share of contexts that must continue another one: a few do so by chance, and do no harm."""


@dataclass(frozen=True)
class Grouping:
    """The context and the cluster of each example, as numbers from 0 in order of appearance."""

    contexts: Ints
    clusters: Ints
    unit: str = "context"
    """What a cluster is: "context", "dialogue", or "cluster" for those of a field that the user named."""
    found_by: str = ""
    """How clusters were found, in words; "" where each context is its own cluster."""
    paired_by: str = "context"
    """What has a reply, or a score, of each system: "context", or "item" in a table of scores."""

    @property
    def n_contexts(self) -> int:
        """How many contexts there are."""
        return int(self.contexts.max(initial=-1)) + 1

    def where(self, rows: Ints) -> Grouping:
        """The grouping of some examples, numbered anew."""
        return replace(self, contexts=_by_appearance(self.contexts[rows]), clusters=_by_appearance(self.clusters[rows]))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the clusters."""
        if not self.found_by:
            return ()
        n_clusters = self.clusters.max() + 1
        return (
            f"the {self.n_contexts:,} {self.paired_by}s belong to {n_clusters:,} {self.unit}s ({self.found_by}), "
            f"and whole {self.unit}s are resampled and permuted",
        )


@dataclass
class GroupFinder:
    """Collects what identifies the context and the dialogue of each example; memory: some bytes per example."""

    pair_by: str | None = None
    """One of PAIR_FIELDS that replies are paired by."""
    called: str | None = None
    """The data's own name for that field."""
    cluster: str | None = None
    """The data's own name for the field that was read as `dialogue_id`."""
    hashed: Callable[[object], int] = hash
    """Python's own, which is fast and differs from process to process, or `stable_hash`."""

    def __post_init__(self) -> None:
        self._contexts, self._dialogues, self._continued = array("q"), array("q"), _Continuations()
        if self.pair_by is not None and self.pair_by not in PAIR_FIELDS:
            raise CallError(f"cannot pair by {self.pair_by!r}: expected one of {', '.join(PAIR_FIELDS)}")

    def add(self, examples: Iterable[Example]) -> None:
        """Take examples into account."""
        for example in examples:
            row = len(self._contexts)
            if row < MOST_COMPARED:
                self._continued.add(row, self.beginnings_of(example))
            elif row == MOST_COMPARED:
                self._continued = _Continuations()  # releases the memory
            context, dialogue = self.keys_of(example)
            self._contexts.append(context)
            self._dialogues.append(dialogue)

    def keys_of(self, example: Example) -> tuple[int, int]:
        """A number for the context and one for the dialogue; 0 where there is no dialogue."""
        dialogue = self.hashed(example.dialogue_id) if example.dialogue_id else 0
        if self.pair_by is None:
            return self.hashed(context_key(example)), dialogue
        value: object = getattr(example, self.pair_by)
        if not value:
            called = self.called or self.pair_by
            raise CallError(f"cannot pair by {called!r}: example {example.id!r} of {example.system!r} has none")
        return self.hashed((self.pair_by, value)), dialogue

    def beginnings_of(self, example: Example) -> list[int]:
        """A number for each beginning of the context, of the whole context last."""
        found, numbers = self.hashed(example.system), []
        for turn in example.context:
            found = self.hashed((found, turn))
            numbers.append(found)
        return numbers

    def found(self) -> Grouping:
        """The groups of all examples that were added."""
        return self._grouping(
            np.frombuffer(self._contexts, np.int64), np.frombuffer(self._dialogues, np.int64), self._continued
        )

    def of_keys(self, contexts: Ints, dialogues: Ints, beginnings: Sequence[list[int]] = ()) -> Grouping:
        """The groups of examples with these numbers, as `keys_of` and `beginnings_of` give them."""
        continued = _Continuations()
        for row, numbers in enumerate(beginnings):
            continued.add(row, numbers)
        return self._grouping(contexts, dialogues, continued)

    def _grouping(self, keys: Ints, dialogues: Ints, continued: _Continuations) -> Grouping:
        """The groups of examples with these numbers for contexts and dialogues."""
        contexts = _by_appearance(keys)
        if dialogues.any():
            rows = np.flatnonzero(dialogues)
            links = np.stack([contexts[rows], _by_appearance(dialogues[rows])])
            links[1] += contexts.max() + 1  # dialogues are nodes of their own, after the contexts
            unit, found_by = ("cluster" if self.cluster else "dialogue"), f"by {self.cluster or 'dialogue_id'}"
        else:
            links = contexts[continued.links()]
            unit, found_by = "dialogue", "their contexts continue each other"
            if len(contexts) > MOST_COMPARED or links.shape[1] < FEWEST_LINKED * (contexts.max() + 1):
                return Grouping(contexts, contexts)
        clusters = _joined(contexts, links)
        if clusters.max() == contexts.max():
            return Grouping(contexts, contexts)
        return Grouping(contexts, clusters, unit, found_by=found_by)


def context_key(example: Example) -> tuple[object, ...]:
    """What replies to one context have in common, where no field was named to pair them by."""
    if example.context_id:
        return ("context_id", example.context_id)
    if example.context or example.references:
        return ("context", example.context, example.references)
    return ("id", example.id)


@dataclass
class _Continuations:
    """The distinct contexts of each system, with the hashes of all their beginnings."""

    _rows: dict[int, int] = field(default_factory=dict)
    """Hash of a context -> the first row that has it."""
    _beginnings: array[int] = field(default_factory=partial(array, "q"))
    _lengths: array[int] = field(default_factory=partial(array, "q"))

    def add(self, row: int, numbers: list[int]) -> None:
        """Remember a context by the numbers of its beginnings, of the whole context last."""
        if not numbers:
            return
        *beginnings, whole = numbers
        if whole not in self._rows:
            self._rows[whole] = row
            self._beginnings.extend(beginnings)
            self._lengths.append(len(beginnings))

    def links(self) -> Ints:
        """Rows of contexts, and rows of the longest other context that each continues. (2, links)

        A context that several others continue is an opening that many dialogues share ("Hi!"), and links nothing.
        """
        contexts, rows = np.array([*self._rows], np.int64), np.array([*self._rows.values()], np.int64)
        beginnings = np.frombuffer(self._beginnings, np.int64)
        owners = np.repeat(np.arange(len(contexts)), np.frombuffer(self._lengths, np.int64))
        order = np.argsort(contexts)
        place = np.searchsorted(contexts, beginnings, sorter=order)
        place[place == len(contexts)] = 0
        known = contexts[order[place]] == beginnings if len(contexts) else np.zeros(0, np.bool_)
        continued = np.full(len(contexts), -1)
        continued[owners[known]] = order[place[known]]  # beginnings are in order of length: the longest is the last
        linked = continued >= 0
        only = np.bincount(continued[linked], minlength=len(contexts)) == 1
        linked[linked] = only[continued[linked]]
        return np.stack([rows[linked], rows[continued[linked]]])


def stable_hash(value: object) -> int:
    """A number of 64 bits for text, numbers and tuples of these, the same in every process and version."""
    return int.from_bytes(hashlib.blake2b(repr(value).encode(), digest_size=8).digest(), "big", signed=True)


def _by_appearance(hashes: Ints) -> Ints:
    """Equal numbers for equal hashes: Python's differ from run to run, numbers by order of appearance do not."""
    order = np.argsort(hashes, kind="stable")
    starts = run_starts(hashes[order])
    first = order[starts]  # the first row with each hash, by hash
    lengths = np.diff(np.flatnonzero(starts), append=len(hashes))
    appears = np.zeros(len(hashes), np.bool_)
    appears[first] = True
    numbers = np.cumsum(appears)[first] - 1
    codes = np.empty(len(hashes), np.int64)
    codes[order] = np.repeat(numbers, lengths)
    return codes


def _joined(contexts: Ints, links: Ints) -> Ints:
    """The cluster of each example: contexts that are linked, directly or by others, are in one cluster."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes = int(max(contexts.max(), links.max(initial=0))) + 1
    _, component = connected_components(coo_array((np.ones(links.shape[1]), tuple(links)), shape=(nodes, nodes)), False)
    return _by_appearance(np.asarray(component, np.int64)[contexts])

"""Which replies share a context: by hashes for what a model was trained on, and by groups for pairing."""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Bools, Ints, run_starts
from rejoinder.data.records import REPLY_ROLES, TURN_ROLES
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
    return (_hash("replies", *sorted(map(bare_text, example.references or (example.response,)))),)


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


# Experiments ask for the same examples again in every of their cells.
@lru_cache(maxsize=1 << 17)
def _context_keys(context: tuple[str, ...], references: tuple[str, ...]) -> tuple[int, ...]:
    turns = [bare_text(turn) for turn in context]
    whole = _hash("context", "".join(turns))
    ends = (
        [(turns[-2], turns[-1])] if len(turns) > 1 else [(turns[0], bare_text(reference)) for reference in references]
    )
    return whole, *_pair_keys(ends)


def _turn_keys(dialogue: Dialogue) -> Iterator[int]:
    return _pair_keys(pairwise(map(bare_text, dialogue.turns)))


def _pair_keys(pairs: Iterable[tuple[str, str]]) -> Iterator[int]:
    return (_hash("turns", *pair) for pair in pairs if len(_bytes("".join(pair))) >= _SHORTEST_PAIR)


def bare_text(text: str) -> str:
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


# Every cell of an experiment is fitted on the same dialogues, and there may be very many.
@lru_cache(maxsize=2)
def dialogues_digest(dialogues: tuple[Dialogue, ...]) -> str:
    """A hash of the dialogues with their ids and speakers."""
    return digest_of([dialogue.id, dialogue.turns, dialogue.speakers] for dialogue in dialogues)


# Which replies belong together: answers to one context, and turns of one dialogue.
#
# Replies of several systems are paired by *context*: `context_id`; without one, equal context and references; without
# those, the id. Logs of conversations share few contexts, because a reply changes what is said next. Where that leaves
# replies alone, and the logs are of the same dialogues (their ids are equal, and so are nearly all first turns of the
# user), replies are paired by *dialogue*: turn k with turn k, whatever was said before it.
#
# Contexts of one dialogue form a *cluster*, because what happens in one turn is repeated in the next: they are
# resampled and permuted together. A dialogue is known by its `dialogue_id`. Without one, it shows in contexts that
# continue each other: ["Hi!"], then ["Hi!", "Hello.", "How are you?"].


PAIR_FIELDS = ("id", "context_id", "context")

MOST_COMPARED = 250_000
"""Examples beyond which contexts that continue each other are not looked for: their prefixes would fill the memory."""

SAME_OPENING = 0.9
"""The least share of the dialogue ids of two systems whose first user turns must be equal: then ids mean the same."""

FEWEST_LINKED = 0.05
"""The share of contexts that must continue another one: a few do so by chance, and do no harm."""


@dataclass(frozen=True, slots=True)
class Openings:
    """Whether the ids of two systems' dialogues mean the same dialogues."""

    shared: int
    """Ids that both have."""
    equal: int
    """Those of them under which the user says the same first."""
    needed: int
    """Ids that they must share: half of those of the system with fewer."""

    @property
    def agree(self) -> bool:
        """Whether dialogues with the same id are the same."""
        return self.shared >= self.needed and self.equal >= SAME_OPENING * self.shared

    @property
    def reason(self) -> str:
        """Why replies are not paired by dialogue, as a clause; "" where the ids mean the same."""
        if self.agree:
            return ""
        if self.shared < self.needed:
            return f"{f'only {self.shared:,} ids' if self.shared else 'no id'} of a dialogue can be found in both"
        return (
            f"their ids do not mean the same dialogues: the user says the same first under {self.equal:,} of the "
            f"{self.shared:,} ids that both have"
        )


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
    """What has a reply, or a score, of each system: "context"; "turn" or "dialogue", where those of the same dialogues
    are paired; or "item" in a table of scores. Contexts are then numbers of these."""
    histories: Ints | None = None
    """The number of each example's own context, where those that are paired differ."""
    openings: Mapping[tuple[str, str], Openings] = field(default_factory=dict)
    """Two systems -> the dialogue ids that both have, where it was tried to pair by them."""

    @property
    def n_contexts(self) -> int:
        """How many contexts there are."""
        return int(self.contexts.max(initial=-1)) + 1

    def where(self, rows: Ints) -> Grouping:
        """The grouping of some examples, numbered anew."""
        histories = None if self.histories is None else _by_appearance(self.histories[rows])
        return replace(
            self,
            contexts=_by_appearance(self.contexts[rows]),
            clusters=_by_appearance(self.clusters[rows]),
            histories=histories,
        )

    @property
    def differ(self) -> Bools:
        """Whether the replies that are paired follow different histories. (contexts,)"""
        found = np.zeros(self.n_contexts, np.bool_)
        if self.histories is not None:
            first = np.zeros(self.n_contexts, np.int64)
            first[self.contexts[::-1]] = self.histories[::-1]
            found[self.contexts[self.histories != first[self.contexts]]] = True
        return found

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
    by_dialogue: bool = False
    """Whether replies may be paired by dialogue, where they share few contexts."""

    def __post_init__(self) -> None:
        self._contexts, self._dialogues, self._continued = array("q"), array("q"), _Continuations()
        self._turns = _Turns() if self.by_dialogue and self.pair_by is None and self.cluster is None else None
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
            if self._turns is not None:
                self._turns.add(example)

    def keys_of(self, example: Example) -> tuple[int, int]:
        """A number for the context and one for the dialogue; 0 where there is no dialogue."""
        dialogue = self.hashed(example.dialogue_id) if example.dialogue_id else 0
        if self.pair_by is None:
            return self.hashed(pairing_key(example)), dialogue
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
        keys, dialogues = np.frombuffer(self._contexts, np.int64), np.frombuffer(self._dialogues, np.int64)
        grouping = self._grouping(keys, dialogues, self._continued)
        return grouping if self._turns is None else self._turns.paired(grouping)

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


def pairing_key(example: Example) -> tuple[object, ...]:
    """What replies to one context have in common, where no field was named to pair them by."""
    if example.context_id:
        return ("context_id", example.context_id)
    if example.context or example.references:
        return ("context", example.context, example.references)
    return ("id", example.id)


class _Turns:
    """What identifies each reply by its dialogue and its place in it, for logs of the same dialogues."""

    def __init__(self) -> None:
        self._systems, self._names = array("i"), dict[str, int]()
        self._dialogues, self._openings, self._places = array("q"), array("q"), array("i")
        self._named = self._by_dialogue = False
        """Whether some example says itself what it is paired by, and whether some say their dialogue."""

    def add(self, example: Example) -> None:
        """Take an example into account."""
        self._named = self._named or bool(example.context_id)
        self._by_dialogue = self._by_dialogue or bool(example.dialogue_id)
        self._systems.append(self._names.setdefault(example.system, len(self._names)))
        # A chat that is one example has an id of its own; other ids are those of single replies.
        is_chat = not TURN_ROLES.isdisjoint(example.speakers)
        named, asked = example.dialogue_id or (example.id if is_chat else ""), _first_asked(example)
        self._dialogues.append(hash(named) or 1 if named else 0)
        self._openings.append(hash(" ".join(asked.split())) or 1 if asked else 0)
        own = sum(speaker in REPLY_ROLES for speaker in example.speakers)
        self._places.append(own if is_chat else len(example.context))

    def paired(self, grouping: Grouping) -> Grouping:
        """The groups by dialogue, if that pairs more replies than the contexts do, and the ids mean the same dialogues
        in every system; else the given groups, and where the dialogues were looked at, what was found."""
        systems = np.frombuffer(self._systems, np.int32)
        dialogues = np.frombuffer(self._dialogues, np.int64)
        if self._named or len(self._names) < 2 or not dialogues.any():
            return grouping
        in_pairs = _in_all(grouping.contexts, systems)
        if in_pairs == len(systems):
            return grouping
        openings = self._compared(systems, dialogues)
        rows = dialogues != 0
        alone = np.unique(np.stack([systems[rows], dialogues[rows]]), axis=1).shape[1] == int(rows.sum())
        places = np.zeros(len(systems), np.int64) if alone else np.frombuffer(self._places, np.int32).astype(np.int64)
        turns = np.where(rows, dialogues ^ (places * _SPREAD), grouping.contexts)
        codes = _by_appearance(turns)
        if not all(found.agree for found in openings.values()) or _in_all(codes, systems) <= in_pairs:
            return replace(grouping, openings=openings)
        clusters = _by_appearance(np.where(rows, dialogues, grouping.contexts))
        if not self._by_dialogue:  # only chats have ids: what is known of their contexts still holds
            links = np.stack([clusters, grouping.clusters + clusters.max() + 1])
            clusters = _joined(clusters, links)
        return Grouping(
            codes,
            clusters,
            "dialogue",
            found_by="" if alone else "by their ids",
            paired_by="dialogue" if alone else "turn",
            histories=grouping.contexts,
            openings=openings,
        )

    def _compared(self, systems: NDArray[np.int32], dialogues: Ints) -> dict[tuple[str, str], Openings]:
        """For each two systems, the dialogue ids that they share."""
        openings = np.frombuffer(self._openings, np.int64)
        found = []
        for code in self._names.values():
            rows = np.flatnonzero((systems == code) & (dialogues != 0) & (openings != 0))
            names, first = np.unique(dialogues[rows], return_index=True)
            found.append((names, openings[rows[first]]))
        compared = {}
        for (a, (names_a, first_a)), (b, (names_b, first_b)) in combinations(zip(self._names, found, strict=True), 2):
            shared, at_a, at_b = np.intersect1d(names_a, names_b, assume_unique=True, return_indices=True)
            needed = max(2, math.ceil(min(len(names_a), len(names_b)) / 2))
            compared[a, b] = Openings(len(shared), int((first_a[at_a] == first_b[at_b]).sum()), needed)
        return compared


_SPREAD = 0x1E3779B97F4A7C15
"""An odd number that spreads places over 64 bits, so that dialogue and place have one number together."""


def _first_asked(example: Example) -> str:
    """The first turn of the context that is not a reply of the system; "" without any."""
    if not example.speakers:
        return example.context[0] if example.context else ""
    turns = zip(example.speakers, example.context, strict=True)
    return next((text for speaker, text in turns if speaker not in REPLY_ROLES), "")


def _in_all(codes: Ints, systems: NDArray[np.int32]) -> int:
    """How many examples are in groups that have one of every system."""
    count = int(systems.max()) + 1
    present = np.unique(codes * count + systems) // count
    complete = np.bincount(present, minlength=int(codes.max()) + 1) == count
    return int(complete[codes].sum())


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

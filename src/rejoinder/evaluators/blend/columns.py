"""The columns of a blend: scores of its members, what can be counted in a reply, and the rated rows it learns from."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.data.contexts import context_groups
from rejoinder.errors import CallError, DataError, NeedsError
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.blend.pairs import PairRows, PreferenceSet, pair_rows
from rejoinder.evaluators.calibration import observed_scale, on_our_scale
from rejoinder.folders.foreign import saved_arrays
from rejoinder.folders.saved import write_arrays
from rejoinder.learning.data import labels
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch, encodable
from rejoinder.progress import bar, moved_inside
from rejoinder.stats.correlation import midranks
from rejoinder.text.tokens import STOP_WORDS
from rejoinder.text.words import WordUsage, shipped_usage, words_of
from rejoinder.types import Example, JudgedExample

# The scores of a blend's members, computed once per reply.
#
# An ordinary member gives one column. An evaluator that computes further numbers on the way to its score (`readings`)
# gives a column for each of them as well. With a folder, columns are kept in a file per member, under a hash of each
# reply with its context and references, so that fitting again needs no new scores.


PART_WORDS = 40
"""Words of a reply that are shown at once to a member that reads only the beginning: about 55 tokens."""
MOST_PARTS = 10
"""Parts that are read of a reply: about 550 tokens."""
PIECE = 500
"""Replies that a member scores before its scores are saved."""
SCORE = "score"
"""The name of the column that every member has."""


def member_columns(member: Metric, batch: Batch) -> dict[str, Floats]:
    """Column -> one number per example; higher scores are better. NaN where the member cannot score.

    To a member that reads only the beginning of a long reply, the reply is shown in parts, and the mean counts.
    """
    if not (isinstance(member, Evaluator) and member.reads_beginning):
        return _columns(member, batch)
    parts = batch.keep("parts of replies", lambda: ReplyParts.of(batch))
    return {name: parts.mean(column) for name, column in _columns(member, parts.batch).items()}


@dataclass(frozen=True, eq=False)
class ReplyParts:
    """The replies of a batch in parts of at most PART_WORDS words, of nearly equal length."""

    batch: Batch
    owner: Ints
    """The example that each part belongs to. (parts,)"""
    words: Floats
    """(parts,)"""

    @classmethod
    def of(cls, batch: Batch) -> ReplyParts:
        """The parts; a batch without long replies is its own."""
        texts = [_parts(example.response) for example in batch.examples]
        owner = np.repeat(np.arange(len(texts)), [len(each) for each in texts])
        if len(owner) == len(batch):
            return cls(batch, owner, np.ones(len(owner)))
        shown = [
            replace(example, response=text) if len(each) > 1 else example
            for example, each in zip(batch.examples, texts, strict=True)
            for text in each
        ]
        return cls(Batch(shown), owner, np.array([len(example.response.split()) for example in shown], np.float64))

    def mean(self, column: Floats) -> Floats:
        """The mean over the parts of each example, weighted by their words. (parts,) -> (examples,)"""
        if len(self.owner) and len(self.owner) == self.owner[-1] + 1:
            return column
        total = np.bincount(self.owner, weights=self.words)
        mean: Floats = np.bincount(self.owner, weights=self.words * column) / np.maximum(total, 1)
        return mean


def _parts(reply: str) -> list[str]:
    if len(reply) <= PART_WORDS:  # the common case, without splitting
        return [reply]
    words = reply.split()[: MOST_PARTS * PART_WORDS]
    count = max(1, -(-len(words) // PART_WORDS))
    bounds = [len(words) * number // count for number in range(count + 1)]
    return [reply] if count == 1 else [" ".join(words[start:end]) for start, end in pairwise(bounds)]


def _columns(member: Metric, batch: Batch) -> dict[str, Floats]:
    sign = 1.0 if member.higher_is_better else -1.0
    columns = {SCORE: sign * np.where(batch.blank, np.nan, member.score_batch(batch))}
    if isinstance(member, Evaluator):
        columns |= dict(sorted(member.readings(batch).items()))  # in the order in which they are read from a file
    return columns


class MemberScores:
    """The columns of members for the same examples. What two members have in common is computed once.

    With a folder, columns are kept in one file per member, which is written after every PIECE replies: a run that was
    interrupted goes on from there.
    """

    def __init__(self, examples: Sequence[Example], folder: Path | None, *, quiet: bool = True) -> None:
        self.examples, self.folder, self.quiet = examples, folder, quiet
        self._keys = np.array(list(map(_key, examples)), np.uint64)
        self._batches: dict[bytes, Batch] = {}

    def columns(self, member: Metric) -> dict[str, Floats]:
        """Column -> one number per example; only those that are not yet in the folder are computed."""
        path, known = None, dict[str, NDArray[Any]]()
        if self.folder is not None:
            digest = blake2b(member.signature.encode(), digest_size=6).hexdigest()
            path = self.folder / f"{member.name}-{digest}.safetensors"
            with suppress(DataError):  # no file of an earlier run, or one that cannot be read
                known = dict(saved_arrays(path))
        new = np.flatnonzero(~np.isin(self._keys, known.get("keys", ())))
        _, first = np.unique(self._keys[new], return_index=True)
        rows = new[np.sort(first)]
        doing, faster = f"scoring with {member.name}", ("a blend without it", "fewer judged replies")
        with bar(doing, total=len(rows), unit="replies", quiet=self.quiet, faster=faster) as moving:
            for start in range(0, len(rows), PIECE):
                piece = rows[start : start + PIECE]
                with moved_inside(moving, len(piece)), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # replies without a score are NaN here, which the models handle
                    found = {"keys": self._keys[piece], **member_columns(member, self._batch(piece))}
                known = {name: np.concatenate([known.get(name, column[:0]), column]) for name, column in found.items()}
                if path is not None:
                    _keep(path, known)
        order = np.argsort(known["keys"])
        place = order[np.searchsorted(known["keys"], self._keys, sorter=order)]
        names = [SCORE, *sorted(known.keys() - {SCORE, "keys"})]
        return {name: known[name][place] for name in names}

    def _batch(self, rows: Ints) -> Batch:
        """A batch of these examples; the same one for every member, so that it remembers what one has computed."""
        key = rows.tobytes()
        if key not in self._batches:
            self._batches[key] = encodable(Batch([self.examples[row] for row in rows.tolist()]))
        return self._batches[key]


def _keep(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".part")
    write_arrays(fresh, columns)
    fresh.replace(path)


def _key(example: Example) -> int:
    parts = (example.response, example.context, example.references, example.speakers)
    return int.from_bytes(blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


# The rows that a blend is fitted on: columns of numbers, and the ratings of one or more sets.
#
# People's scales differ from set to set, and so does what they looked at. Only the order within a set is comparable, so
# that ratings become ranks or standard scores within their set. All sets have the same weight, whatever their size.


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
class LabelledRows:
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
    pairs: PairRows | None = None
    """Preferences, with the same columns."""

    def rows(self, chosen: Bools) -> LabelledRows:
        """Some of the rows, and all pairs."""
        names = ("columns", "human", "target", "weights", "sets", "groups")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def without(self, member: int) -> LabelledRows:
        """Without the columns of a member."""
        kept = self.owner != member
        names = tuple(name for name, keep in zip(self.names, kept, strict=True) if keep)
        pairs = None if self.pairs is None else self.pairs.with_columns(kept)
        return replace(self, columns=self.columns[:, kept], names=names, owner=self.owner[kept], pairs=pairs)


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


def labelled_rows(
    sets: Sequence[RatedSet],
    columns: Mapping[str, Floats],
    owner: Sequence[int],
    join: str,
    preferences: Sequence[PreferenceSet] = (),
) -> LabelledRows:
    """All rows of the sets, in their order; `columns` have one number per row, and then those of the preferences."""
    sizes = [len(each.human) for each in sets]
    rated = {name: column[: sum(sizes)] for name, column in columns.items()}
    compared = {name: column[sum(sizes) :] for name, column in columns.items()}
    weights = np.concatenate([np.full(size, sum(sizes) / (len(sizes) * size)) for size in sizes])
    return LabelledRows(
        np.stack(list(rated.values()), axis=1),
        tuple(columns),
        np.array(owner),
        np.concatenate([each.human for each in sets]),
        np.concatenate([joined_ratings(each.human, join) for each in sets]),
        weights,
        np.repeat(np.arange(len(sets)), sizes),
        context_groups([example for each in sets for example in each.examples]),
        pair_rows(preferences, compared, sum(sizes) / len(sizes)),
    )


def joined_ratings(human: Floats, join: str) -> Floats:
    """Ratings of one set with mean 0 and deviation 1: by their ranks, or as they are (`z-scores`)."""
    values = midranks(human) if join == "ranks" else human
    standard: Floats = (values - values.mean()) / values.std()
    return standard


# Nine numbers that can be counted in a reply and its context, without any model.


LENGTH = "log length"
SURFACE = (
    LENGTH,
    "distinct share",
    "overlap with last turn",
    "overlap with context",
    "question mark",
    "closing punctuation",
    "content share",
    "turns",
    "log length of last turn",
)
"""The names of the columns."""

_CLOSING = tuple(".!?…。！？\"'”’)")
_MOST_TURNS = 10


def surface_columns(examples: Sequence[Example]) -> Floats:
    """One row per example: see SURFACE. NaN for an overlap with a context that does not exist. (examples, 9)"""
    return np.array(list(map(_surface_row, examples)), np.float64).reshape(len(examples), len(SURFACE))


def _surface_row(example: Example) -> list[float]:
    words = words_of(example.response)
    content = [word for word in words if word not in STOP_WORDS]
    last = set(words_of(example.context[-1])) if example.context else set()
    before = last.union(*map(words_of, example.context[:-1]))
    text = example.response.rstrip()
    return [
        math.log1p(len(words)),
        len(set(words)) / len(words) if words else 1.0,
        _share(content, last) if example.context else math.nan,
        _share(content, before) if example.context else math.nan,
        float("?" in text),
        float(text.endswith(_CLOSING)),
        len(content) / len(words) if words else 0.0,
        float(min(len(example.context), _MOST_TURNS)),
        math.log1p(len(words_of(example.context[-1]))) if example.context else math.nan,
    ]


def _share(words: Sequence[str], among: set[str]) -> float:
    """The share of the words that are among others; 0 without words."""
    return sum(map(among.__contains__, words)) / len(words) if words else 0.0


# How much a reply says: whether its words, their order and the whole reply are usual in dialogues, and what is new.
#
# The information of a word is high if few turns have it. A reply that fits everywhere has words of little
# information, in an order that is often seen.


SPECIFICITY = (
    "mean information",
    "highest information",
    "log information",
    "information in last turn",
    "information in context",
    "log new information",
    "usual order",
    "log usual reply",
)
"""The names of the columns."""

_MOST_WORDS = 400


def specificity_columns(examples: Sequence[Example]) -> Floats:
    """One row per example: see SPECIFICITY. NaN for a share that is in a context that does not exist. (examples, 8)"""
    usage = shipped_usage()
    rows = [_specificity_row(example, usage) for example in examples]
    return np.array(rows, np.float64).reshape(len(examples), len(SPECIFICITY))


def _specificity_row(example: Example, usage: WordUsage) -> list[float]:
    words = words_of(example.response)[:_MOST_WORDS]
    known = {word: usage.information(word) for word in words}
    last = set(words_of(example.context[-1])) if example.context else set()
    before = last.union(*map(words_of, example.context[:-1]))
    whole = sum(known.values())
    in_last, in_context = (sum(known[word] for word in known if word in among) for among in (last, before))
    return [
        whole / len(known) if known else 0.0,
        max(known.values(), default=0.0),
        math.log1p(whole),
        in_last / max(whole, 1.0) if example.context else math.nan,
        in_context / max(whole, 1.0) if example.context else math.nan,
        math.log1p(whole - in_context),
        usage.usual_order(words),
        math.log1p(usage.turn_count(words)),
    ]


# The form of a reply, and what may make the same form good in one place and bad in another.
#
# People like long and structured replies where they asked for something to be explained or written, and short ones in
# chat. A linear model learns that from products: of the length with what was asked, and of it with each member's score.


FORM = (
    "log list items",
    "code",
    "log sentences",
    "log questions before",
    "questions answered",
    "request before",
    "log length by last turn",
    "log length by questions",
    "log length by request",
    "log length by list items",
    "log length by turns",
)
"""The names of the columns."""
BY_LENGTH = "log length by {}"
"""The name of the product with a member's score."""

_ITEM = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S", re.M)
_CODE = re.compile(r"^[ \t]*(?:```|~~~)|`[^`\n]+`", re.M)
_SENTENCE = re.compile(r"[.!?…。！？]+(?:\s|$)")
_QUESTION = re.compile(r"[^.!?\n]*\?")
_REQUEST = frozenset(
    "write explain list give tell describe create generate make help compare summarise summarize translate suggest "
    "show find provide rewrite edit classify compose design identify name draft argue calculate convert".split()
)
"""Words that a request begins with, or that follow `please`, `can you` and `could you`."""
_POLITE = frozenset("please can could would you i want need to me help".split())


def form_columns(examples: Sequence[Example]) -> Floats:
    """One row per example: see FORM. (examples, 11)"""
    return np.array(list(map(_form_row, examples)), np.float64).reshape(len(examples), len(FORM))


def _form_row(example: Example) -> list[float]:
    text, last = example.response, example.context[-1] if example.context else ""
    words = words_of(text)
    length, items = math.log1p(len(words)), math.log1p(len(_ITEM.findall(text)))
    questions = [set(words_of(each)) - STOP_WORDS for each in _QUESTION.findall(last)]
    answered = [bool(each & set(words)) for each in questions if each]
    asked, before = math.log1p(len(questions)), words_of(last)
    request = float(any(word in _REQUEST for word in _first_words(before)))
    return [
        items,
        float(_CODE.search(text) is not None),
        math.log1p(len(_SENTENCE.findall(text))),
        asked,
        sum(answered) / len(answered) if answered else 0.0,
        request,
        length * math.log1p(len(before)),
        length * asked,
        length * request,
        length * items,
        length * min(len(example.context), _MOST_TURNS),
    ]


def _first_words(words: Sequence[str]) -> Sequence[str]:
    """The words up to the first that is not one of politeness."""
    for place, word in enumerate(words):
        if word not in _POLITE:
            return words[: place + 1]
    return words

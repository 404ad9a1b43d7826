"""Models that copy a reply of their corpus, and how one occurrence of the true reply is ignored.

Liu et al. 2016 (section 3) remove one occurrence of the true reply from the corpus before retrieving the best of the
rest. The same text may still be found where it answered another context.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.data.negatives import Place, places_of
from rejoinder.errors import DataError, NeedsError
from rejoinder.learning.saving import read_arrays, read_texts, write_arrays, write_texts
from rejoinder.loading.array_schema import Array
from rejoinder.reply_models.base import Context, ReplyModel, Request
from rejoinder.types import Dialogue, Scores

REPLIES = "replies.safetensors"
ROWS = "rows.safetensors"
_ROWS = {"occurrences": Array("i", ("rows",), low=0), "context_hashes": Array("i", ("any hashes",), low=0)}


@dataclasses.dataclass(frozen=True, eq=False)
class Corpus:
    """The replies that may be copied. A row is compared with contexts: it is a reply, or a context with its reply."""

    replies: tuple[str, ...]
    """The different ones."""
    reply_of_row: Ints  # (rows,)
    occurrences: Ints
    """How often each row occurs in the dialogues. (rows,)"""
    context_hashes: NDArray[np.uint64]
    """The context that each row answers; empty if rows are replies. (rows,) or (0,)"""

    @classmethod
    def of_replies(cls, places: Sequence[Place]) -> Corpus:
        """One row per different reply."""
        counted: dict[str, int] = {}
        for place in places:
            counted[place.response] = counted.get(place.response, 0) + 1
        counts = np.fromiter(counted.values(), np.int64, len(counted))
        return cls(tuple(counted), np.arange(len(counted)), counts, np.empty(0, np.uint64))

    @classmethod
    def of_contexts(cls, places: Sequence[Place]) -> Corpus:
        """One row per place, compared by its context."""
        numbers: dict[str, int] = {}
        owner = [numbers.setdefault(place.response, len(numbers)) for place in places]
        hashes = np.fromiter((context_hash(place.context) for place in places), np.uint64, len(places))
        return cls(tuple(numbers), np.array(owner, np.int64), np.ones(len(places), np.int64), hashes)

    @classmethod
    def load(cls, folder: Path) -> Corpus:
        """What `save` wrote into the folder."""
        replies, path = read_texts(folder / REPLIES), folder / ROWS
        if len(set(replies)) != len(replies) or not replies:
            raise DataError("must hold different replies", file=str(folder / REPLIES))
        arrays = read_arrays(path, {**_ROWS, "reply_of_row": Array("i", ("rows",), low=0, high=len(replies) - 1)})
        hashes = arrays["context_hashes"]
        if len(hashes) not in {0, len(arrays["reply_of_row"])}:
            raise DataError("must be one per row, or none", file=str(path), field="context_hashes")
        if len(np.unique(arrays["reply_of_row"])) != len(replies):
            raise DataError("must name every reply", file=str(path), field="reply_of_row")
        integers = {name: arrays[name].astype(np.int64) for name in ("reply_of_row", "occurrences")}
        return cls(replies, **integers, context_hashes=hashes.astype(np.uint64))

    def save(self, folder: Path) -> None:
        """Write the corpus into a folder."""
        write_texts(folder / REPLIES, self.replies)
        arrays = {name: getattr(self, name) for name in ("reply_of_row", "occurrences", "context_hashes")}
        write_arrays(folder / ROWS, arrays)

    def __len__(self) -> int:
        return len(self.reply_of_row)

    def left_out(self, request: Request) -> Ints:
        """The row that each context must not be answered with; -1 for none. (contexts,)"""
        if request.true_replies is None:
            return np.full(len(request.contexts), -1)
        pairs = zip(request.contexts, request.true_replies, strict=True)
        return np.array([self._left_out(context, truth) for context, truth in pairs], np.int64)

    def text(self, row: int) -> str:
        """The reply of a row."""
        return self.replies[int(self.reply_of_row[row])]

    def _left_out(self, context: Context, truth: str) -> int:
        rows = self._rows_of_reply.get(truth)
        if rows is None:
            return -1
        if not len(self.context_hashes):  # one row stands for all occurrences
            return int(rows[0]) if self.occurrences[rows[0]] == 1 else -1
        own = rows[self.context_hashes[rows] == np.uint64(context_hash(context))]
        return int(own[0] if len(own) else rows[0])

    @cached_property
    def _rows_of_reply(self) -> Mapping[str, Ints]:
        order = np.argsort(self.reply_of_row, kind="stable")
        cuts = np.searchsorted(self.reply_of_row[order], np.arange(1, len(self.replies)))
        return dict(zip(self.replies, np.split(order, cuts), strict=True))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Retrieval(ReplyModel):
    """Copies the reply of the row nearest to the context."""

    corpus_: Corpus = dataclasses.field(init=False, repr=False, compare=False)

    @abstractmethod
    def best_rows(self, contexts: Sequence[Context], left_out: Ints, seeds: Sequence[int]) -> Ints:
        """The row nearest to each context, except the one left out; the seed decides where no row is near."""

    @abstractmethod
    def candidate_scores(self, contexts: Sequence[Context], candidates: Sequence[Sequence[str]]) -> list[Scores]:
        """How well each candidate answers its context; higher is better. One array per context."""

    def answer(self, request: Request) -> list[str]:
        """The reply of the nearest row."""
        rows = self.best_rows(request.contexts, self.corpus_.left_out(request), request.seeds)
        return [self.corpus_.text(row) for row in rows.tolist()]


def places_to_learn(name: str, dialogues: Iterable[Dialogue]) -> list[Place]:
    """Every reply of the dialogues; NeedsError if there are fewer than two, because one may be left out."""
    places = places_of(dialogues)
    if len(places) < 2:
        raise NeedsError(f"{name} copies replies: expected dialogues with at least two replies, found {len(places)}")
    return places


def context_hash(context: Context) -> int:
    """A hash of a context's exact text."""
    text = "\n".join(context).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest())


def context_text(context: Context, turns: int | None) -> str:
    """The last turns of a context as one text; all of them if `turns` is None."""
    return "\n".join(context if turns is None else context[-turns:])

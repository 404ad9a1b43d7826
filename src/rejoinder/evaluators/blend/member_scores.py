"""The scores of a blend's members, computed once per reply.

An ordinary member gives one column. An evaluator that computes further numbers on the way to its score (`readings`)
gives a column for each of them as well. With a folder, columns are kept in a file per member, under a hash of each
reply with its context and references, so that fitting again needs no new scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.errors import DataError
from rejoinder.evaluators.base import Evaluator
from rejoinder.learning.saving import write_arrays
from rejoinder.loading.foreign import saved_arrays
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch, encodable
from rejoinder.types import Example

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
    parts = batch.keep("parts of replies", lambda: Parts.of(batch))
    return {name: parts.mean(column) for name, column in _columns(member, parts.batch).items()}


@dataclass(frozen=True, eq=False)
class Parts:
    """The replies of a batch in parts of at most PART_WORDS words, of nearly equal length."""

    batch: Batch
    owner: Ints
    """The example that each part belongs to. (parts,)"""
    words: Floats
    """(parts,)"""

    @classmethod
    def of(cls, batch: Batch) -> Parts:
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

    def __init__(self, examples: Sequence[Example], folder: Path | None) -> None:
        self.examples, self.folder = examples, folder
        self._keys = np.array([_key(example) for example in examples], np.uint64)
        self._batches: dict[bytes, Batch] = {}

    def columns(self, member: Metric) -> dict[str, Floats]:
        """Column -> one number per example; only those that are not yet in the folder are computed."""
        path = self._file(member)
        known = _kept(path)
        new = np.flatnonzero(~np.isin(self._keys, known.get("keys", ())))
        _, first = np.unique(self._keys[new], return_index=True)
        rows = new[np.sort(first)]
        for start in range(0, len(rows), PIECE):
            piece = rows[start : start + PIECE]
            found = {"keys": self._keys[piece], **_columns_of(member, self._batch(piece))}
            known = {name: np.concatenate([known.get(name, column[:0]), column]) for name, column in found.items()}
            if path is not None:
                _keep(path, known)
        order = np.argsort(known["keys"])
        place = order[np.searchsorted(known["keys"], self._keys, sorter=order)]
        names = [SCORE, *sorted(known.keys() - {SCORE, "keys"})]
        return {name: known[name][place] for name in names}

    def _file(self, member: Metric) -> Path | None:
        if self.folder is None:
            return None
        return (
            self.folder / f"{member.name}-{blake2b(member.signature.encode(), digest_size=6).hexdigest()}.safetensors"
        )

    def _batch(self, rows: Ints) -> Batch:
        """A batch of these examples; the same one for every member, so that it remembers what one has computed."""
        key = rows.tobytes()
        if key not in self._batches:
            self._batches[key] = encodable(Batch([self.examples[row] for row in rows.tolist()]))
        return self._batches[key]


def _kept(path: Path | None) -> Mapping[str, NDArray[Any]]:
    """The arrays of an earlier run; none if there is no file, or one that cannot be read."""
    try:
        return {} if path is None else saved_arrays(path)
    except DataError:
        return {}


def _keep(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".part")
    write_arrays(fresh, columns)
    fresh.replace(path)


def _columns_of(member: Metric, batch: Batch) -> dict[str, Floats]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # replies without a score are NaN here, which the models handle
        return member_columns(member, batch)


def _key(example: Example) -> int:
    parts = (example.response, example.context, example.references, example.speakers)
    return int.from_bytes(blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")

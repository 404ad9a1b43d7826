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
from rejoinder.metrics.batch import BATCH, Batch, encodable
from rejoinder.progress import bar, moved_inside
from rejoinder.types import Example

PART_WORDS = 40
"""Words of a reply that are shown at once to a member that reads only the beginning: about 55 tokens."""
MOST_PARTS = 10
"""Parts that are read of a reply: about 550 tokens."""
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


def cached_columns(
    member: Metric, examples: Sequence[Example], folder: Path | None, *, quiet: bool = True
) -> dict[str, Floats]:
    """The member's columns for these examples; those of replies that are not yet in the folder are computed."""
    if folder is None:
        return _computed(member, examples, quiet=quiet)
    path = folder / f"{member.name}-{blake2b(member.signature.encode(), digest_size=6).hexdigest()}.safetensors"
    known, keys = _kept(path), np.array([_key(example) for example in examples], np.uint64)
    new = np.flatnonzero(~np.isin(keys, known["keys"]))
    if len(new):
        _, first = np.unique(keys[new], return_index=True)
        rows = new[np.sort(first)]
        found = _computed(member, [examples[row] for row in rows], quiet=quiet)
        joined = {name: np.concatenate([known.get(name, np.empty(0)), column]) for name, column in found.items()}
        known = {"keys": np.concatenate([known["keys"], keys[rows]]), **joined}
        folder.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".part")
        write_arrays(fresh, known)
        fresh.replace(path)
    order = np.argsort(known["keys"])
    place = order[np.searchsorted(known["keys"], keys, sorter=order)]
    names = [SCORE, *sorted(known.keys() - {SCORE, "keys"})]
    return {name: known[name][place] for name in names}


def _kept(path: Path) -> Mapping[str, NDArray[Any]]:
    """The arrays of an earlier run; none if there is no file, or one that cannot be read."""
    try:
        return saved_arrays(path)
    except DataError:
        return {"keys": np.empty(0, np.uint64)}


def _computed(member: Metric, examples: Sequence[Example], *, quiet: bool) -> dict[str, Floats]:
    batches = [encodable(Batch(examples[start : start + BATCH])) for start in range(0, len(examples), BATCH)]
    doing, faster = f"scoring with {member.name}", ("a blend without it", "fewer judged replies")
    parts = []
    with (
        warnings.catch_warnings(),
        bar(doing, total=len(examples), unit="replies", quiet=quiet, faster=faster) as moving,
    ):
        warnings.simplefilter("ignore")  # replies without a score are NaN here, which the models handle
        for batch in batches:
            with moved_inside(moving, len(batch)):
                parts.append(member_columns(member, batch))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _key(example: Example) -> int:
    parts = (example.response, example.context, example.references, example.speakers)
    return int.from_bytes(blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")

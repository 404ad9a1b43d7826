"""The data that an evaluator is fitted on, its splits, and its batches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.arrays import Ints
from rejoinder.data.contexts import TrainedContexts, dialogues_digest, digest_of
from rejoinder.errors import CallError, NeedsError, UnknownNameError
from rejoinder.learning.run import TrainingRun
from rejoinder.types import Dialogue, Example, JudgedExample, Scores

# The data that an evaluator is fitted on.


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Dialogues, judged replies and a random seed: with an evaluator's parameters, all that decides what is learned."""

    dialogues: tuple[Dialogue, ...] = ()
    judged: tuple[JudgedExample, ...] = ()
    """Judged examples to learn from."""
    valid: tuple[JudgedExample, ...] = ()
    """Judged examples for early stopping, never to learn from."""
    seed: int = 0
    run: TrainingRun = field(default_factory=TrainingRun)
    """How training is carried out: checkpoints, time limit, progress."""

    @classmethod
    def of(
        cls,
        dialogues: Iterable[Dialogue],
        judged: Iterable[JudgedExample] = (),
        valid: Iterable[JudgedExample] = (),
        seed: int = 0,
        run: TrainingRun | None = None,
    ) -> TrainingData:
        """Judged examples are sorted by their `split`; those of the split `test` are left out."""
        items = tuple(judged)
        return cls(
            tuple(dialogues),
            tuple(item for item in items if item.split not in {"valid", "test"}),
            (*(item for item in items if item.split == "valid"), *valid),
            seed,
            run or TrainingRun(),
        )

    @cached_property
    def digest(self) -> str:
        """A hash of all dialogues and judged examples, without the seed."""
        return digest_of([dialogues_digest(self.dialogues), _judged_digest(self.judged), _judged_digest(self.valid)])

    @cached_property
    def contexts(self) -> TrainedContexts:
        """The contexts of all dialogues and judged examples."""
        return TrainedContexts.of(self.judged_examples) | self.dialogue_contexts

    @property
    def dialogue_contexts(self) -> TrainedContexts:
        """The contexts of the dialogues alone."""
        return _corpus_contexts(self.dialogues)

    @property
    def judged_examples(self) -> list[Example]:
        """All examples whose ratings are used."""
        return [item.example for item in (*self.judged, *self.valid)]


def labels(judged: Sequence[JudgedExample], dimension: str | None = None) -> tuple[list[Example], Scores]:
    """The examples that were rated on a dimension, and the mean rating of each.

    Without `dimension` the data must have only one, or one called overall.
    """
    known = dict.fromkeys(name for item in judged for name in item.scores)
    chosen = _chosen(list(known)) if dimension is None else dimension
    if chosen not in known:
        raise UnknownNameError("dimension", chosen, known)
    rated = [
        (item.example, math.fsum(ratings) / len(ratings))
        for item in judged
        if (ratings := [rating for rating in item.scores.get(chosen, ()) if not math.isnan(rating)])
    ]
    if not rated:
        raise NeedsError(f"nobody rated {chosen}: expected a rating of at least one judged example")
    return [example for example, _ in rated], np.array([mean for _, mean in rated], np.float64)


def examples_digest(examples: Iterable[Example]) -> str:
    """A hash of the examples."""
    return digest_of(_plain(example) for example in examples)


def _judged_digest(judged: Iterable[JudgedExample]) -> str:
    return digest_of([*_plain(item.example), item.scores] for item in judged)


# Every cell of an experiment is fitted on the same dialogues, of which there may be very many.
@lru_cache(maxsize=2)
def _corpus_contexts(dialogues: tuple[Dialogue, ...]) -> TrainedContexts:
    return TrainedContexts.within(dialogues)


def _plain(example: Example) -> list[Any]:
    lists = [example.context, example.references, example.speakers]
    return [example.id, example.system, example.context_id, example.response, *lists]


def _chosen(known: Sequence[str]) -> str:
    overall = [name for name in known if name.lower().startswith("overall")]
    candidates = overall or list(known)
    if len(candidates) != 1:
        listed = ", ".join(known) if known else "none"
        raise CallError(f"cannot tell which dimension to learn: expected one, or one called overall, found {listed}")
    return candidates[0]


# Splits that keep groups together: replies to one context are never on both sides of a split.


DrawSeed = int | Sequence[int]


def held_out(
    groups: ArrayLike, share: float, seed: DrawSeed, *, fewest: int = 1, most: int | None = None
) -> NDArray[np.bool_]:
    """Which rows to hold out: those of a random share of the groups, at most `most` groups.

    With fewer than `fewest` groups no row is held out.
    """
    names, codes = np.unique(np.asarray(groups), return_inverse=True)
    count = round(share * len(names)) if len(names) >= fewest else 0
    return drawn_groups(codes, count if most is None else min(count, most), seed)


def drawn_groups(groups: ArrayLike, count: int, seed: DrawSeed) -> NDArray[np.bool_]:
    """Which rows belong to `count` random groups; all rows where there are no more groups than that."""
    names, codes = np.unique(np.asarray(groups), return_inverse=True)
    return np.isin(codes, np.random.default_rng(seed).permutation(len(names))[:count])


def fold_of_groups(groups: ArrayLike, folds: int, seed: DrawSeed, *, by_size: bool = True) -> Ints:
    """The fold of each row; groups are kept whole, and assigned in random order.

    With `by_size` each group goes to the fold with the fewest rows so far; otherwise folds have equal numbers of
    groups, regardless of their sizes.
    """
    names, codes = np.unique(np.asarray(groups), return_inverse=True)
    if len(names) < folds:
        raise NeedsError(f"{len(names)} contexts cannot be split into {folds} folds: expected at least {folds}")
    order = np.random.default_rng(seed).permutation(len(names))
    if not by_size:
        return np.asarray(order[codes] % folds, np.int64)
    sizes = np.bincount(codes)
    filled, fold_of = np.zeros(folds, np.int64), np.empty(len(names), np.int64)
    for group in order:
        fold_of[group] = np.argmin(filled)
        filled[fold_of[group]] += sizes[group]
    return fold_of[codes]


# Batches of sequences of similar length, so that little of a batch is padding.


BATCH_COST = 16
"""What a batch costs beside its tokens, expressed in tokens: 3 to 6 ms at .33 ms per token, measured with ONNX Runtime
on one core; torch was not measured."""


class EncodedPair(NamedTuple):
    """The token ids of a text pair, with the segment of each token: 0 or 1, or its part of a branching row."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    positions: tuple[int, ...] | None = None
    """The position of each token of a branching row within its text; None: positions count from 0."""


class TokenRow(Protocol):
    """Anything with token ids."""

    @property
    def ids(self) -> tuple[int, ...]:
        """The token ids."""


def by_length(encoded: Sequence[TokenRow], tokens: int) -> list[list[int]]:
    """Row numbers in batches of at most `tokens` tokens, including padding; longest first, no row left out.

    The sorted rows are cut where padding and the number of batches together cost the least. The batches depend on the
    rows' content and not on their order.
    """
    order = sorted(range(len(encoded)), key=lambda row: (-len(encoded[row].ids), encoded[row].ids))
    widths = [len(encoded[row].ids) for row in order]
    cost = [0, *(math.inf for _ in order)]  # of the rows before each place
    begin = [0] * (len(order) + 1)  # where the batch that ends before each place begins
    for start, width in enumerate(widths):
        for end in range(start + 1, max(start + 1, min(start + tokens // max(width, 1), len(order))) + 1):
            found = cost[start] + width * (end - start) + BATCH_COST
            if found < cost[end]:
                cost[end], begin[end] = found, start
    batches: list[list[int]] = []
    end = len(order)
    while end:
        batches.append(order[begin[end] : end])
        end = begin[end]
    return batches[::-1]


def buckets(lengths: Sequence[int], size: int, rng: np.random.Generator, *, fewest: int = 1) -> list[list[int]]:
    """Row numbers in shuffled batches of `size` rows of similar length; one may be smaller.

    Rows are shuffled, sorted by length within chunks of 50 batches and cut into batches, which are shuffled: random
    enough to learn from, with a tenth of the padding. A batch of fewer than `fewest` rows is joined with another.
    """
    order = rng.permutation(len(lengths))
    cut: list[list[int]] = []
    chunk = size * 50
    for start in range(0, len(order), chunk):
        part = sorted(order[start : start + chunk].tolist(), key=lambda row: lengths[row])
        cut += [part[at : at + size] for at in range(0, len(part), size)]
    batches = [cut[place] for place in rng.permutation(len(cut))]
    return [rows if len(rows) >= fewest else [*rows, *batches[at - 1]] for at, rows in enumerate(batches)]


def padded(encoded: Sequence[EncodedPair], pad: int) -> dict[str, Ints]:
    """The rows as a network's input arrays, padded to the longest. Each (rows, longest)

    A cross-encoder takes input_ids, attention_mask and token_type_ids; a branching encoder takes input_ids, positions
    and parts, where part 0 is padding.
    """
    longest = max(len(row.ids) for row in encoded)
    ids = np.full((len(encoded), longest), pad, np.int64)
    types, mask, positions = np.zeros_like(ids), np.zeros_like(ids), np.zeros_like(ids)
    for place, row in enumerate(encoded):
        ids[place, : len(row.ids)] = row.ids
        types[place, : len(row.ids)] = row.types
        mask[place, : len(row.ids)] = 1
        positions[place, : len(row.ids)] = row.positions or 0
    if encoded[0].positions is None:
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    return {"input_ids": ids, "positions": positions, "parts": types}


def shuffled(count: int, size: int, rng: np.random.Generator) -> list[list[int]]:
    """The numbers below `count` in shuffled batches of `size`; the last may be smaller."""
    order = rng.permutation(count).tolist()
    return [order[start : start + size] for start in range(0, count, size)]

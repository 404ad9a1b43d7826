"""The data that an evaluator is fitted on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from rejoinder.data.contexts import TrainedContexts
from rejoinder.data.digests import dialogues_digest, digest_of
from rejoinder.errors import CallError, NeedsError, UnknownNameError
from rejoinder.learning.run import TrainingRun
from rejoinder.types import Dialogue, Example, JudgedExample, Scores


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


# Every cell of an experiment's grid is fitted on the same dialogues, of which there may be very many.
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

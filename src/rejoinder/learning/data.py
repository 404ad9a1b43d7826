"""What an evaluator is fitted on."""

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
    """Dialogues, judged replies and a seed: all that decides what is learned, beside the evaluator's parameters."""

    dialogues: tuple[Dialogue, ...] = ()
    judged: tuple[JudgedExample, ...] = ()
    """To learn from."""
    valid: tuple[JudgedExample, ...] = ()
    """To decide by when to stop, where an evaluator wants to; never to learn from."""
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
        """Judged examples go where their `split` says; those of the split `test` are left out."""
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
        """Changes when any dialogue or judged example does; the seed is not in it."""
        return digest_of([dialogues_digest(self.dialogues), _judged_digest(self.judged), _judged_digest(self.valid)])

    @cached_property
    def contexts(self) -> TrainedContexts:
        """The contexts of all of it."""
        return TrainedContexts.of(self.judged_examples) | self.dialogue_contexts

    @property
    def dialogue_contexts(self) -> TrainedContexts:
        """The contexts of the dialogues alone."""
        return _corpus_contexts(self.dialogues)

    @property
    def judged_examples(self) -> list[Example]:
        """All examples whose ratings are looked at."""
        return [item.example for item in (*self.judged, *self.valid)]


def labels(judged: Sequence[JudgedExample], dimension: str | None = None) -> tuple[list[Example], Scores]:
    """The examples that people rated on a dimension, and the mean rating of each.

    Without a dimension the data must have one only, or one that is called overall.
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
    """Changes when any example does."""
    return digest_of(_plain(example) for example in examples)


def _judged_digest(judged: Iterable[JudgedExample]) -> str:
    return digest_of([*_plain(item.example), item.scores] for item in judged)


# Every cell of a grid is fitted on the same dialogues, of which there may be very many.
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

"""A cell of a grid: one fit and one test."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rejoinder.data.digests import digest_of
from rejoinder.evaluators.base import Evaluator
from rejoinder.learning.data import examples_digest
from rejoinder.types import Dialogue, Example, JudgedExample


@dataclass(frozen=True, eq=False)
class Cell:
    """An unfitted evaluator, the data to fit it on, and the examples to score."""

    label: str
    """The evaluator's label."""
    evaluator: Evaluator
    train: tuple[JudgedExample, ...]
    test: tuple[Example, ...]
    dialogues: tuple[Dialogue, ...] = ()
    seed: int = 0
    train_set: str = ""
    test_set: str = ""
    """Names of the data sets; context ids are compared only within one set."""

    @cached_property
    def fit_key(self) -> str:
        """A hash of everything that determines the fitted evaluator."""
        kind = f"{type(self.evaluator).__module__}.{type(self.evaluator).__qualname__}"
        data = self.evaluator.training_data(self.dialogues, self.train, seed=self.seed)
        return digest_of([kind, self.evaluator.signature, data.digest, self.seed])

    @cached_property
    def key(self) -> str:
        """A hash of everything that determines the scores."""
        return digest_of([self.fit_key, examples_digest(self.test)])

    def fit(self) -> Evaluator:
        """The evaluator, fitted."""
        return self.evaluator.clone().fit(self.dialogues, self.train, seed=self.seed)

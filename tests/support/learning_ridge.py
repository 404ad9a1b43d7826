"""A small evaluator that can be learned well, and judged data to learn it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from rejoinder.data.judged import JudgedSet
from rejoinder.evaluators.base import Evaluator, Use
from rejoinder.learning.data import TrainingData, labels
from rejoinder.metrics.batch import Batch
from rejoinder.types import Example, JudgedExample, Scores

WORDS = [f"w{number}" for number in range(60)]


@dataclass(frozen=True, kw_only=True)
class RidgeEvaluator(Evaluator):
    """Ridge regression of the rating on length, overlap with the context, and the words themselves."""

    name: ClassVar[str] = "ridge"
    measures: ClassVar[str] = "rating predicted from surface features"
    citation: ClassVar[str] = "these tests"
    labels: ClassVar[Use] = "needed"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    raw_range: ClassVar[tuple[float, float]] = (1.0, 5.0)
    fits: ClassVar[list[TrainingData]] = []
    """What was fitted on, fit by fit, for tests to look at."""

    alpha: float = 1.0

    weights_: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    start_: float = field(init=False, repr=False, compare=False)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        self.fits.append(data)
        examples, human = labels(data.judged)
        model = Ridge(alpha=self.alpha).fit(features(examples), human)
        return {"weights_": np.asarray(model.coef_), "start_": float(model.intercept_)}

    def predict(self, batch: Batch) -> Scores:
        predicted: Scores = np.clip(features(batch.examples) @ self.weights_ + self.start_, *self.raw_range)
        return predicted


def features(examples: Sequence[Example]) -> NDArray[np.float64]:
    """Length, characters a word, overlap with the context, question mark, and how often each known word occurs."""
    rows = []
    for example in examples:
        words = example.response.split()
        before = {word for turn in example.context for word in turn.split()}
        shared = sum(word in before for word in words) / max(len(words), 1)
        surface = [len(words) / 10, len(example.response) / max(len(words), 1) / 5, shared, "?" in example.response]
        rows.append([*surface, *(words.count(word) for word in WORDS)])
    return np.array(rows, np.float64).reshape(len(examples), 4 + len(WORDS))


def synthetic(
    contexts: int = 60, systems: Sequence[str] = ("a", "b", "c"), *, seed: int = 0, name: str = "made"
) -> JudgedSet:
    """Replies whose rating is the sum of the worth of their words: much to learn, and only from many labels."""
    worth = np.random.default_rng(99).normal(0, 0.6, len(WORDS))
    rng = np.random.default_rng(seed)
    made = []
    for context in range(contexts):
        text = (f"this is the {name} opening {context}", f"this is the {name} question {context}")
        for system in systems:
            drawn = rng.integers(0, len(WORDS), 4)
            quality = 3 + worth[drawn].sum() + rng.normal(0, 0.4, 2)
            example = Example(f"{context}-{system}", text, " ".join(WORDS[word] for word in drawn), (), system)
            made.append(JudgedExample(example, {"overall": tuple(np.clip(quality, 1, 5).tolist())}, split(context)))
    return JudgedSet.of(made, name)


def split(context: int) -> str:
    """A published split that is by context: 6 / 2 / 2."""
    return "train" if context % 10 < 6 else "valid" if context % 10 < 8 else "test"

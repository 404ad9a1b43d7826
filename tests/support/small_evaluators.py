"""Two small evaluators that the contract is tested on: one learns from labels, one from dialogues alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.evaluators.base import Evaluator, Use
from rejoinder.learning.data import TrainingData, labels
from rejoinder.metrics.batch import Batch
from rejoinder.types import Dialogue, Example, JudgedExample, Scores


@dataclass(frozen=True, kw_only=True)
class Lengthy(Evaluator):
    """The rating as a straight line over the length of the reply; the seed draws a little noise."""

    name: ClassVar[str] = "lengthy"
    measures: ClassVar[str] = "how long a reply is, on the human scale"
    citation: ClassVar[str] = "these tests"
    labels: ClassVar[Use] = "needed"
    dialogues: ClassVar[Use] = "unused"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    raw_range: ClassVar[tuple[float, float]] = (1.0, 5.0)

    most: int = 50
    cuts: tuple[int, ...] = (5, 10)

    line_: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    rated_: int = field(init=False, repr=False, compare=False)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        examples, human = labels(data.judged)
        noise = np.random.default_rng(data.seed).normal(0, 1e-3, len(human))
        line, *_ = np.linalg.lstsq(self._columns(examples), human + noise, rcond=None)
        return {"line_": line, "rated_": len(human)}

    def predict(self, batch: Batch) -> Scores:
        predicted: Scores = np.clip(self._columns(batch.examples) @ self.line_, *self.raw_range)
        return predicted

    def _columns(self, examples: Any) -> NDArray[np.float64]:
        lengths = [min(len(example.response.split()), self.most) for example in examples]
        return np.stack([np.ones(len(lengths)), np.array(lengths, np.float64)], axis=1)


@dataclass(frozen=True, kw_only=True)
class Familiar(Evaluator):
    """The share of a reply's words that the dialogues have; all that it learns is plain text."""

    name: ClassVar[str] = "familiar"
    measures: ClassVar[str] = "share of words that are known from dialogues"
    citation: ClassVar[str] = "these tests"
    labels: ClassVar[Use] = "unused"
    dialogues: ClassVar[Use] = "needed"

    least: int = 1

    words_: list[str] = field(init=False, repr=False, compare=False)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        counts = Counter(word for dialogue in data.dialogues for turn in dialogue.turns for word in turn.split())
        return {"words_": sorted(word for word, count in counts.items() if count >= self.least)}

    def predict(self, batch: Batch) -> Scores:
        known = set(self.words_)
        split = [example.response.split() for example in batch.examples]
        return np.array([sum(word in known for word in words) / max(len(words), 1) for words in split])


REFERENCES = ("how are you", "word for word")


def dialogues() -> list[Dialogue]:
    """Three dialogues."""
    texts = ["how are you|fine and you|very well", "is it still raining outside|yes it is so take a coat", "hello|hi"]
    return [Dialogue(f"d{number}", tuple(text.split("|"))) for number, text in enumerate(texts)]


def judged(count: int = 40) -> list[JudgedExample]:
    """Replies of one to nine words; longer ones are rated higher."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 10, count)
    return [
        JudgedExample(
            Example(f"e{row}", (f"question {row // 2}",), " ".join(["word"] * length), REFERENCES, f"s{row % 2}"),
            {"overall": (2 + length / 3 + rng.normal(0, 0.2), 2 + length / 3), "other": (1.0,)},
        )
        for row, length in enumerate(lengths.tolist())
    ]

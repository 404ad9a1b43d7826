"""What ADEM starts from: the dot product of an encoder's vectors, with nothing learned (adem, Table 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rejoinder.errors import CallError
from rejoinder.evaluators.adem.adem import PAPER
from rejoinder.evaluators.adem.vectors import Reading, VectorEvaluator, fits, longest_square
from rejoinder.evaluators.base import Use
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.base import check_choice
from rejoinder.metrics.batch import Batch
from rejoinder.types import Scores

NEEDS: Mapping[str, frozenset[str]] = {
    "both": frozenset({"context", "references"}),
    "context": frozenset({"context"}),
    "references": frozenset({"references"}),
}


@dataclass(frozen=True, kw_only=True)
class EncoderDot(VectorEvaluator):
    """c^T r^ + r^T r^, or one of the two; of several references the nearest. `fit()` only loads the encoder."""

    name: ClassVar[str] = "encoder-dot"
    measures: ClassVar[str] = "dot product of an encoder's vectors of a reply, its context and its reference"
    citation: ClassVar[str] = PAPER
    labels: ClassVar[Use] = "unused"
    dialogues: ClassVar[Use] = "unused"
    encoders: ClassVar[frozenset[str] | None] = None
    """The kinds of encoder that it is for; None: any."""

    _bound: ClassVar[float]
    """What no dot product is beyond, either way: `range`, unless it is calibrated."""

    against: str = "both"
    """What a reply is compared with: `context`, `references` or `both`."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        check_choice(self, "against", list(NEEDS))
        needs = NEEDS[self.against]
        object.__setattr__(self, "needs", needs)
        object.__setattr__(self, "cannot_score", " or ".join(f"no {need}" for need in sorted(needs)))

    def learn(self, data: TrainingData) -> Mapping[str, Any]:  # noqa: ARG002 - there is nothing to learn
        """The encoder."""
        encoder = self.opened
        # Stored vectors have the signature of the encoder that made them.
        if self.encoders is not None and encoder.signature.split("|")[0] not in self.encoders:
            wanted = " or ".join(sorted(self.encoders))
            raise CallError(f"{self.name}: {self.encoder} holds {encoder.name!r}: expected {wanted}")
        return {"encoder_": encoder}

    def predict(self, batch: Batch) -> Scores:
        """One dot product an example; NaN where there is nothing to compare."""
        scores = np.full(len(batch), np.nan)
        rows = [row for row, example in enumerate(batch.examples) if fits(example, self.needs)]
        if not rows:
            return scores
        wanted = {"context": "context" in self.needs, "references": "references" in self.needs}
        reading = Reading.of([batch.examples[row] for row in rows], self.encoder_, **wanted)
        vectors = reading.vectors.astype(np.float64)
        found: Scores = np.zeros(len(rows))
        if wanted["context"]:
            found += (vectors[reading.contexts] * vectors[reading.responses]).sum(axis=1)
        if wanted["references"]:
            each = (vectors[reading.references] * vectors[reading.responses[reading.owner]]).sum(axis=1)
            found += np.maximum.reduceat(each, reading.starts)
        scores[rows] = np.clip(found, -self._bound, self._bound)  # rounding may lead a hair beyond
        return scores

    def _remember(self, values: Mapping[str, Any], fit: object) -> None:
        super()._remember(values, fit)
        bound = len(self.needs) * longest_square(self.encoder_)
        object.__setattr__(self, "_bound", bound)
        if not self.gives_intervals:
            object.__setattr__(self, "range", (-bound, bound))


@dataclass(frozen=True, kw_only=True)
class VhredDot(EncoderDot):
    """The dot product of a hierarchical encoder's vectors."""

    name: ClassVar[str] = "vhred-dot"
    encoders: ClassVar[frozenset[str] | None] = frozenset({"hred", "vhred"})


@dataclass(frozen=True, kw_only=True)
class Tweet2VecDot(EncoderDot):
    """The dot product of tweet2vec's vectors."""

    name: ClassVar[str] = "t2v-dot"
    encoders: ClassVar[frozenset[str] | None] = frozenset({"tweet2vec"})

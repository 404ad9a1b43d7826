"""ADEM's baselines: the dot product of an encoder's vectors, without learning (Lowe et al. 2017, Table 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rejoinder.encoders.sentence_encoders import SentenceEncoder
from rejoinder.errors import CallError
from rejoinder.evaluators.adem.adem import PAPER
from rejoinder.evaluators.adem.vectors import Reading, VectorEvaluator, fits, kind_of, largest_square
from rejoinder.evaluators.base import Use
from rejoinder.evaluators.scale import OVERFLOW
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
    """c^T r^ + r^T r^, or one of the two; of several references, the highest. `fit()` only loads the encoder."""

    name: ClassVar[str] = "encoder-dot"
    measures: ClassVar[str] = "dot product of an encoder's vectors of a reply, its context and its reference"
    citation: ClassVar[str] = PAPER
    labels: ClassVar[Use] = "unused"
    dialogues: ClassVar[Use] = "unused"
    encoders: ClassVar[frozenset[str] | None] = None
    """The kinds of encoder that it accepts; None: any."""

    against: str = "both"
    """What a reply is compared with: `context`, `references` or `both`."""

    bound_: float = field(init=False, repr=False, compare=False)
    """The largest possible absolute value of the score."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        check_choice(self, "against", list(NEEDS))

    @property
    def needs(self) -> frozenset[str]:
        """What a reply is compared with."""
        return NEEDS[self.against]

    @property
    def cannot_score(self) -> str:
        """Why a reply has no score: as a rule, the text it is compared with is missing."""
        return ", ".join([*(f"no {need}" for need in sorted(self.needs)), f"or {OVERFLOW}"])

    @property
    def raw_range(self) -> tuple[float, float]:
        """As large as the encoder's vectors allow; unlimited before `fit`."""
        bound = math.inf if self.fit_ is None else self.bound_
        return -bound, bound

    def learn(self, data: TrainingData) -> Mapping[str, Any]:  # noqa: ARG002 - there is nothing to learn
        """The encoder."""
        encoder = self.opened
        if self.encoders is not None and kind_of(encoder) not in self.encoders:
            wanted = " or ".join(sorted(self.encoders))
            raise CallError(f"{self.name}: {self.encoder} holds {encoder.name!r}: expected {wanted}")
        return self._with_bound(encoder)

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The encoder of the folder."""
        return self._with_bound(super().load_learned(folder, plain)["encoder_"])

    def _with_bound(self, encoder: SentenceEncoder) -> Mapping[str, Any]:
        return {"encoder_": encoder, "bound_": len(self.needs) * largest_square(encoder)}

    def predict(self, batch: Batch) -> Scores:
        """One dot product per example; NaN if there is nothing to compare with."""
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
        scores[rows] = np.clip(found, -self.bound_, self.bound_)  # rounding may exceed the bound slightly
        return scores


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

"""ADEM's baselines (Lowe et al. 2017, Table 3): dot products of encoders, and a model of human-likeness."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Floats
from rejoinder.errors import CallError, DataError, NeedsError
from rejoinder.evaluators.adem.adem import ADEM_PAPER
from rejoinder.evaluators.adem.vectors import (
    PROJECTION,
    ExampleVectors,
    Projection,
    VectorEvaluator,
    check_width,
    encoder_kind,
    encoding_shown,
    fits,
    largest_square,
)
from rejoinder.evaluators.base import Use
from rejoinder.evaluators.calibration import OVERFLOW
from rejoinder.folders.array_schema import Array
from rejoinder.folders.saved import read_arrays, write_arrays
from rejoinder.folders.sources import require_extra
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.base import check_choice
from rejoinder.metrics.batch import Batch
from rejoinder.models.sentence_encoders import SentenceEncoder
from rejoinder.types import Example, JudgedExample, Scores

# ADEM's baselines: the dot product of an encoder's vectors, without learning (Lowe et al. 2017, Table 3).


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
    citation: ClassVar[str] = ADEM_PAPER
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
        if self.encoders is not None and encoder_kind(encoder) not in self.encoders:
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
        reading = ExampleVectors.of([batch.examples[row] for row in rows], self.encoder_, **wanted)
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


# A classifier of human against model replies, as Liu et al. 2016 and Lowe et al. 2017 propose in their discussions.
#
# It learns from replies whose `system` says who wrote them, and from no ratings: a reply that many models give, in
# whatever context, is easily recognised and scores low. docs/reference/adem.md describes its limits.


HUMAN = ("true", "human", "ground-truth")
"""Names of systems whose replies were written by people."""
LEFT_OUT = ("random", "negative-sample")
"""Names of systems whose replies were written by people, but for another context: they count as neither."""
WEIGHTS = "human-likeness.safetensors"


@dataclass(frozen=True, kw_only=True)
class HumanLikeness(VectorEvaluator):
    """The probability that a person wrote a reply, by logistic regression over r^ and c * r^ (elementwise).

    It is fitted on judged examples, of which it uses the `system` and not the ratings.
    """

    name: ClassVar[str] = "human-likeness"
    measures: ClassVar[str] = "the probability that a person, and not a model, wrote a reply"
    citation: ClassVar[str] = f"this package, after the discussion of {ADEM_PAPER}"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    cannot_score: ClassVar[str] = f"no context, or {OVERFLOW}"
    labels: ClassVar[Use] = "needed"
    dialogues: ClassVar[Use] = "unused"
    learns_systems: ClassVar[bool] = True

    components: int = 50
    """Principal components of the vectors."""
    strength: float = 1.0
    """Strength of the L2 penalty on the weights."""
    human: tuple[str, ...] = HUMAN
    """Names of systems that are people."""
    left_out: tuple[str, ...] = LEFT_OUT
    """Names of systems to ignore."""

    projection_: Projection = field(init=False, repr=False, compare=False)
    weights_: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    """Mean and deviation of each feature, and its weight; then 0, 1 and the bias. (3, features + 1)"""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        if self.components < 1:
            raise CallError(f"{self.name}: components must be at least 1, not {self.components}")
        if not 0 < self.strength < np.inf:
            raise CallError(f"{self.name}: strength must be above 0, not {self.strength}")
        if not self.human:
            raise CallError(f"{self.name}: expected the name of at least one system that is human")
        if both := sorted(set(self.human) & set(self.left_out)):
            raise CallError(f"{self.name}: {', '.join(both)} cannot be human and left out")

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The projection and the weights."""
        if unnamed := sum(not item.example.system for item in data.judged):
            raise NeedsError(f"{self.name}: {unnamed} replies do not say who wrote them: expected `system` in each")
        pool = [
            item.example
            for item in data.judged
            if item.example.system not in self.left_out and fits(item.example, self.needs)
        ]
        by_people = np.array([example.system in self.human for example in pool], np.bool_)
        if not by_people.any() or by_people.all():
            whose = ", ".join(self.human)
            raise NeedsError(f"{self.name} learns from replies of people ({whose}) and of others: expected both")
        encoder = self.opened
        with encoding_shown(pool, data.run):
            reading = ExampleVectors.of(pool, encoder, references=False)
        projection = Projection.of(reading.vectors, self.components)
        features = _features(reading.with_vectors(projection.points(reading.vectors)))
        weights = _regression(features, by_people, self.strength)
        return {"encoder_": encoder, "projection_": projection, "weights_": weights}

    def predict(self, batch: Batch) -> Scores:
        """One probability per example; NaN if there is nothing to compare with."""
        scores = np.full(len(batch), np.nan)
        rows = [row for row, example in enumerate(batch.examples) if fits(example, self.needs)]
        if rows:
            reading = ExampleVectors.of([batch.examples[row] for row in rows], self.encoder_, references=False)
            features = _features(reading.with_vectors(self.projection_.points(reading.vectors)))
            means, deviations, weights = self.weights_
            logits = ((features - means[:-1]) / deviations[:-1] * weights[:-1]).sum(axis=1) + weights[-1]
            scores[rows] = 1 / (1 + np.exp(-np.clip(logits, -500, 500)))
        return scores

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write encoder, projection and weights."""
        arrays = {"mean": self.projection_.mean, "axes": self.projection_.axes, "weights": self.weights_}
        write_arrays(folder / WEIGHTS, arrays)
        return super().save_learned(folder)

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        path = folder / WEIGHTS
        arrays = read_arrays(path, {**PROJECTION, "weights": Array("f", (3, "features"))})
        projection, weights = Projection(arrays["mean"], arrays["axes"]), arrays["weights"]
        encoder = super().load_learned(folder, plain)
        check_width(encoder["encoder_"], projection, str(path))
        if weights.shape[1] != 2 * projection.axes.shape[1] + 1 or not (weights[1] > 0).all():
            raise DataError(
                "must be means, deviations above 0 and weights of all features", file=str(path), field="weights"
            )
        return {**encoder, "projection_": projection, "weights_": weights}


def pooled(examples: Iterable[Example]) -> list[JudgedExample]:
    """The replies of a generated pool, without ratings, in the form that `fit` takes."""
    return [JudgedExample(example) for example in examples]


def people_and_models(examples: Sequence[Example], human: Sequence[str] = HUMAN) -> tuple[int, int]:
    """The number of replies by people, and by models; ignored systems count as neither."""
    kept = [example.system for example in examples if example.system not in LEFT_OUT]
    by_people = sum(system in human for system in kept)
    return by_people, len(kept) - by_people


def _features(points: ExampleVectors) -> Floats:
    """The reply's vector, and its elementwise product with the context's. (examples, 2 * components)"""
    vectors = np.asarray(points.vectors, np.float64)
    replies = vectors[points.responses]
    return np.concatenate([replies, replies * vectors[points.contexts]], axis=1)


def _regression(features: Floats, by_people: NDArray[np.bool_], strength: float) -> Floats:
    """Means, deviations and weights, with the bias last; people and models have equal total weight."""
    require_extra("train", "learning human-likeness")
    from sklearn.linear_model import LogisticRegression

    means = features.mean(axis=0)
    deviations = np.where((found := features.std(axis=0)) > 0, found, 1.0)
    model = LogisticRegression(C=1 / strength, class_weight="balanced", max_iter=2000)
    model.fit((features - means) / deviations, by_people)
    columns = [np.append(means, 0.0), np.append(deviations, 1.0), np.append(model.coef_[0], model.intercept_[0])]
    return np.stack(columns)

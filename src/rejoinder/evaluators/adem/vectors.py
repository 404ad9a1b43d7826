"""The frozen sentence encoder behind ADEM and its baselines: the vectors of a batch, and principal components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Floats, Ints, Vectors, offsets_of
from rejoinder.data.contexts import TrainedContexts
from rejoinder.errors import CallError, DataError
from rejoinder.evaluators.base import Evaluator
from rejoinder.folders.array_schema import Array
from rejoinder.learning.run import TrainingRun
from rejoinder.models.sentence_encoders import (
    SentenceEncoder,
    StoredVectors,
    encoder_digest,
    is_ours,
    opened_folder,
    sentence_encoder,
    signature_digest,
)
from rejoinder.progress import bar_inside
from rejoinder.types import Example, Scores

ENCODER = "encoder"
"""The subfolder of an evaluator's folder that its encoder is saved in."""
_OF_LENGTH_1 = frozenset({"pretrained", "tweet2vec"})
"""Encoders whose vectors have length 1."""
_ROWS = 64


@dataclass(frozen=True, kw_only=True)
class VectorEvaluator(Evaluator):
    """An evaluator over the vectors of an encoder, which is not trained."""

    encoder: str
    """The folder of a reply model with an encoder (hred, vhred), of tweet2vec or of stored vectors; or a pretrained
    encoder by its Hugging Face name or folder."""
    max_length: int = 128
    """Tokens that a pretrained encoder reads of a text, from its end; other encoders have limits of their own."""

    encoder_: SentenceEncoder = field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        if self.max_length < 4:
            raise CallError(f"{self.name}: max_length must be at least 4, not {self.max_length}")

    @property
    def pretrained_names(self) -> tuple[tuple[str, str], ...]:
        """The encoder, unless it was saved by this package."""
        return () if is_ours(Path(self.encoder)) else ((self.encoder, "encoder"),)

    @property
    def opened(self) -> SentenceEncoder:
        """The encoder that `encoder` names."""
        return sentence_encoder(self.encoder, self.max_length)

    def inherited_contexts(self) -> TrainedContexts:
        """The contexts that the encoder was trained on."""
        return self.opened.trained_contexts

    @property
    def signature(self) -> str:
        """The parameters and the fit, with a hash of the encoder, because a path says nothing about it."""
        digest = encoder_digest(self.encoder) if self.fit_ is None else signature_digest(self.encoder_.signature)
        known = f"|encoder:{Path(self.encoder).name}" + (f"@{digest}" if digest else "")
        return super().signature.replace(f"|encoder:{self.encoder}", known, 1)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the encoder, so that the folder has everything that scoring needs."""
        self.encoder_.save(folder / ENCODER)
        return {}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002 - for subclasses
        """The encoder of the folder."""
        return {"encoder_": opened_folder(folder / ENCODER)}


@dataclass(frozen=True, eq=False)
class ExampleVectors:
    """The vectors of some examples; each different text is encoded once."""

    vectors: Vectors | Floats
    """One per different text. (texts, width)"""
    contexts: Ints
    """The text number of each example's context; -1 without one. (examples,)"""
    responses: Ints
    """The text number of each reply. (examples,)"""
    references: Ints
    """The text numbers of all references that are not blank, example after example. (references,)"""
    owner: Ints
    """The example of each reference. (references,)"""

    @classmethod
    def of(
        cls, examples: Sequence[Example], encoder: SentenceEncoder, *, context: bool = True, references: bool = True
    ) -> ExampleVectors:
        """Encode the replies and, if wanted, their contexts and references."""
        row_of: dict[tuple[str, ...], int] = {}

        def row(turns: tuple[str, ...]) -> int:
            return row_of.setdefault(turns, len(row_of))

        own = [row((example.response,)) for example in examples]
        before = [row(example.context) if context and example.context else -1 for example in examples]
        wanted = [list(filter(str.strip, example.references)) if references else [] for example in examples]
        theirs = [row((text,)) for texts in wanted for text in texts]
        owner = np.repeat(np.arange(len(examples)), [len(texts) for texts in wanted])
        # A single utterance is passed as text: an encoder of texts would treat it differently as a context of one turn.
        texts = [turns[0] if len(turns) == 1 else turns for turns in row_of]
        contexts, responses, others = (np.array(rows, np.int64) for rows in (before, own, theirs))
        return cls(encoder.encode(texts), contexts, responses, others, owner)

    def with_vectors(self, vectors: Floats) -> ExampleVectors:
        """The same examples with other vectors."""
        return ExampleVectors(vectors, self.contexts, self.responses, self.references, self.owner)

    @property
    def starts(self) -> Ints:
        """The position of each example's first reference; every example must have one. (examples,)"""
        return offsets_of(np.bincount(self.owner, minlength=len(self.responses)))[:-1]


def encoding_shown(examples: Sequence[Example], run: TrainingRun) -> AbstractContextManager[None]:
    """Shows the progress of encoding the texts of these examples in the block."""
    faster = ("a smaller --encoder", "fewer judged replies")
    return bar_inside("encoding", len(examples), "replies", quiet=run.quiet, faster=faster)


def check_width(encoder: SentenceEncoder, projection: Projection, file: str) -> None:
    """DataError unless the projection, which was read from a file, is one of this encoder's vectors."""
    width = encoder.vectors.shape[1] if isinstance(encoder, StoredVectors) else encoder.encode(["a"]).shape[1]
    if width != len(projection.mean):
        raise DataError(
            f"has {len(projection.mean)} numbers: the encoder's vectors have {width}", file=file, field="mean"
        )


def fits(example: Example, needs: frozenset[str]) -> bool:
    """Whether the reply and everything that it is compared with contain text."""
    compared = (getattr(example, need) for need in needs)
    return bool(example.response.strip()) and all(any(map(str.strip, texts)) for texts in compared)


def encoder_kind(encoder: SentenceEncoder) -> str:
    """vhred, tweet2vec, pretrained, ...; stored vectors are of the kind of the encoder that computed them."""
    return encoder.signature.split("|")[0]


def largest_square(encoder: SentenceEncoder) -> float:
    """An upper bound of v^T v for an encoder's vectors, and so of the dot product of two."""
    if isinstance(encoder, StoredVectors):
        return float((encoder.vectors.astype(np.float64) ** 2).sum(axis=1).max())
    if encoder.name in _OF_LENGTH_1:
        return 1.0
    return float(encoder.encode(["a"]).shape[1])  # the coordinates of a recurrent state are between -1 and 1


def row_products(left: Floats, matrix: Floats, right: Floats) -> Scores:
    """l^T M r of each row, independent of the number of rows to the last digit. (rows, n), (n, n), (rows, n)"""
    through = np.einsum("ri,ij->rj", left, matrix)
    products: Scores = (through * right).sum(axis=1)
    return products


PROJECTION = {"mean": Array("f", ("width",)), "axes": Array("f", ("width", "components"))}
"""The arrays of a projection in a file."""


@dataclass(frozen=True, eq=False)
class Projection:
    """Principal components of the training texts' vectors."""

    mean: Floats  # (width,)
    axes: Floats  # (width, components)

    @classmethod
    def of(cls, vectors: NDArray[np.floating], components: int) -> Projection:
        """The first components of these vectors; fewer if they have no more."""
        from scipy.linalg import eigh

        mean = vectors.mean(axis=0, dtype=np.float64)
        centred = vectors.astype(np.float64) - mean
        rows, width = centred.shape
        most = min(components, rows, width)
        if rows < width:  # the smaller of the two products has the same eigenvalues
            values, across = eigh(centred @ centred.T, subset_by_index=(rows - most, rows - 1))
            axes = centred.T @ across / np.sqrt(np.maximum(values, 1e-300))
        else:
            values, axes = eigh(centred.T @ centred, subset_by_index=(width - most, width - 1))
        kept = np.flatnonzero(values > 1e-10 * max(float(values.max()), 1e-300))[::-1]
        if not len(kept):
            raise CallError("the encoder gives every training text the same vector: expected vectors that differ")
        axes = axes[:, kept]
        # The sign of an axis is arbitrary; this makes it deterministic.
        return cls(mean, axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(len(kept))]))

    def first(self, components: int) -> Projection:
        """The same with fewer components."""
        return Projection(self.mean, self.axes[:, :components])

    def points(self, vectors: NDArray[np.floating]) -> Floats:
        """The coordinates of each vector, independent of the others. (vectors, width) -> (vectors, components)"""
        points = np.empty((len(vectors), self.axes.shape[1]))
        for start in range(0, len(vectors), _ROWS):
            some = np.zeros((_ROWS, len(self.mean)))  # always the same shape: rounding may depend on it
            part = vectors[start : start + _ROWS]
            some[: len(part)] = part - self.mean
            points[start : start + _ROWS] = (some @ self.axes)[: len(part)]
        return points


@dataclass(frozen=True, eq=False)
class RatedVectors:
    """Judged replies: the vectors of their texts, or the coordinates of these, and their ratings."""

    points: ExampleVectors
    human: Scores
    """From 1 to 5. (examples,)"""

    def projected(self, projection: Projection) -> RatedVectors:
        """The same replies with coordinates in place of vectors."""
        return replace(self, points=self.points.with_vectors(projection.points(self.points.vectors)))

"""The two parts of AM-FM, each an evaluator by itself: adequacy (`am`) and fluency (`fm`).

Both are learned from sentences: every turn of every dialogue that they are fitted on is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged
from rejoinder.errors import CallError, DataError, NeedsError
from rejoinder.evaluators.am_fm.fluency import NGRAM, SMOOTHINGS, Fluency, learned_fluency, load_fluency
from rejoinder.evaluators.am_fm.semantic_space import SemanticSpace
from rejoinder.evaluators.base import Evaluator, Use
from rejoinder.learning.data import TrainingData
from rejoinder.learning.saving import packed, read_arrays, unpacked, write_arrays
from rejoinder.metrics.base import TextMetric, best_reference, check_choice, settle_empty
from rejoinder.metrics.batch import Batch, TextOptions, Tokens, encodable, encode
from rejoinder.types import Scores

PAPER = "D'Haro et al. 2019, Automatic evaluation of end-to-end dialog systems with adequacy-fluency metrics"
ADEQUACY = "adequacy.safetensors"
REFERENCES = ("max", "mean", "centroid")
_NUMBERS_AT_ONCE = 1 << 24  # of projected references: 64 MB


@dataclass(frozen=True, kw_only=True)
class Am(Evaluator, TextMetric):
    """Cosine of reply and reference in a semantic space, negative ones being 0 (am-fm, equation 1).

    A reply without a word that the space knows has nothing of a reference: 0. Against a reference without one there
    is nothing to tell, unless both are the same.
    """

    name: ClassVar[str] = "am"
    measures: ClassVar[str] = "how much of a reference's meaning a reply has, by latent semantic indexing"
    citation: ClassVar[str] = PAPER
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = "no references, or none with a word that it knows"
    labels: ClassVar[Use] = "unused"
    dialogues: ClassVar[Use] = "needed"

    dimensions: int = 10
    refs: str = "max"

    space_: SemanticSpace = field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "refs", REFERENCES)
        if self.dimensions < 1:
            raise CallError(f"{self.name}: dimensions must be at least 1, not {self.dimensions}")

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The semantic space of the dialogues' turns."""
        vocabulary, sentences = sentences_of(data, self.text)
        return {"space_": SemanticSpace.of(vocabulary, sentences, self.dimensions, data.seed)}

    def predict(self, batch: Batch) -> Scores:
        """One score an example, from 0 to 1."""
        return adequacy(encodable(batch), self.space_, self.text, self.refs)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the space."""
        save_space(self.space_, folder)
        return {}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """The space of the folder."""
        return {"space_": load_space(folder)}


@dataclass(frozen=True, kw_only=True)
class Fm(Evaluator, TextMetric):
    """How near the reply's probability is to a reference's, min / max of both (am-fm, equation 3).

    A text's probability is the geometric mean of its words' by a language model. With `fluency=absolute` the score is
    that probability itself, as FM was first defined, and needs no reference.
    """

    name: ClassVar[str] = "fm"
    measures: ClassVar[str] = "how near a reply's likelihood to a language model is to a reference's"
    citation: ClassVar[str] = PAPER
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = "no references, or no word with a probability"
    labels: ClassVar[Use] = "unused"
    dialogues: ClassVar[Use] = "optional"

    order: int = 2
    smoothing: str = "good-turing"
    prune: float = 1e-6
    unknown: str = "open"
    """open: an unknown word is as likely as a very rare one; skip: it is passed over."""
    lm: str = NGRAM
    """ngram: counted from the dialogues; an ARPA file; or the name, folder or GGUF file of a causal language model."""
    fluency: str = "relative"
    refs: str = "max"

    model_: Fluency = field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "smoothing", list(SMOOTHINGS))
        check_choice(self, "unknown", ("open", "skip"))
        check_choice(self, "fluency", ("relative", "absolute"))
        check_choice(self, "refs", REFERENCES)
        if not 1 <= self.order <= 6:
            raise CallError(f"{self.name}: order must be from 1 to 6, not {self.order}")
        if not 0 <= self.prune < 1:
            raise CallError(f"{self.name}: prune must be at least 0 and below 1, not {self.prune}")
        if self.fluency == "absolute":
            object.__setattr__(self, "needs", frozenset())  # of this one alone: it looks at no reference

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The language model."""
        vocabulary: list[str] = []
        sentences = Ragged.of([])
        if self.lm == NGRAM:
            vocabulary, sentences = sentences_of(data, self.text)
        options = {"order": self.order, "smoothing": self.smoothing, "pruning": self.prune, "unknown": self.unknown}
        return {"model_": learned_fluency(self.lm, vocabulary, sentences, **options)}  # type: ignore[arg-type]

    def predict(self, batch: Batch) -> Scores:
        """One score an example, from 0 to 1."""
        batch = encodable(batch)
        refs = "none" if self.fluency == "absolute" else self.refs
        return likeness(batch, self.model_, self.text, refs)

    @property
    def signature(self) -> str:
        """A language model's content hash stands in it, because a name says little."""
        return with_digest(super().signature, "lm", self.lm, None if self.fit_ is None else self.model_)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the n-grams, if it has any."""
        self.model_.save(folder)
        return {}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """The language model of the folder."""
        return {"model_": load_fluency(self.lm, folder)}


def adequacy(batch: Batch, space: SemanticSpace, text: TextOptions, refs: str) -> Scores:
    """AM of each reply."""
    tokens = batch.tokens(text)
    number = space.numbers(tokens.vocabulary.to_list())
    own = space.points(Ragged(number[tokens.responses.values], tokens.responses.offsets))
    theirs = Ragged(number[tokens.references.values], tokens.references.offsets)
    if refs == "centroid":
        centroids = np.zeros_like(own)
        for rows, points in _in_parts(theirs, space):
            np.add.at(centroids, batch.owner[rows], points)
        scores = _cosines(own, centroids)
        # As if compared one by one, where nothing is known of any reference.
        pairs = np.where(np.isnan(scores), np.nan, 0.0)[batch.owner]
        alone = best_reference(_with_identical(pairs, batch, tokens), batch, "max")
        scores = np.where(np.isnan(scores), alone, scores)
    else:
        pairs = np.empty(len(batch.owner))
        for rows, points in _in_parts(theirs, space):
            pairs[rows] = _cosines(own[batch.owner[rows]], points)
        scores = best_reference(_with_identical(pairs, batch, tokens), batch, refs)
    return settle_empty(scores, batch, tokens)


def likeness(batch: Batch, model: Fluency, text: TextOptions, refs: str) -> Scores:
    """FM of each reply: relative to its references, or, where `refs` is none, its own probability."""
    own, theirs = model.mean_logs(batch, text)
    if refs == "none":
        return np.exp(own)
    if refs == "centroid":
        theirs = best_reference(theirs, batch, "mean")
        scores = _ratio(own, theirs)
    else:
        scores = best_reference(_ratio(own[batch.owner], theirs), batch, refs)
    return settle_empty(scores, batch, batch.tokens(text))


def sentences_of(data: TrainingData, text: TextOptions) -> tuple[list[str], Ragged]:
    """A vocabulary in alphabetical order, and the turns of the dialogues that have a word, as codes into it."""
    turns = pl.Series([turn for dialogue in data.dialogues for turn in dialogue.turns], dtype=pl.String)
    vocabulary, rows = encode(turns, text)
    sentences = rows.take(np.flatnonzero(rows.lengths > 0))
    if not len(sentences):
        raise NeedsError("there is no sentence to learn from: expected dialogues with text")
    # Else the order would hang on how strings are hashed, and with it the last digits of what is learned.
    words = vocabulary.to_list()
    order = sorted(range(len(words)), key=words.__getitem__)
    place = np.empty(len(words), np.int64)
    place[order] = np.arange(len(words))
    return [words[number] for number in order], Ragged(place[sentences.values], sentences.offsets)


def save_space(space: SemanticSpace, folder: Path) -> None:
    """Write a space's words and vectors."""
    write_arrays(folder / ADEQUACY, {"words": packed(space.words), "vectors": space.vectors})


def load_space(folder: Path) -> SemanticSpace:
    """The space that was saved in a folder."""
    arrays = read_arrays(folder / ADEQUACY)
    if not arrays.keys() >= {"words", "vectors"}:
        raise DataError("lacks words or vectors", file=str(folder / ADEQUACY))
    return SemanticSpace(unpacked(arrays["words"]), arrays["vectors"])


def with_digest(signature: str, key: str, value: str, model: Fluency | None) -> str:
    """The signature with the model's content hash beside its name; a model that was counted has the fit's."""
    if value == NGRAM or model is None:
        return signature
    return signature.replace(f"|{key}:{value}", f"|{key}:{Path(value).name}@{model.digest}")


def _cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> Scores:
    """Row by row, from 0 to 1; 0 where only the left is nowhere, NaN where the right is."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    theirs = (b * b).sum(axis=1)
    lengths = np.sqrt((a * a).sum(axis=1) * theirs)
    cosines: Scores = np.divide((a * b).sum(axis=1), lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    cosines[theirs == 0] = np.nan
    return np.clip(cosines, 0.0, 1.0)


def _in_parts(texts: Ragged, space: SemanticSpace) -> Iterator[tuple[Ints, NDArray[np.float32]]]:
    """Row numbers and their points, few enough at a time for any number of dimensions."""
    step = max(1, _NUMBERS_AT_ONCE // space.dimensions)
    for start in range(0, len(texts), step):
        rows = np.arange(start, min(start + step, len(texts)))
        yield rows, space.points(texts if len(rows) == len(texts) else texts.take(rows))


def _with_identical(pairs: Scores, batch: Batch, tokens: Tokens) -> Scores:
    """1 for two texts of the same words, none of which is known."""
    for pair in np.flatnonzero(np.isnan(pairs)).tolist():
        own, theirs = tokens.responses[batch.owner[pair]], tokens.references[pair]
        if len(own) and np.array_equal(own, theirs):
            pairs[pair] = 1.0
    return pairs


def _ratio(left: Scores, right: Scores) -> Scores:
    """min / max of two probabilities, given by their logarithms."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(left - right)
    same: Scores = np.exp(-np.where(left == right, 0.0, apart))
    return same

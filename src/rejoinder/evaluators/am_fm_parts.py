"""Adequacy (`am`), by a semantic space, and fluency (`fm`), by a language model: the parts of AM-FM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Floats, Ints, Ragged, Vectors
from rejoinder.errors import CallError, NeedsError
from rejoinder.evaluators.base import Evaluator, Use
from rejoinder.evaluators.calibration import OVERFLOW
from rejoinder.folders.array_schema import Array, checked_arrays
from rejoinder.folders.foreign import saved_arrays
from rejoinder.folders.saved import PACKED, packed_words, read_arrays, unpacked_words, write_arrays
from rejoinder.folders.sources import require_extra
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.base import TextMetric, best_reference, check_choice, settle_empty
from rejoinder.metrics.batch import Batch, BatchTokens, TextOptions, encodable, encode
from rejoinder.models.arpa import read_arpa
from rejoinder.models.ngram import NgramCounts, NgramLevel, NgramModel, checked_model, prune
from rejoinder.models.smoothing import good_turing, kneser_ney
from rejoinder.types import Scores

# The two parts of AM-FM, each a separate evaluator: adequacy (`am`) and fluency (`fm`).
#
# Both are learned from sentences: each turn of the dialogues that they are fitted on is one.


# The language models of FM: n-grams counted in dialogues or read from an ARPA file, or a pretrained causal model.


ARRAYS = "fluency.safetensors"
NGRAM = "ngram"
"""Instead of a model's name: count n-grams in the dialogues."""
SMOOTHINGS = {"good-turing": good_turing, "kneser-ney": kneser_ney}


class FluencyModel(Protocol):
    """A language model with word-normalised probabilities."""

    @property
    def digest(self) -> str:
        """A hash of the model."""

    def mean_logs(self, batch: Batch, text: TextOptions) -> tuple[Floats, Floats]:
        """The mean ln p per word of each reply and of each reference; NaN if no word has a probability."""

    def save(self, folder: Path) -> None:
        """Write what `load_fluency` needs."""


@dataclass(frozen=True, eq=False)
class NgramFluency:
    """N-grams of words."""

    model: NgramModel

    @property
    def digest(self) -> str:
        """A hash of words and probabilities."""
        found = blake2b("\n".join(self.model.words).encode(), digest_size=6)
        for level in self.model.levels:
            for array in (level.keys, level.log_prob, level.back_off):
                found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()

    def mean_logs(self, batch: Batch, text: TextOptions) -> tuple[Floats, Floats]:
        """Over the words of the metric's tokeniser (D'Haro et al. 2019, equation 2)."""
        tokens = batch.tokens(text)
        number = self.model.numbers(tokens.vocabulary.to_list())
        own, theirs = (
            self.model.mean_log_probs(Ragged(number[rows.values], rows.offsets)) * np.log(10)
            for rows in (tokens.responses, tokens.references)
        )
        return own, theirs

    def save(self, folder: Path) -> None:
        """Write words as UTF-8 bytes, and three arrays per n-gram order."""
        arrays: dict[str, NDArray[Any]] = {"words": packed_words(self.model.words)}
        for order, level in enumerate(self.model.levels, start=1):
            arrays |= {f"keys.{order}": level.keys, f"log_prob.{order}": level.log_prob}
            arrays[f"back_off.{order}"] = level.back_off
        write_arrays(folder / ARRAYS, arrays)


@dataclass(frozen=True, eq=False)
class CausalFluency:
    """A pretrained causal language model; the log-probability of a text is divided by its number of words."""

    model: Any  # CausalModel, whose module needs torch

    @property
    def digest(self) -> str:
        """A hash of the model's architecture and word embeddings."""
        return str(self.model.digest)

    def mean_logs(self, batch: Batch, text: TextOptions) -> tuple[Floats, Floats]:
        """ln p of a text divided by its number of words; each different text is scored once."""
        tokens = batch.tokens(text)
        texts = pl.concat([batch.responses, batch.references])
        counts = np.concatenate([tokens.responses.lengths, tokens.references.lengths])
        distinct = texts.unique(maintain_order=True)
        logs = dict(zip(distinct, self.model.log_probs(distinct.to_list()).tolist(), strict=True))
        total = np.array([logs[each] for each in texts], np.float64)
        means: Floats = np.divide(total, counts, out=np.full(len(total), np.nan), where=counts > 0)
        return means[: len(batch)], means[len(batch) :]

    def save(self, folder: Path) -> None:
        """Copy the model, unless it is one of the hub."""
        self.model.save(folder)


def learned_fluency(
    lm: str, vocabulary: list[str], sentences: Ragged, *, order: int, smoothing: str, pruning: float, unknown: str
) -> FluencyModel:
    """The model that FM's parameters name."""
    if lm == NGRAM:
        counts = NgramCounts.of(vocabulary, sentences, order)
        model = SMOOTHINGS[smoothing](counts, open_vocabulary=unknown == "open")
        return NgramFluency(prune(model, pruning) if pruning > 0 else model)
    if is_arpa(lm):
        return NgramFluency(read_arpa(lm))
    require_extra("train", "fluency by a causal language model")
    from rejoinder.models.causal import CausalModel

    return CausalFluency(CausalModel.load(lm))


def load_fluency(lm: str, folder: Path) -> FluencyModel:
    """The model that was saved in a folder, or that the folder's evaluator names."""
    if lm != NGRAM and not is_arpa(lm):
        require_extra("train", "fluency by a causal language model")
        from rejoinder.models.causal import CausalModel

        return CausalFluency(CausalModel.load_saved(folder, lm))
    return NgramFluency(_ngram_model(folder / ARRAYS))


def pretrained_name(lm: str) -> tuple[tuple[str, str], ...]:
    """The causal language model that `lm` names, if it names one, for `Learned.pretrained_names`."""
    return () if lm == NGRAM or is_arpa(lm) else ((lm, "language model"),)


def is_arpa(lm: str) -> bool:
    """Whether a name is that of an ARPA file."""
    return lm.endswith((".arpa", ".arpa.gz", ".lm", ".lm.gz"))


def _ngram_model(path: Path) -> NgramModel:
    arrays = saved_arrays(path)
    words = unpacked_words(checked_arrays(arrays, {"words": PACKED}, str(path))["words"], path)
    orders = range(1, max(2, sum(name.startswith("keys.") for name in arrays) + 1))
    expected: dict[str, Array] = {}
    for order in orders:
        length = "words" if order == 1 else f"any n-grams {order}"
        expected[f"keys.{order}"] = Array("i", (length,))
        expected[f"log_prob.{order}"] = Array("f", (length,), infinite=True)
        expected[f"back_off.{order}"] = Array("f", (length,), infinite=True)
    found = checked_arrays(arrays, expected, str(path), words=len(words))
    levels = [NgramLevel(*(found[f"{name}.{order}"] for name in ("keys", "log_prob", "back_off"))) for order in orders]
    return checked_model(words, tuple(levels), str(path))


AM_FM_PAPER = "D'Haro et al. 2019, Automatic evaluation of end-to-end dialog systems with adequacy-fluency metrics"
ADEQUACY = "adequacy.safetensors"
REFERENCES = ("max", "mean", "centroid")
_NUMBERS_AT_ONCE = 1 << 24  # coordinates of projected references: 64 MB


@dataclass(frozen=True, kw_only=True)
class Am(Evaluator, TextMetric):
    """Cosine of reply and reference in a semantic space, 0 if negative (D'Haro et al. 2019, equation 1).

    A reply without a known word scores 0. A reference without one cannot be compared with, unless the reply is the same
    text.
    """

    name: ClassVar[str] = "am"
    measures: ClassVar[str] = "similarity of a reply to a reference, by latent semantic indexing"
    citation: ClassVar[str] = AM_FM_PAPER
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = f"no references, none with a known word, or {OVERFLOW}"
    labels: ClassVar[Use] = "unused"
    dialogues: ClassVar[Use] = "needed"
    reads_sentences: ClassVar[bool] = True

    dimensions: int = 10
    """Dimensions of the semantic space."""
    refs: str = "max"
    """With several references: the max or the mean of the cosines, or the cosine with their centroid."""

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
        """One score per example, from 0 to 1."""
        return adequacy(encodable(batch), self.space_, self.text, self.refs)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the space."""
        save_space(self.space_, folder)
        return {}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """The space of the folder."""
        return {"space_": load_space(folder)}


@dataclass(frozen=True, kw_only=True)
class FluencySettings:
    """The parameters of FM's language model, which `fm` and `am-fm` share."""

    order: int = 2
    """The longest n-gram of the language model."""
    smoothing: str = "good-turing"
    """good-turing or kneser-ney."""
    prune: float = 1e-6
    """N-grams are dropped if that makes the language model worse by less than this share; 0: none."""
    unknown: str = "open"
    """open: an unknown word is as likely as a very rare one; skip: it is ignored."""
    lm: str = NGRAM
    """ngram: counted in the dialogues; an ARPA file; or the name, folder or GGUF file of a causal language model."""
    fluency: str = "relative"
    """relative to a reference, or absolute: the reply's own probability, which needs no reference."""


@dataclass(frozen=True, kw_only=True)
class Fm(FluencySettings, Evaluator, TextMetric):
    """The ratio min / max of the probabilities of reply and reference (D'Haro et al. 2019, equation 3).

    A text's probability is the geometric mean of its words' probabilities by a language model. With `fluency=absolute`
    the score is the reply's probability itself, as FM was first defined, and needs no reference.
    """

    name: ClassVar[str] = "fm"
    measures: ClassVar[str] = "how close a reply's probability by a language model is to a reference's"
    citation: ClassVar[str] = AM_FM_PAPER
    cannot_score: ClassVar[str] = f"no references, no word with a probability, or {OVERFLOW}"
    labels: ClassVar[Use] = "unused"
    dialogues: ClassVar[Use] = "optional"
    reads_sentences: ClassVar[bool] = True

    refs: str = "max"
    """With several references: the max or the mean of the ratios, or the ratio with their mean log-probability
    (centroid)."""

    model_: FluencyModel = field(init=False, repr=False, compare=False)

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

    @property
    def needs(self) -> frozenset[str]:
        """References, unless fluency is absolute."""
        return frozenset() if self.fluency == "absolute" else frozenset({"references"})

    @property
    def pretrained_names(self) -> tuple[tuple[str, str], ...]:
        """The language model, if it is pretrained."""
        return pretrained_name(self.lm)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The language model."""
        vocabulary: list[str] = []
        sentences = Ragged.of([])
        if self.lm == NGRAM:
            vocabulary, sentences = sentences_of(data, self.text)
        options = {"order": self.order, "smoothing": self.smoothing, "pruning": self.prune, "unknown": self.unknown}
        return {"model_": learned_fluency(self.lm, vocabulary, sentences, **options)}  # type: ignore[arg-type]

    def predict(self, batch: Batch) -> Scores:
        """One score per example, from 0 to 1."""
        batch = encodable(batch)
        refs = "none" if self.fluency == "absolute" else self.refs
        return likeness(batch, self.model_, self.text, refs)

    @property
    def signature(self) -> str:
        """The parameters and the fit, with the language model's content hash."""
        return with_digest(super().signature, "lm", self.lm, None if self.fit_ is None else self.model_)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the n-grams, if there are any."""
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
        # As if compared one by one, if no word of any reference is known.
        pairs = np.where(np.isnan(scores), np.nan, 0.0)[batch.owner]
        alone = best_reference(_with_identical(pairs, batch, tokens), batch, "max")
        scores = np.where(np.isnan(scores), alone, scores)
    else:
        pairs = np.empty(len(batch.owner))
        for rows, points in _in_parts(theirs, space):
            pairs[rows] = _cosines(own[batch.owner[rows]], points)
        scores = best_reference(_with_identical(pairs, batch, tokens), batch, refs)
    return settle_empty(scores, batch, tokens)


def likeness(batch: Batch, model: FluencyModel, text: TextOptions, refs: str) -> Scores:
    """FM of each reply: relative to its references or, if `refs` is none, its own probability."""
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
    """A vocabulary in alphabetical order, and the turns of the dialogues that have words, as indices into it."""
    turns = pl.Series([turn for dialogue in data.dialogues for turn in dialogue.turns], dtype=pl.String)
    vocabulary, rows = encode(turns, text)
    sentences = rows.take(np.flatnonzero(rows.lengths > 0))
    if not len(sentences):
        raise NeedsError("there are no sentences to learn from: expected dialogues with text")
    # Otherwise the order would depend on how strings are hashed, and with it the last digits of what is learned.
    words = vocabulary.to_list()
    order = sorted(range(len(words)), key=words.__getitem__)
    place = np.empty(len(words), np.int64)
    place[order] = np.arange(len(words))
    return [words[number] for number in order], Ragged(place[sentences.values], sentences.offsets)


def save_space(space: SemanticSpace, folder: Path) -> None:
    """Write the words and vectors of a semantic space."""
    write_arrays(folder / ADEQUACY, {"words": packed_words(space.words), "vectors": space.vectors})


def load_space(folder: Path) -> SemanticSpace:
    """The semantic space saved in a folder."""
    path = folder / ADEQUACY
    arrays = read_arrays(path, {"words": PACKED, "vectors": Array("f", ("words", "dimensions"))})
    return SemanticSpace(unpacked_words(arrays["words"], path, len(arrays["vectors"])), arrays["vectors"])


def with_digest(signature: str, key: str, value: str, model: FluencyModel | None) -> str:
    """The signature with the model's content hash after its name; counted n-grams are identified by the fit."""
    if value == NGRAM or model is None:
        return signature
    return signature.replace(f"|{key}:{value}", f"|{key}:{Path(value).name}@{model.digest}")


def _cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> Scores:
    """The cosine of each row, from 0 to 1; 0 if only the left vector is zero, NaN if the right one is."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    theirs = (b * b).sum(axis=1)
    lengths = np.sqrt((a * a).sum(axis=1) * theirs)
    cosines: Scores = np.divide((a * b).sum(axis=1), lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    cosines[theirs == 0] = np.nan
    return np.clip(cosines, 0.0, 1.0)


def _in_parts(texts: Ragged, space: SemanticSpace) -> Iterator[tuple[Ints, NDArray[np.float32]]]:
    """Row numbers and their points, in parts of limited memory."""
    step = max(1, _NUMBERS_AT_ONCE // space.dimensions)
    for start in range(0, len(texts), step):
        rows = np.arange(start, min(start + step, len(texts)))
        yield rows, space.points(texts if len(rows) == len(texts) else texts.take(rows))


def _with_identical(pairs: Scores, batch: Batch, tokens: BatchTokens) -> Scores:
    """The scores of pairs, with 1 for two texts of the same words none of which is known."""
    for pair in np.flatnonzero(np.isnan(pairs)).tolist():
        own, theirs = tokens.responses[batch.owner[pair]], tokens.references[pair]
        if len(own) and np.array_equal(own, theirs):
            pairs[pair] = 1.0
    return pairs


def _ratio(left: Scores, right: Scores) -> Scores:
    """min / max of two probabilities, given as logarithms."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(left - right)
    same: Scores = np.exp(-np.where(left == right, 0.0, apart))
    return same


# Latent semantic indexing: texts as points in a space of few dimensions, by a truncated SVD of word counts.


_NO_DIRECTION = 1e-5
"""Singular values below this share of the largest are rounding errors of single precision."""


@dataclass(frozen=True, eq=False)
class SemanticSpace:
    """The known words and their vectors."""

    words: tuple[str, ...]
    vectors: Vectors  # (words, dimensions): the right singular vectors, largest singular value first

    @classmethod
    def of(cls, vocabulary: Sequence[str], texts: Ragged, dimensions: int, seed: int = 0) -> SemanticSpace:
        """Learned from texts as indices into a vocabulary; with fewer dimensions if the texts have no more."""
        require_extra("train", "learning a semantic space")
        from scipy.sparse import csr_array
        from sklearn.decomposition import TruncatedSVD

        ones = np.ones(len(texts.values), np.float32)
        # A copy, because sum_duplicates sorts the words of each text in place.
        counts = csr_array((ones, texts.values, texts.offsets), shape=(len(texts), len(vocabulary)), copy=True)
        counts.sum_duplicates()
        rank = max(1, min(dimensions, len(vocabulary), len(texts)))
        if len(vocabulary) == 1:
            return cls(tuple(vocabulary), np.ones((1, 1), np.float32))
        with np.errstate(divide="ignore", invalid="ignore"):  # the explained variance of identical texts
            svd = TruncatedSVD(rank, random_state=seed).fit(counts)
        # Directions of singular value 0 are arbitrary.
        real = svd.singular_values_ > _NO_DIRECTION * svd.singular_values_[0]
        return cls(tuple(vocabulary), np.ascontiguousarray(svd.components_[real].T, np.float32))

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return int(self.vectors.shape[1])

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def numbers(self, words: Sequence[str]) -> Ints:
        """The number of each word; -1 if it is not known."""
        number = self._number.get
        return np.fromiter((number(word, -1) for word in words), np.int64, len(words))

    def points(self, texts: Ragged) -> Vectors:
        """The point of each text, r^T U: the sum of its known words' vectors. (texts, dimensions)"""
        from scipy.sparse import csr_array

        # An unknown word is the last row, which is zero. Repeated words are not merged and keep the text's order, so
        # that each sum does not depend on the other texts.
        words = np.where(texts.values < 0, len(self.words), texts.values)
        ones = np.ones(len(words), np.float32)
        bag = csr_array((ones, words, texts.offsets), shape=(len(texts), len(self.words) + 1))
        points: Vectors = bag @ self._with_zero
        return points

    @cached_property
    def _with_zero(self) -> Vectors:
        return np.concatenate([self.vectors, np.zeros((1, self.dimensions), np.float32)])

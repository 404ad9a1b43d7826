"""Vector pooling: the cosine of [max; min] of two texts' word vectors (Tao et al. 2018, section 3.1).

Between reply and reference it is s_R, the evaluator `ruber-ref`, whose word vectors are learned from the dialogues.
Between reply and query it is the paper's baseline, the metric `ruber-pool`, whose word vectors are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rejoinder.arrays import Ragged, Vectors, offsets_of
from rejoinder.encoders.word2vec import CORPUS, Word2VecTraining, learned_vectors
from rejoinder.errors import DataError, NeedsError
from rejoinder.evaluators.base import Evaluator, Use
from rejoinder.evaluators.ruber.words import TOKENISER_NAMES, common_words, require_tokeniser, tokenised
from rejoinder.learning.data import TrainingData
from rejoinder.learning.parameters import check_least
from rejoinder.learning.saving import PACKED, packed, read_arrays, unpacked, write_arrays
from rejoinder.loading.array_schema import Array
from rejoinder.metrics.base import Metric, best_reference, check_choice
from rejoinder.metrics.batch import Batch, TextOptions
from rejoinder.metrics.embedding import pool_rows, shared_vectors
from rejoinder.text.vectors import SHIPPED, WordVectors, load_vectors
from rejoinder.types import Scores

PAPER = "Tao et al. 2018, RUBER: an unsupervised method for automatic evaluation of open-domain dialog systems"
VECTORS = "vectors.safetensors"
_MOST_WORDS = 200_000  # with a vector


@dataclass(frozen=True, kw_only=True)
class CorpusEvaluator(Evaluator):
    """What RUBER and both of its parts share: text to words, words to vectors."""

    citation: ClassVar[str] = PAPER
    dialogues: ClassVar[Use] = "needed"

    vectors: str = CORPUS
    """Word vectors: corpus (word2vec, trained on the dialogues), conversational-50d (bundled), or a word2vec, GloVe or
    fastText file."""
    dims: int = 50
    """Size of vectors that are trained on the dialogues."""
    min_count: int = 2
    """How often a word must occur in the dialogues to be known."""
    tokenise: str = "words"
    """A tokeniser of the metrics, or jieba, which segments Chinese into words rather than characters."""
    lowercase: bool = True
    """Whether text is lower-cased first."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "tokenise", TOKENISER_NAMES)
        require_tokeniser(self.tokenise)
        check_least(self, {"dims": 1, "min_count": 1})

    @property
    def text(self) -> TextOptions:
        """The tokeniser and its options."""
        return TextOptions(self.tokenise, self.lowercase)

    def corpus_vectors(self, data: TrainingData) -> WordVectors:
        """The word vectors that the parameter `vectors` names."""
        if self.vectors != CORPUS:
            return load_vectors(self.vectors, quiet=data.run.quiet)
        turns = [turn for dialogue in data.dialogues for turn in dialogue.turns]
        words, rows = self.frequent_words(turns, _MOST_WORDS)
        return learned_vectors(words, rows, Word2VecTraining(dims=self.dims), data.seed)

    def frequent_words(self, turns: Sequence[str], most: int) -> tuple[tuple[str, ...], Ragged]:
        """The known words, most frequent first, and each turn as indices into them; NeedsError if there are none."""
        words, rows = common_words(turns, self.text, self.min_count, most)
        if not words:
            raise NeedsError(
                f"no word of the dialogues occurs {self.min_count} times: expected more dialogues, or a lower min_count"
            )
        return words, rows

    def signature_with(self, signature: str, known: WordVectors | None) -> str:
        """The signature with the content hash of given vectors, because a path says nothing about them."""
        if self.vectors == CORPUS or known is None:
            return signature
        return signature.replace(f"|vectors:{self.vectors}", f"|vectors:{known.name}@{known.digest}")

    def write_vectors(self, known: WordVectors, folder: Path) -> None:
        """Write the vectors, unless they are those that come with the package."""
        if self.vectors != SHIPPED:
            write_arrays(folder / VECTORS, {"words": packed(tuple(known.words)), "matrix": known.matrix})

    def read_vectors(self, folder: Path) -> WordVectors:
        """The vectors of the folder, or those that come with the package."""
        if self.vectors == SHIPPED:
            return shared_vectors(SHIPPED)
        path = folder / VECTORS
        if self.vectors != CORPUS and not path.is_file():  # until 0.1 only the name of the file was saved
            raise DataError("is missing: expected word vectors within the folder; train it again", file=str(path))
        arrays = read_arrays(path, {"words": PACKED, "matrix": Array("f", ("words", "dims"))})
        words = unpacked(arrays["words"], path, len(arrays["matrix"]))
        return WordVectors.of(
            words, arrays["matrix"], name=CORPUS if self.vectors == CORPUS else Path(self.vectors).stem
        )


@dataclass(frozen=True, kw_only=True)
class RuberRef(CorpusEvaluator):
    """s_R: cosine of the pooled word vectors of reply and reference; of several references, the highest.

    A reply without a known word scores 0. A reference without one cannot be compared with, unless the reply is the same
    text.
    """

    name: ClassVar[str] = "ruber-ref"
    measures: ClassVar[str] = "cosine of the max- and min-pooled word vectors of reply and reference"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = "no references, or none with a known word"
    raw_range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    labels: ClassVar[Use] = "unused"

    vectors_: WordVectors = field(init=False, repr=False, compare=False)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The word vectors."""
        return {"vectors_": self.corpus_vectors(data)}

    def predict(self, batch: Batch) -> Scores:
        """One score per example, from -1 to 1."""
        return referenced(batch, self.vectors_, self.text)

    @property
    def signature(self) -> str:
        """The parameters and the fit, with the content hash of given vectors."""
        return self.signature_with(super().signature, None if self.fit_ is None else self.vectors_)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the vectors."""
        self.write_vectors(self.vectors_, folder)
        return {}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """The vectors of the folder."""
        return {"vectors_": self.read_vectors(folder)}


@dataclass(frozen=True, kw_only=True)
class RuberPool(Metric):
    """RUBER's baseline without a reference: the cosine of the pooled word vectors of reply and query."""

    name: ClassVar[str] = "ruber-pool"
    measures: ClassVar[str] = "cosine of the max- and min-pooled word vectors of reply and query"
    citation: ClassVar[str] = PAPER
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    cannot_score: ClassVar[str] = "no context, or no word with a vector"
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    vectors: str = SHIPPED
    turns: int = 1
    """The number of a context's last turns that make up the query."""
    tokenise: str = "words"
    lowercase: bool = True

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "tokenise", TOKENISER_NAMES)
        require_tokeniser(self.tokenise)
        check_least(self, {"turns": 1})

    @property
    def signature(self) -> str:
        """The parameters, with the vectors' content hash, because a path says nothing about them."""
        known = shared_vectors(self.vectors)
        return super().signature.replace(f"vectors:{self.vectors}", f"vectors:{known.name}@{known.digest}")

    def score_batch(self, batch: Batch) -> Scores:
        """The cosine of the pooled vectors; NaN without a context, or if no word of either text is known."""
        queries = [" ".join(example.context[-self.turns :]) for example in batch.examples]
        replies = [example.response for example in batch.examples]
        pooled = pooled_texts(
            [*replies, *queries], shared_vectors(self.vectors), TextOptions(self.tokenise, self.lowercase)
        )
        scores = cosines(pooled[: len(replies)], pooled[len(replies) :])
        scores[batch.blank] = self.range[0]
        scores[[not example.context for example in batch.examples]] = np.nan
        return scores


def referenced(batch: Batch, known: WordVectors, text: TextOptions) -> Scores:
    """s_R of each reply: the highest over its references."""
    replies = [example.response for example in batch.examples]
    references = [reference for example in batch.examples for reference in example.references]
    pooled = batch.keep(
        ("ruber pooled", known.digest, text), lambda: pooled_texts([*replies, *references], known, text)
    )
    own, theirs = pooled[: len(replies)][batch.owner], pooled[len(replies) :]
    pairs = cosines(own, theirs)
    pairs[np.isnan(pairs) & theirs.any(axis=1)] = 0.0
    for pair, reference in enumerate(references):  # exactly 1, whether its words are known or not
        if replies[batch.owner[pair]].strip() == reference.strip():
            pairs[pair] = 1.0
    return best_reference(pairs, batch, "max")


def pooled_texts(texts: Sequence[str], known: WordVectors, text: TextOptions) -> Vectors:
    """[max; min] of each text's word vectors; zeros if no word is known. (texts, 2 * dims)"""
    vocabulary, rows = tokenised(texts, text)
    place = known.lookup(vocabulary)
    has = place >= 0
    kept = has[rows.values]
    lengths = np.bincount(rows.row_of_value[kept], minlength=len(rows))
    code = np.cumsum(has) - 1
    pooled = pool_rows(
        np.asarray(known.matrix[place[has]], np.float32), Ragged(code[rows.values[kept]], offsets_of(lengths))
    )
    return np.concatenate([pooled.highest, pooled.lowest], axis=1)


def cosines(left: Vectors, right: Vectors) -> Scores:
    """The cosine of each row; NaN if a vector is zero."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    lengths = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    found: Scores = np.divide((a * b).sum(axis=1), lengths, out=np.full(len(a), np.nan), where=lengths > 0)
    return np.clip(found, -1.0, 1.0)

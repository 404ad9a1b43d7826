"""The two parts: s_U, by a network over context and reply, and s_R, by pooled word vectors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from rejoinder.arrays import Ints, Ragged, Vectors, offsets_of
from rejoinder.data.contexts import TrainedContexts, digest_of
from rejoinder.data.dialogues import pair_of
from rejoinder.errors import CallError, DataError, NeedsError
from rejoinder.evaluators.base import Evaluator, EvaluatorFit, Use
from rejoinder.evaluators.calibration import OVERFLOW
from rejoinder.folders.array_schema import Array
from rejoinder.folders.saved import PACKED, packed_words, read_arrays, unpacked_words, write_arrays
from rejoinder.folders.sources import require_extra
from rejoinder.learning.data import TrainingData
from rejoinder.learning.run import TrainingRun
from rejoinder.metrics.base import Metric, best_reference, check_choice
from rejoinder.metrics.batch import Batch, TextOptions, encode
from rejoinder.metrics.embedding import pool_rows, shared_vectors
from rejoinder.models.sentence_encoders import CORPUS, Word2VecTraining, learned_vectors
from rejoinder.options import check_least, check_rates, check_scale
from rejoinder.registry import load_reply_model
from rejoinder.text.tokens import TOKENISERS, writable
from rejoinder.text.vectors import SHIPPED_VECTORS, WordVectors, load_vectors
from rejoinder.types import JudgedExample, Scores

if TYPE_CHECKING:
    from rejoinder.evaluators.ruber.network import PairScorer

# s_U: how well a reply fits its context, by a network that learned to distinguish true replies from random ones.


# Vector pooling: the cosine of [max; min] of two texts' word vectors (Tao et al. 2018, section 3.1).
#
# Between reply and reference it is s_R, the evaluator `ruber-ref`, whose word vectors are learned from the dialogues.
# Between reply and query it is the paper's baseline, the metric `ruber-pool`, whose word vectors are given.


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
        check_choice(self, "tokenise", RUBER_TOKENISERS)
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
        if self.vectors != SHIPPED_VECTORS:
            write_arrays(folder / VECTORS, {"words": packed_words(tuple(known.words)), "matrix": known.matrix})

    def read_vectors(self, folder: Path) -> WordVectors:
        """The vectors of the folder, or those that come with the package."""
        if self.vectors == SHIPPED_VECTORS:
            return shared_vectors(SHIPPED_VECTORS)
        path = folder / VECTORS
        if self.vectors != CORPUS and not path.is_file():  # until 0.1 only the name of the file was saved
            raise DataError("is missing: expected word vectors within the folder; train it again", file=str(path))
        arrays = read_arrays(path, {"words": PACKED, "matrix": Array("f", ("words", "dims"))})
        words = unpacked_words(arrays["words"], path, len(arrays["matrix"]))
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

    vectors: str = SHIPPED_VECTORS
    turns: int = 1
    """The number of a context's last turns that make up the query."""
    tokenise: str = "words"
    lowercase: bool = True

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "tokenise", RUBER_TOKENISERS)
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


GRU, HIERARCHICAL = "gru", "hierarchical"
NONE, AUTO = "none", "auto"
LABEL_BATCH = 30
"""Judged replies per step of training on ratings, as in Zhao et al. 2020."""


@dataclass(frozen=True, kw_only=True)
class NetworkEvaluator(CorpusEvaluator):
    """What RUBER and s_U alone share: the network's sizes, and how it is trained."""

    trains_in_steps: ClassVar[bool] = True

    encoder: str = GRU
    """gru: a BiGRU over the query's words; hierarchical: a second one over turns; or the Hugging Face name or folder of
    a pretrained encoder, which is not trained further."""
    turns: int = 0
    """The number of a context's last turns that are read; 0: 1, or 5 in the hierarchical form."""
    hidden: int = 64
    """Units of a GRU in each direction."""
    layers: int = 1
    """Layers of each GRU."""
    speaker: int = 30
    """Size of the embedding that says whether the replier spoke a turn, in the hierarchical form."""
    units: int = 64
    """Units of the head's hidden layer."""
    dropout: float = 0.2
    """Share of activations that are dropped in training."""
    vocabulary: int = 20_000
    """The largest number of words that a GRU knows."""
    max_length: int = 50
    """Words (or tokens of a pretrained encoder) that are read of a text, from its end."""
    start: str = NONE
    """The folder of a trained hred (a reply model) whose tokens, sizes and weights the GRUs start from."""
    negatives: int = 8
    """Random replies per context, in addition to the true one."""
    margin: float = 0.5
    """By how much a true reply should score higher than a random one."""
    epochs: int = 10
    """The largest number of epochs over the dialogues."""
    batch: int = 64
    """Contexts per training step."""
    learning_rate: float = 1e-3
    """Learning rate at the start; it falls to 0 linearly."""
    label_epochs: int = 30
    """The largest number of epochs over the ratings."""
    label_rate: float = 3e-4
    """Learning rate on ratings."""
    dimension: str = AUTO
    """The dimension of the ratings to learn; auto: the only one, or the one called overall."""
    scale: tuple[float, float] | None = None
    """The lowest and highest possible rating; by default, the lowest and highest given."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        least = dict.fromkeys(
            "hidden layers speaker units vocabulary max_length negatives epochs label_epochs".split(), 1
        )
        check_least(self, {**least, "turns": 0, "batch": 2})
        check_rates(self, "margin", "learning_rate", "label_rate")
        if not 0 <= self.dropout < 1:
            raise CallError(f"{self.name}: dropout must be at least 0 and below 1, not {self.dropout}")
        check_scale(self, self.scale)
        if self.start != NONE and not self.reads_words:
            raise CallError(f"{self.name}: start is for a GRU, and {self.encoder} is a pretrained encoder")
        if self.start != NONE and self.layers != 1:
            raise CallError(f"{self.name}: layers is for a GRU without start, whose hred has its own number of layers")

    @property
    def reads_words(self) -> bool:
        """Whether the network has a GRU over words rather than a pretrained encoder."""
        return self.encoder in {GRU, HIERARCHICAL}

    @property
    def pretrained_names(self) -> tuple[tuple[str, str], ...]:
        """The encoder, if it is a pretrained one."""
        return () if self.reads_words else ((self.encoder, "encoder"),)

    @property
    def turns_read(self) -> int:
        """The number of a context's last turns that are read."""
        return self.turns or (5 if self.encoder == HIERARCHICAL else 1)

    def inherited_contexts(self) -> TrainedContexts:
        """The contexts that the reply model in `start` was trained on."""
        if self.start == NONE:
            return TrainedContexts()
        inherited: TrainedContexts = load_reply_model(self.start).trained_contexts
        return inherited

    def fit_with(self, data: TrainingData) -> EvaluatorFit:
        """The description of the training data after tuning on more judged examples."""
        fit = self.fitted
        return replace(
            fit,
            data=digest_of([fit.data, data.digest]),
            judged=fit.judged + len(data.judged) + len(data.valid),
            contexts=fit.contexts | data.contexts,
            calibration=None,
        )


@dataclass(frozen=True, kw_only=True)
class RuberUnref(NetworkEvaluator):
    """s_U: sigmoid(MLP([c; r; c^T M r])) of the vectors of context and reply."""

    name: ClassVar[str] = "ruber-unref"
    measures: ClassVar[str] = "how well a reply fits its context, by a network that tells true replies from random ones"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    cannot_score: ClassVar[str] = f"no context, or {OVERFLOW}"

    scorer_: PairScorer = field(init=False, repr=False, compare=False)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The trained network."""
        require_extra("train", "training RUBER")
        from rejoinder.evaluators.ruber.training import learned_scorer

        vectors = self.corpus_vectors(data) if self.reads_words else None
        return {"scorer_": learned_scorer(self, data, vectors)}

    def tuned(self, judged: Iterable[JudgedExample], *, seed: int = 0, run: TrainingRun | None = None) -> Self:
        """A copy that is also trained on ratings; this one does not change."""
        from rejoinder.evaluators.ruber.training import tuned_scorer

        data = TrainingData.of((), judged, seed=seed, run=run)
        fit, other = self.fit_with(data), self.clone()
        other._remember({"scorer_": tuned_scorer(self, self.scorer_, data)}, fit)
        return other

    def predict(self, batch: Batch) -> Scores:
        """One score per example, from 0 to 1."""
        return unreferenced(batch, self.scorer_)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the network and the reader of its texts."""
        return self.scorer_.save(folder)

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The network of the folder."""
        return {"scorer_": load_scorer(folder, plain)}


def unreferenced(batch: Batch, scorer: PairScorer) -> Scores:
    """s_U of each reply; 0 if it is empty or has no context."""
    rows = [row for row, example in enumerate(batch.examples) if not batch.blank[row] and example.context]
    scores = np.zeros(len(batch))
    scores[rows] = scorer.score([pair_of(batch.examples[row]) for row in rows])
    return scores


def load_scorer(folder: Path, plain: Mapping[str, Any]) -> PairScorer:
    """The network saved in a folder."""
    require_extra("train", "scoring by RUBER's network")
    from rejoinder.evaluators.ruber.network import PairScorer

    return PairScorer.load(folder, plain)


# Text to words, by the tokenisers that metrics have, or by jieba, which segments Chinese into words.


JIEBA = "jieba"
"""A tokeniser in addition to the package's own: segments Chinese into words with a dictionary."""
RUBER_TOKENISERS = (*TOKENISERS, JIEBA)


def tokenised(texts: Sequence[str], options: TextOptions) -> tuple[list[str], Ragged]:
    """The distinct words of all texts, and each text as indices into them."""
    column = pl.Series(list(map(writable, texts)), dtype=pl.String)
    if options.tokenise == JIEBA:
        column = pl.Series(_cut(column.to_list()), dtype=pl.String)
        options = TextOptions("whitespace", options.lowercase, options.strip)
    vocabulary, rows = encode(column, options)
    return vocabulary.to_list(), rows


def common_words(texts: Sequence[str], options: TextOptions, least: int, most: int) -> tuple[tuple[str, ...], Ragged]:
    """The words that occur at least `least` times, most frequent first, and each text as indices into them; -1: another
    word."""
    words, rows = tokenised(texts, options)
    counts = np.bincount(rows.values, minlength=len(words))
    # Words of equal counts in alphabetical order: otherwise it would depend on how strings are hashed.
    often = sorted(np.flatnonzero(counts >= least).tolist(), key=lambda code: (-counts[code], words[code]))[:most]
    place: Ints = np.full(len(words), -1, np.int64)
    place[often] = np.arange(len(often))
    return tuple(words[code] for code in often), Ragged(place[rows.values], rows.offsets)


def require_tokeniser(tokenise: str) -> None:
    """Raise a MissingExtraError if a tokeniser is not installed."""
    if tokenise == JIEBA:
        require_extra("chinese", "cutting Chinese into words")


def _cut(texts: Sequence[str]) -> list[str]:
    """Each text with spaces between its words."""
    require_tokeniser(JIEBA)
    cutter = _jieba()
    return [" ".join(cutter.cut(text)) for text in texts]


@cache
def _jieba() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was written for older versions of Python
        jieba = import_module("jieba")
    jieba.setLogLevel("ERROR")  # otherwise it reports on standard error how it reads its dictionary
    cutter = jieba.Tokenizer()
    cutter.initialize()
    return cutter

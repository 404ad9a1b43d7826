"""s_U: how well a reply fits its context, by a network that learned to distinguish true replies from random ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rejoinder.data.contexts import TrainedContexts
from rejoinder.data.digests import digest_of
from rejoinder.data.pairs import pair_of
from rejoinder.errors import CallError
from rejoinder.evaluators.base import Fit
from rejoinder.evaluators.ruber.pooling import CorpusEvaluator
from rejoinder.evaluators.scale import OVERFLOW
from rejoinder.learning.data import TrainingData
from rejoinder.learning.extras import require_extra
from rejoinder.learning.parameters import check_least, check_rates, check_scale
from rejoinder.learning.run import TrainingRun
from rejoinder.metrics.batch import Batch
from rejoinder.registry import load_reply_model
from rejoinder.types import JudgedExample, Scores

if TYPE_CHECKING:
    from rejoinder.evaluators.ruber.scorer import PairScorer

GRU, HIERARCHICAL = "gru", "hierarchical"
NONE, AUTO = "none", "auto"
LABEL_BATCH = 30
"""Judged replies per step of training on human scores, as in Zhao et al. 2020."""


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
    """The largest number of epochs over the human scores."""
    label_rate: float = 3e-4
    """Learning rate on human scores."""
    dimension: str = AUTO
    """The dimension of the human scores to learn; auto: the only one, or the one called overall."""
    scale: tuple[float, float] | None = None
    """The lowest and highest possible human score; by default, the lowest and highest given."""

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

    def fit_with(self, data: TrainingData) -> Fit:
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
        """A copy that is also trained on human scores; this one does not change."""
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
    from rejoinder.evaluators.ruber.scorer import PairScorer

    return PairScorer.load(folder, plain)

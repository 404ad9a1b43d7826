"""Measures of a reply model on the test contexts of a corpus."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from papers.reply_models.recall import Recall, recall
from rejoinder.arrays import Floats
from rejoinder.data.negatives import Place, places_of
from rejoinder.metrics.base import ScoreWarning
from rejoinder.models.language_model import DialogueLikelihood
from rejoinder.registry import load
from rejoinder.replies.corpus import Retrieval
from rejoinder.replies.neural import NeuralReplyModel
from rejoinder.replies.pool import PoolSystem
from rejoinder.replies.recurrent import RecurrentReplyModel
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import linear_interval, mean_intervals
from rejoinder.types import Dialogue, Example

METRICS = ("embedding-average", "greedy-matching", "vector-extrema")
RANDOM = "random"
"""In place of a model's registered name: true replies of other contexts."""
SAMPLES = 5


@dataclass(frozen=True)
class Predicted:
    """How well a model that writes predicts the true replies."""

    perplexity: Interval
    """Over the tokens that all recurrent models share; an upper bound for a model with a latent variable."""
    found: DialogueLikelihood


@dataclass(frozen=True, eq=False)
class Row:
    """One model on one corpus."""

    name: str
    model: str
    """Its registered name, or RANDOM."""
    scores: Floats  # (contexts, metrics)
    means: list[Interval]
    distinct: tuple[float, float]
    words: float
    """Per reply."""
    same: float
    """The share of replies that are the true one, word for word."""
    samples: list[str]
    trained_on: tuple[str, ...] = ()
    signature: str = ""
    recall: Recall | None = None
    predicted: Predicted | None = None


@dataclass
class Corpus:
    """The contexts of one corpus, and every model's replies to them."""

    name: str
    places: list[Place]
    seed: int
    rows: list[Row] = field(default_factory=list)
    tokens: Floats | None = None
    """Byte pairs of the replies of each dialogue, once a recurrent model has counted them."""

    @property
    def dialogues(self) -> list[Dialogue]:
        """The dialogues that the contexts come from."""
        return [place.dialogue for place in self.places]


def drawn_places(dialogues: Sequence[Dialogue], most: int, seed: int) -> list[Place]:
    """One reply from each of at most `most` dialogues, so that contexts are independent of each other."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(dialogues)).tolist()
    found = [places for number in order if (places := places_of([dialogues[number]]))][:most]
    return [places[int(rng.integers(len(places)))] for places in found]


def random_row(corpus: Corpus) -> Row:
    """Each context answered with the true reply of another: the metrics' scores without any model."""
    order = np.random.default_rng([corpus.seed, 1]).permutation(len(corpus.places)).tolist()
    follower = dict(zip(order, [*order[1:], order[0]], strict=True))
    replies = [corpus.places[follower[row]].response for row in range(len(order))]
    return _scored("random reply", RANDOM, corpus, replies)


def model_row(system: PoolSystem, corpus: Corpus, trained_on: tuple[str, ...]) -> Row:
    """A model's replies to the contexts, its ranking of candidates if it retrieves, its perplexity if it writes."""
    contexts, true = [one.context for one in corpus.places], [one.response for one in corpus.places]
    model = system.model
    replies = model.reply(contexts, decoding=system.decoding, seed=corpus.seed, true_replies=true)
    return replace(
        _scored(system.name, model.name, corpus, replies),
        trained_on=trained_on,
        signature=system.signature,
        recall=recall(model, corpus.dialogues, seed=corpus.seed) if isinstance(model, Retrieval) else None,
        predicted=_predicted(model, corpus) if isinstance(model, NeuralReplyModel) else None,
    )


def _scored(name: str, model: str, corpus: Corpus, replies: Sequence[str]) -> Row:
    examples = [
        Example(str(row), place.context, reply, (place.response,))
        for row, (place, reply) in enumerate(zip(corpus.places, replies, strict=True))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoreWarning)  # an empty reply scores the lowest, as it should
        scores = np.stack([load(metric).score(examples) for metric in METRICS], axis=1)
    return Row(
        name=name,
        model=model,
        scores=scores,
        means=mean_intervals(scores, seed=corpus.seed),
        distinct=(load("distinct-1").corpus_score(examples), load("distinct-2").corpus_score(examples)),
        words=float(np.mean([len(reply.split()) for reply in replies])),
        same=float(np.mean([one.response.split() == one.references[0].split() for one in examples])),
        samples=list(replies[:SAMPLES]),
    )


def _predicted(model: NeuralReplyModel, corpus: Corpus) -> Predicted | None:
    """Perplexity of every reply in the dialogues, with an interval over dialogues; None before tokens are counted.

    A pretrained model has tokens of its own: the cost of the replies is divided by the number of the others' tokens.
    """
    recurrent = isinstance(model, RecurrentReplyModel)
    if not recurrent and corpus.tokens is None:
        return None
    each = [model.likelihood([dialogue]) for dialogue in corpus.dialogues]
    if recurrent or corpus.tokens is None:
        corpus.tokens = np.array([one.tokens for one in each], np.float64)
    nats = np.array([one.words + one.kl for one in each])
    mean = linear_interval(nats, corpus.tokens)
    whole = DialogueLikelihood(
        sum(one.words for one in each),
        sum(one.kl for one in each),
        int(corpus.tokens.sum()),
        sum(one.replies for one in each),
    )
    return Predicted(Interval(*(math.exp(value) for value in (mean.estimate, mean.low, mean.high))), whole)

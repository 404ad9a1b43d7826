"""how-not's Table 2 on other corpora: embedding metrics of reply models, and how well they foretell and rank.

    python benchmarks/reply_models.py DATA -o docs/results/reply-model-figures.md \\
        --on dailydialog r-tfidf=r/ hred=hred/ lstm-lm=lstm/ --on empatheticdialogues r-tfidf=r-ed/ hred=hred/

DATA holds <corpus>.test.jsonl.gz. Each folder holds a trained reply model; FOLDER@beam(beam=4) says how it decodes. One
reply of each of 400 test dialogues (--contexts), drawn by the seed, is asked of every model. Name a recurrent model
before a pretrained one: perplexities are over its byte pairs.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.dialogues import DialogueSource
from rejoinder.data.negatives import Place, places_of
from rejoinder.language_models.likelihood import Likelihood
from rejoinder.metrics.base import ScoreWarning
from rejoinder.registry import load
from rejoinder.reply_models.neural.base import NeuralReplyModel
from rejoinder.reply_models.neural.recurrent import RecurrentReplyModel
from rejoinder.reply_models.pool.systems import System, systems_of
from rejoinder.reply_models.retrieval.base import Retrieval
from rejoinder.reply_models.retrieval.recall import Recall, recall
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import linear_interval, mean_intervals
from rejoinder.types import Dialogue, Example
from reply_models_page import page

SOME, MOST = 0.05, 0.5
"""Shares of a corpus's contexts from which a model counts as trained on a part of it, and on the whole."""
METRICS = ("embedding-average", "greedy-matching", "vector-extrema")
SAMPLES = 5


@dataclass(frozen=True)
class Foretold:
    """What the true replies cost a model that writes."""

    perplexity: Interval
    """Over the tokens that all recurrent models share; with a latent, a bound."""
    found: Likelihood


@dataclass(frozen=True)
class Row:
    """One model on one corpus."""

    name: str
    model: str
    """Its registered name; `random` for true replies of other contexts."""
    scores: NDArray[np.float64]  # (contexts, metrics)
    means: list[Interval]
    distinct: tuple[float, float]
    words: float
    same: float
    """The share of replies that are the true one, word for word."""
    samples: list[str]
    trained_on: tuple[str, ...] = ()
    signature: str = ""
    recall: Recall | None = None
    foretold: Foretold | None = None


@dataclass
class Corpus:
    """The contexts of one corpus, and what every model made of them."""

    name: str
    places: list[Place]
    rows: list[Row] = field(default_factory=list)
    tokens: NDArray[np.float64] | None = None
    """Byte pairs of the replies of each dialogue, once a recurrent model has counted them."""

    @property
    def dialogues(self) -> list[Dialogue]:
        """Those that the contexts are of."""
        return [place.dialogue for place in self.places]


def main() -> None:
    """Measure what was asked for, print it and write the page."""
    arguments = _arguments()
    names = [name for name, *_ in arguments.on]
    note = arguments.note.read_text(encoding="utf-8") if arguments.note else ""
    corpora = []
    for name, *specs in arguments.on:
        test = _dialogues(arguments.data / f"{name}.test.jsonl.gz")
        corpus = Corpus(name, drawn_places(test, arguments.contexts, arguments.seed))
        corpus.rows.append(_random_row(corpus, arguments.seed))
        for spec in specs:
            started = monotonic()
            [system] = systems_of([spec])
            known = {other: _known(system, arguments.data / f"{other}.train.jsonl.gz") for other in names}
            trained_on = tuple(
                other + (" (part)" if share < MOST else "") for other, share in known.items() if share > SOME
            )
            corpus.rows.append(_row(system, corpus, trained_on, arguments.seed))
            print(f"{name}: {system.name} in {monotonic() - started:.0f} s", flush=True)
        corpora.append(corpus)
        text = page(corpora, METRICS, load(METRICS[0]).signature, arguments.seed, note)
        arguments.output.write_text(text, encoding="utf-8")
    print(text)


def drawn_places(dialogues: Sequence[Dialogue], most: int, seed: int) -> list[Place]:
    """One reply of each of so many dialogues: contexts are then independent of each other."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(dialogues)).tolist()
    found = [places for number in order if (places := places_of([dialogues[number]]))][:most]
    return [places[int(rng.integers(len(places)))] for places in found]


def _row(system: System, corpus: Corpus, trained_on: tuple[str, ...], seed: int) -> Row:
    contexts, true = [one.context for one in corpus.places], [one.response for one in corpus.places]
    model = system.model
    replies = model.reply(contexts, decoding=system.decoding, seed=seed, true_replies=true)
    return _measured(
        system.name,
        model.name,
        corpus,
        replies,
        seed,
        trained_on=trained_on,
        signature=system.signature,
        recall=recall(model, corpus.dialogues, seed=seed) if isinstance(model, Retrieval) else None,
        foretold=_foretold(model, corpus) if isinstance(model, NeuralReplyModel) else None,
    )


def _random_row(corpus: Corpus, seed: int) -> Row:
    """Each context answered with the true reply of another: what the metrics give for nothing."""
    order = np.random.default_rng([seed, 1]).permutation(len(corpus.places)).tolist()
    follower = dict(zip(order, [*order[1:], order[0]], strict=True))
    replies = [corpus.places[follower[row]].response for row in range(len(order))]
    return _measured("random reply", "random", corpus, replies, seed)


def _measured(
    name: str,
    model: str,
    corpus: Corpus,
    replies: Sequence[str],
    seed: int,
    *,
    trained_on: tuple[str, ...] = (),
    signature: str = "",
    recall: Recall | None = None,
    foretold: Foretold | None = None,
) -> Row:
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
        means=mean_intervals(scores, seed=seed),
        distinct=(load("distinct-1").corpus_score(examples), load("distinct-2").corpus_score(examples)),
        words=float(np.mean([len(reply.split()) for reply in replies])),
        same=float(np.mean([one.response.split() == one.references[0].split() for one in examples])),
        samples=list(replies[:SAMPLES]),
        trained_on=trained_on,
        signature=signature,
        recall=recall,
        foretold=foretold,
    )


def _foretold(model: NeuralReplyModel, corpus: Corpus) -> Foretold | None:
    """Perplexity of every reply in the dialogues, with an interval over dialogues; None before anyone counted tokens.

    A pretrained model has tokens of its own: what the replies cost it is shared out among those of the others.
    """
    recurrent = isinstance(model, RecurrentReplyModel)
    if not recurrent and corpus.tokens is None:
        return None
    each = [model.likelihood([dialogue]) for dialogue in corpus.dialogues]
    if recurrent or corpus.tokens is None:
        corpus.tokens = np.array([one.tokens for one in each], np.float64)
    nats = np.array([one.words + one.kl for one in each])
    mean = linear_interval(nats, corpus.tokens)
    whole = Likelihood(
        sum(one.words for one in each),
        sum(one.kl for one in each),
        int(corpus.tokens.sum()),
        sum(one.replies for one in each),
    )
    return Foretold(Interval(*(math.exp(value) for value in (mean.estimate, mean.low, mean.high))), whole)


def _known(system: System, train: Path) -> float:
    """The share of a corpus's contexts that a model was trained on."""
    return float(system.model.trained_contexts.holds(_some_contexts(train)).mean())


@cache
def _some_contexts(train: Path) -> list[Example]:
    some = _dialogues(train)[::100]
    return [Example(one.id, one.turns[:-1], one.turns[-1]) for one in some if len(one.turns) > 3]


def _dialogues(path: Path) -> list[Dialogue]:
    return list(DialogueSource(str(path), "skip"))  # EmpatheticDialogues has one of a single turn


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--on", nargs="+", action="append", required=True, metavar="CORPUS NAME=FOLDER")
    parser.add_argument("--contexts", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--note", type=Path, metavar="FILE", help="what the page says of how these models were trained")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Replies from dialogues with the scores that the model gives them, trained on so that it keeps what it knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import expit, logit

from rejoinder.data.dialogues import ReplyInContext, pair_of
from rejoinder.data.negatives import NegativeMixture, Negatives, Place, garbled, near_neighbours, places_of
from rejoinder.errors import CallError
from rejoinder.evaluators.calibration import HIGHEST, LOWEST
from rejoinder.evaluators.encoder.model import EncoderModel
from rejoinder.metrics.batch import TextOptions, encode
from rejoinder.text.vectors import load_vectors
from rejoinder.types import Dialogue, Example, Scores

# Replay: replies from dialogues, trained on with the scores that the model already gives them.
#
# Labels say little about replies unlike the labelled ones. Replayed among them, such replies keep their scores; garbled
# forms of them are held below, because labelled replies rarely show broken language.


_LOWEST_LOGIT = -3.0
"""A garbled reply's score need not be lower than this."""


class RehearsedReplies(NamedTuple):
    """Replies with the scores to learn."""

    pairs: list[ReplyInContext]
    wanted: Scores
    """From 1 to 5. (pairs,)"""


def replay_of(model: EncoderModel, dialogues: Sequence[Dialogue], contexts: int, seed: int = 0) -> RehearsedReplies:
    """True and other well-formed replies to `contexts` contexts, and a garbled form of each where one can be made.

    The target scores are the model's own for the well-formed replies, and lower ones for the garbled forms.
    """
    rng = np.random.default_rng([seed, 13])
    pairs = [pair_of(example) for example in candidates_of(dialogues, contexts, seed, SOUND)]
    scores = model.score(pairs)
    made = [garbled(pair.response, pair.context[-1], rng) for pair in pairs]
    spoilt = [row for row, each in enumerate(made) if each is not None]
    drops = np.array([each.drop for each in made if each is not None])
    replies = [pairs[row]._replace(response=each.text) for row, each in enumerate(made) if each is not None]
    return RehearsedReplies([*pairs, *replies], np.concatenate([scores, lowered(scores[spoilt], drops)]))


def lowered(scores: Scores, drops: Scores) -> Scores:
    """Scores from 1 to 5 after their logits are lowered by `drops`."""
    logits = logit(np.clip((scores - LOWEST) / (HIGHEST - LOWEST), 1e-6, 1 - 1e-6))
    dropped: Scores = LOWEST + (HIGHEST - LOWEST) * expit(np.maximum(logits - drops, np.minimum(logits, _LOWEST_LOGIT)))
    return dropped


# Candidate replies for a teacher to score, made from dialogues: the true reply to a context, and others that fit
# less.
#
# What kinds there are, and how each is made, is in `data/negatives.py`.


TRUE = "true"
CANDIDATE_KINDS = ("random", "same_dialogue", "neighbour", "echo", "generic", "shuffled", "truncated", "repeated")
"""Kinds of replies other than the true one."""
WORSE = ("random", "same_dialogue", "echo", "shuffled", "repeated", "garbled")
"""Kinds that are certainly worse than the true reply; the others may fit as well."""
SOUND = ("random", "same_dialogue", "neighbour")
"""Kinds whose language is as good as that of the true reply."""
_SEARCHED = 5000
"""Replies among which neighbours are looked for."""


def candidates_of(
    dialogues: Sequence[Dialogue], contexts: int, seed: int = 0, kinds: Sequence[str] = CANDIDATE_KINDS
) -> list[Example]:
    """The true reply to each of at most `contexts` random contexts, and one reply of each kind that can be made.

    An id is the number of the context, a hyphen, and the kind.
    """
    places = places_of(dialogues)
    if len(places) < 2:
        raise CallError("candidates are made from dialogues: expected at least two replies in them")
    neighbours = reply_neighbours(places, seed) if "neighbour" in kinds else None
    source = Negatives(places, neighbours=neighbours)
    rng, found = np.random.default_rng([seed, 9]), []
    for number in np.sort(rng.permutation(len(places))[:contexts]).tolist():
        place = places[number]
        made = [(TRUE, place.response), *((kind, source.of_kind(kind, number, rng)) for kind in kinds)]
        texts = {text: kind for kind, text in reversed(made) if text is not None}
        found += [
            Example(f"{number}-{kind}", place.context, text, speakers=place.speakers, context_id=str(number))
            for text, kind in texts.items()
        ]
    return found


def candidate_kind(candidate: Example) -> str:
    """The kind of a reply that `candidates_of` made."""
    return candidate.id.partition("-")[2]


def source_of_negatives(places: Sequence[Place], mixture: NegativeMixture, seed: int) -> Negatives:
    """The source of replies that do not fit; neighbours are looked for where the mixture has any."""
    neighbours = reply_neighbours(places, seed) if mixture.neighbour and len(places) > 1 else None
    return Negatives(places, mixture, neighbours)


def reply_neighbours(places: Sequence[Place], seed: int) -> NDArray[np.int64]:
    """For each place the numbers of places whose replies are near its own by their mean word vectors."""
    return near_neighbours(reply_vectors(places), seed=seed, most=_SEARCHED)


def reply_vectors(places: Sequence[Place]) -> NDArray[np.float32]:
    """The sum of the word vectors of each place's reply; zeros where no word is known. (places, dims)"""
    import polars as pl

    vectors = load_vectors(quiet=True)
    vocabulary, rows = encode(pl.Series([place.response for place in places], dtype=pl.String), TextOptions())
    known = vectors.lookup(vocabulary.to_list())
    table = np.where((known >= 0)[:, None], vectors.matrix[np.maximum(known, 0)], 0).astype(np.float32)
    counts = csr_matrix((np.ones(len(rows.values), np.float32), rows.values, rows.offsets), (len(rows), len(table)))
    totals: NDArray[np.float32] = counts @ table  # a sum has the direction of a mean, and cosines are all that is used
    return totals

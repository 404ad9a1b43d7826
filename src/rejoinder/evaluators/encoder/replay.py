"""Replay: replies from dialogues, trained on with the scores that the model already gives them.

Labels say little about replies unlike the labelled ones. Replayed among them, such replies keep their scores; garbled
forms of them are held below, because labelled replies rarely show broken language.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from rejoinder.data.garbling import garbled
from rejoinder.data.pairs import Pair, pair_of
from rejoinder.evaluators.encoder.model import Model
from rejoinder.evaluators.scale import HIGHEST, LOWEST
from rejoinder.learning.candidates import SOUND, candidates_of
from rejoinder.types import Dialogue, Scores

_LOWEST_LOGIT = -3.0
"""A garbled reply's score need not be lower than this."""


class Replay(NamedTuple):
    """Replies with the scores to learn."""

    pairs: list[Pair]
    wanted: Scores
    """From 1 to 5. (pairs,)"""


def replay_of(model: Model, dialogues: Sequence[Dialogue], contexts: int, seed: int = 0) -> Replay:
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
    return Replay([*pairs, *replies], np.concatenate([scores, lowered(scores[spoilt], drops)]))


def lowered(scores: Scores, drops: Scores) -> Scores:
    """Scores from 1 to 5 after their logits are lowered by `drops`."""
    logits = logit(np.clip((scores - LOWEST) / (HIGHEST - LOWEST), 1e-6, 1 - 1e-6))
    dropped: Scores = LOWEST + (HIGHEST - LOWEST) * expit(np.maximum(logits - drops, np.minimum(logits, _LOWEST_LOGIT)))
    return dropped

"""Ways to damage a reply, after Sai et al. 2019 ("Re-evaluating ADEM").

Words in, words out. No perturbation returns an empty reply: where there is nothing to change, the words stay the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rejoinder.text.cleaning import STOP_WORDS

Words = tuple[str, ...]
Change = Callable[[Words, Words, np.random.Generator], Words]
"""The words of a reply, the words of the utterance that it answers, and a random generator -> new words."""

SHARE = 0.3
"""The share of words that are dropped or repeated; at least one word is."""
GENERIC: tuple[Words, ...] = (
    ("i", "don't", "know", "."),
    ("i'm", "not", "sure", "."),
    ("that's", "nice", "."),
)
"""Replies that fit any context."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A change to replies, and how it should affect their scores."""

    name: str
    lowers: bool
    """Whether a person would rate the changed reply lower; otherwise the change should not matter."""
    change: Change


def word_drop(words: Words, rng: np.random.Generator) -> Words:
    """The reply without some of its words."""
    if len(words) < 2:
        return words
    dropped = set(_some(words, rng))
    return tuple(word for place, word in enumerate(words) if place not in dropped)


def shuffle(words: Words, rng: np.random.Generator) -> Words:
    """The same words in another order."""
    if len(set(words)) < 2:
        return words
    shuffled = tuple(words[place] for place in rng.permutation(len(words)))
    # Unless all words are equal, moving the first one to the end gives another sequence.
    return shuffled if shuffled != words else (*words[1:], words[0])


def repetition(words: Words, rng: np.random.Generator) -> Words:
    """The reply with some of its words repeated."""
    repeated = set(_some(words, rng))
    return tuple(word for place, word in enumerate(words) for _ in range(1 + (place in repeated)))


def reversed_words(words: Words) -> Words:
    """The words from last to first."""
    return words[::-1]


def without_stop_words(words: Words) -> Words:
    """The reply without English function words."""
    return tuple(word for word in words if word.lower().replace("’", "'") not in STOP_WORDS) or words


def without_punctuation(words: Words) -> Words:
    """The reply without tokens that contain neither a letter nor a digit."""
    return tuple(word for word in words if any(character.isalnum() for character in word)) or words


def generic_reply(words: Words, rng: np.random.Generator) -> Words:
    """One of a few replies that fit any context, but not this one."""
    plain = tuple(word.lower() for word in words)
    others = [generic for generic in GENERIC if generic != plain]
    return others[int(rng.integers(len(others)))]


def echoed_context(words: Words, answered: Words) -> Words:
    """The utterance that the reply should have answered."""
    return answered or words


def _some(words: Words, rng: np.random.Generator) -> list[int]:
    """Random positions, about `SHARE` of them and at least one."""
    count = max(1, round(SHARE * len(words)))
    chosen: list[int] = rng.choice(len(words), count, replace=False).tolist() if words else []
    return chosen


PERTURBATIONS = (
    Perturbation("word drop", True, lambda words, _, rng: word_drop(words, rng)),
    Perturbation("shuffle", True, lambda words, _, rng: shuffle(words, rng)),
    Perturbation("repetition", True, lambda words, _, rng: repetition(words, rng)),
    Perturbation("reversed", True, lambda words, *_: reversed_words(words)),
    Perturbation("stop words removed", True, lambda words, *_: without_stop_words(words)),
    Perturbation("generic reply", True, lambda words, _, rng: generic_reply(words, rng)),
    Perturbation("echoed context", True, lambda words, answered, _: echoed_context(words, answered)),
    Perturbation("punctuation removed", False, lambda words, *_: without_punctuation(words)),
)

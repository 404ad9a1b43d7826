"""Replies in broken language, made from good ones, and how much lower they should score.

Cosines and language models alike give a heap of the context's words a high score: an evaluator that learned from them
has to be shown that broken language is worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

Garble = Callable[[list[str], Sequence[str], np.random.Generator], list[str]]

SHORTEST = 4
"""Words that a reply must have to be garbled."""

_WRONG_FORMS = MappingProxyType(
    {"is": "are", "are": "is", "was": "were", "were": "was", "am": "is", "do": "does", "does": "do"}
    | {"have": "has", "has": "have", "i": "me", "me": "I", "he": "him", "him": "he", "they": "them"}
    | {"my": "I", "your": "you", "a": "an", "an": "the", "the": "a"}
    | {"to": "for", "for": "to", "in": "of", "of": "in", "at": "by"}
)
"""Word -> one that is wrong in its place."""


class Garbled(NamedTuple):
    """A reply in broken language."""

    text: str
    drop: float
    """How much lower it should score than its source reply, in logits."""


def garbled(reply: str, last_turn: str, rng: np.random.Generator) -> Garbled | None:
    """The reply broken in one of six ways; None if it is too short or would be unchanged."""
    words = reply.split()
    if len(words) < SHORTEST:
        return None
    garble, drop = _WAYS[rng.integers(len(_WAYS))]
    made = garble(words, last_turn.split(), rng)
    return Garbled(" ".join(made), drop) if len(made) > 1 and made != words else None


def _shuffled(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    return _drawn(words, len(words), rng)


def _stammered(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    """About half of the words twice."""
    return [word for word in words for _ in range(1 + int(rng.random() < 0.5))]


def _misformed(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Words in wrong forms, function words replaced or left out."""
    made: list[str] = []
    for word in words:
        if word.lower() in _WRONG_FORMS and rng.random() < 0.7:
            made += [_WRONG_FORMS[word.lower()]] if rng.random() < 0.6 else []
        elif len(word) > 3 and word.isalpha() and rng.random() < 0.5:
            made.append(word[:-1] if word.endswith("s") else word + ("s", "ing", "ed")[rng.integers(3)])
        else:
            made.append(word)
    return made


def _mixed(words: list[str], context: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Half of its words and some of the context's, in random order."""
    half = max(1, len(words) // 2)
    both = _drawn(words, half, rng) + _drawn(context, max(2, half), rng)
    return _drawn(both, len(both), rng)


def _circling(words: list[str], context: Sequence[str], rng: np.random.Generator) -> list[str]:
    """A few words over and over."""
    return (_drawn(words, 2, rng) + _drawn(context, 1, rng)) * int(rng.integers(2, 5))


def _cut_off(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    return words[: int(rng.integers(2, max(3, len(words) - 2)))]


def _drawn(words: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """`count` of the words, or all if there are fewer, in random order."""
    return [words[place] for place in rng.permutation(len(words))[:count].tolist()]


_WAYS: tuple[tuple[Garble, float], ...] = (
    (_shuffled, 1.6),
    (_stammered, 1.4),
    (_misformed, 0.9),
    (_mixed, 2.0),
    (_circling, 2.0),
    (_cut_off, 0.6),
)
"""Ways to break a reply, each with its drop."""

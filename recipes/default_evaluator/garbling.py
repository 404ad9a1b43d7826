"""Replies with broken language, made of good ones, and how far below these they belong."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from types import MappingProxyType

Garble = Callable[[list[str], Sequence[str], random.Random], list[str]]

FORMS = MappingProxyType(
    {
        "is": "are",
        "are": "is",
        "was": "were",
        "were": "was",
        "am": "is",
        "do": "does",
        "does": "do",
        "a": "an",
        "have": "has",
        "has": "have",
        "I": "me",
        "me": "I",
        "he": "him",
        "him": "he",
        "they": "them",
        "to": "for",
        "in": "of",
        "of": "in",
        "at": "by",
        "the": "a",
        "for": "to",
        "my": "I",
        "your": "you",
        "an": "the",
    }
)
"""A word -> one that does not stand where it does."""


def shuffled(words: list[str], _: Sequence[str], rng: random.Random) -> list[str]:
    """All words in another order."""
    return rng.sample(words, len(words))


def stammered(words: list[str], _: Sequence[str], rng: random.Random) -> list[str]:
    """About half of the words said twice."""
    return [word for word in words for _ in range(1 + (rng.random() < 0.5))]


def misformed(words: list[str], _: Sequence[str], rng: random.Random) -> list[str]:
    """Words in wrong forms, and little ones left out."""
    made = []
    for word in words:
        if word.lower() in FORMS and rng.random() < 0.7:
            made += [FORMS[word.lower()]] if rng.random() < 0.6 else []
        elif len(word) > 3 and word.isalpha() and rng.random() < 0.5:
            made.append(word[:-1] if word.endswith("s") else word + rng.choice(["s", "ing", "ed"]))
        else:
            made.append(word)
    return made


def strewn(words: list[str], context: Sequence[str], rng: random.Random) -> list[str]:
    """Some of its words and some of the context's, in no order."""
    kept = rng.sample(words, max(1, len(words) // 2))
    strange = rng.sample(list(context), min(len(context), max(2, len(words) // 2)))
    return rng.sample(kept + strange, len(kept) + len(strange))


def circling(words: list[str], context: Sequence[str], rng: random.Random) -> list[str]:
    """A few words said over and over."""
    few = rng.sample(words, min(len(words), 2)) + rng.sample(list(context), min(len(context), 1))
    return [word for _ in range(rng.randrange(2, 5)) for word in few]


def cut_off(words: list[str], _: Sequence[str], rng: random.Random) -> list[str]:
    """Broken off in the middle."""
    return words[: rng.randrange(2, max(3, len(words) - 2))]


WAYS: tuple[tuple[Garble, float], ...] = (
    (shuffled, 1.6),
    (stammered, 1.4),
    (misformed, 0.9),
    (strewn, 2.0),
    (circling, 2.0),
    (cut_off, 0.6),
)
"""Each way with how far its replies fall, as a logit."""
SHORTEST = 4
"""Words of a reply that can be garbled."""


def garbled(reply: str, context: str, rng: random.Random) -> tuple[str, float] | None:
    """A reply that is broken in one way, and how far it falls; None where too few words are left to tell."""
    words = reply.split()
    if len(words) < SHORTEST:
        return None
    garble, fall = rng.choice(WAYS)
    made = garble(words, context.split(), rng)
    return (" ".join(made), fall) if len(made) > 1 and made != words else None

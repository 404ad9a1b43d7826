"""Fewer examples: repeated replies left out, and whole dialogues chosen at random.

A dialogue is in the sample if the hash of its name and the seed is one of the lowest. So the choice depends neither on
the order of the examples nor on how many there are of each dialogue, and takes eight bytes of memory per example.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from hashlib import blake2b

import numpy as np

from rejoinder.types import Example


def without_duplicates(examples: Iterable[Example]) -> Iterator[Example]:
    """The first of all examples with the same system, context and response."""
    seen: set[bytes] = set()
    for example in examples:
        key = duplicate_key(example)
        if key not in seen:
            seen.add(key)
            yield example


def duplicate_key(example: Example) -> bytes:
    """A hash of system, context and response."""
    return _hash(example.system, *example.context, example.response, size=16)


def sampled_dialogues(examples: Iterable[Example], count: int, seed: int) -> set[int]:
    """The ranks of the dialogues that are in the sample."""
    ranks = array("Q", (dialogue_rank(example, seed) for example in examples))
    different = np.unique(np.frombuffer(ranks, np.uint64)) if ranks else np.empty(0, np.uint64)
    return set(different[:count].tolist())


def dialogue_rank(example: Example, seed: int) -> int:
    """A random number that all examples of a dialogue share: those with one `dialogue_id`, else one context."""
    key: tuple[str, ...]
    if example.dialogue_id or example.context_id:
        key = ("id", example.dialogue_id or example.context_id)
    elif example.context:
        key = ("context", *example.context)
    else:
        key = ("example", example.id)
    return int.from_bytes(_hash(str(seed), *key, size=8), "big")


def _hash(*texts: str, size: int) -> bytes:
    joined = "\0".join(texts)  # no text contains a NUL character
    return blake2b(joined.encode(), digest_size=size).digest()

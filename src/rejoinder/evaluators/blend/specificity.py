"""How much a reply says: whether its words, their order and the whole reply are usual in dialogues, and what is new.

The information of a word is high if few turns have it. A reply that fits everywhere has words of little information, in
an order that is often seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.text.usage import Usage, shipped_usage, words_of
from rejoinder.types import Example

SPECIFICITY = (
    "mean information",
    "highest information",
    "log information",
    "information in last turn",
    "information in context",
    "log new information",
    "usual order",
    "log usual reply",
)
"""The names of the columns."""

_MOST_WORDS = 400


def specificity_columns(examples: Sequence[Example]) -> Floats:
    """One row per example: see SPECIFICITY. NaN for a share that is in a context that does not exist. (examples, 8)"""
    usage = shipped_usage()
    rows = [_row(example, usage) for example in examples]
    return np.array(rows, np.float64).reshape(len(examples), len(SPECIFICITY))


def _row(example: Example, usage: Usage) -> list[float]:
    words = words_of(example.response)[:_MOST_WORDS]
    known = {word: usage.information(word) for word in words}
    last = set(words_of(example.context[-1])) if example.context else set()
    before = last.union(*map(words_of, example.context[:-1]))
    whole = sum(known.values())
    in_last, in_context = (sum(known[word] for word in known if word in among) for among in (last, before))
    return [
        whole / len(known) if known else 0.0,
        max(known.values(), default=0.0),
        math.log1p(whole),
        in_last / max(whole, 1.0) if example.context else math.nan,
        in_context / max(whole, 1.0) if example.context else math.nan,
        math.log1p(whole - in_context),
        usage.usual_order(words),
        math.log1p(usage.turn_count(words)),
    ]

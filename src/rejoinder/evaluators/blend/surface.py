"""Nine numbers that can be counted in a reply and its context, without any model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.text.cleaning import STOP_WORDS
from rejoinder.text.usage import words_of
from rejoinder.types import Example

SURFACE = (
    "log length",
    "distinct share",
    "overlap with last turn",
    "overlap with context",
    "question mark",
    "closing punctuation",
    "content share",
    "turns",
    "log length of last turn",
)
"""The names of the columns."""

_CLOSING = tuple(".!?…。！？\"'”’)")
_MOST_TURNS = 10


def surface_columns(examples: Sequence[Example]) -> Floats:
    """One row per example: see SURFACE. NaN for an overlap with a context that does not exist. (examples, 9)"""
    return np.array([_row(example) for example in examples], np.float64).reshape(len(examples), len(SURFACE))


def _row(example: Example) -> list[float]:
    words = words_of(example.response)
    content = [word for word in words if word not in STOP_WORDS]
    last = set(words_of(example.context[-1])) if example.context else set()
    before = last.union(*map(words_of, example.context[:-1]))
    text = example.response.rstrip()
    return [
        math.log1p(len(words)),
        len(set(words)) / len(words) if words else 1.0,
        _share(content, last) if example.context else math.nan,
        _share(content, before) if example.context else math.nan,
        float("?" in text),
        float(text.endswith(_CLOSING)),
        len(content) / len(words) if words else 0.0,
        float(min(len(example.context), _MOST_TURNS)),
        math.log1p(len(words_of(example.context[-1]))) if example.context else math.nan,
    ]


def _share(words: Sequence[str], among: set[str]) -> float:
    """The share of the words that are among others; 0 without words."""
    return sum(word in among for word in words) / len(words) if words else 0.0

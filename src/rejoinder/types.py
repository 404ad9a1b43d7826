"""The central types of the package.

An *example* is one reply to judge: the *context* that it answers (oldest utterance first), the *response* itself,
*references*, which are replies that people gave to the same context, and the *system* that produced the response. A
*dialogue* is a list of turns without a reply to judge: training text. A *rating* is one number that one *rater* gave to
one example on one *dimension* (overall, relevance, ...).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
"""One number per example, in the order of the examples; NaN where a metric cannot score, never a silent 0."""


Unit = Literal["reply", "turn"]
"""What is scored of a conversation: its last reply, or each assistant turn in its place."""


@dataclass(frozen=True, slots=True)
class Example:
    """One reply to judge."""

    id: str
    context: tuple[str, ...]
    response: str
    references: tuple[str, ...] = ()
    system: str = ""
    speakers: tuple[str, ...] = ()
    """One label per context turn; absent: two speakers alternate, and the response is by the one who is next."""
    context_id: str = ""
    """Pairs the examples of several systems; absent: those with equal context and references are paired."""
    dialogue_id: str = ""
    """The dialogue that the context is from: its turns are not independent; absent: contexts that continue each other
    are taken as one dialogue."""
    slices: tuple[str, ...] = ()
    """Values of the fields by which results are shown separately, in the order in which these were named."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation, oldest turn first."""

    id: str
    turns: tuple[str, ...]
    speakers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rating:
    """One number that one rater gave to one example on one dimension."""

    example_id: str
    rater: str
    dimension: str
    score: float
    system: str = ""
    time: str = ""
    """When the score was given, as the data have it."""


@dataclass(frozen=True, slots=True)
class JudgedExample:
    """An example with ratings: dimension -> one score per rater (NaN: not rated), or one mean."""

    example: Example
    scores: dict[str, tuple[float, ...]] = field(default_factory=dict)
    split: str = ""
    raters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Dimension -> who gave each score; absent where it is unknown."""
    probability: float = math.nan
    """The probability with which the example was chosen to be rated; NaN where it is unknown."""
    language: str = ""
    source: str = field(default="", compare=False)
    """The file that it was read from: ratings of different files may be on different scales."""

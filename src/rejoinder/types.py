"""The nouns of the package.

An *example* is one reply to judge: the *context* it answers (oldest utterance first), the *response* itself,
the *references* a person wrote or said in its place, and the *system* that made it. A *dialogue* is a list of
turns with nothing to judge yet: training text. A *judgement* is one score that one *annotator* gave to one example
on one *dimension* (overall, relevance, ...).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
"""One number an example, in the examples' order; NaN where the metric cannot say, never a silent 0."""


@dataclass(frozen=True, slots=True)
class Example:
    """One reply to judge."""

    id: str
    context: tuple[str, ...]
    response: str
    references: tuple[str, ...] = ()
    system: str = ""
    speakers: tuple[str, ...] = ()
    """One label a context turn; absent: the speakers alternate and the response is by the other one."""
    context_id: str = ""
    """Pairs the examples of several systems; absent: equal context and references pair."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation, oldest turn first."""

    id: str
    turns: tuple[str, ...]
    speakers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """One score that one annotator gave to one example on one dimension."""

    example_id: str
    annotator: str
    dimension: str
    score: float


@dataclass(frozen=True, slots=True)
class JudgedExample:
    """An example with what people said of it: dimension -> one score an annotator (NaN: not rated), or one mean."""

    example: Example
    scores: dict[str, tuple[float, ...]] = field(default_factory=dict)
    split: str = ""

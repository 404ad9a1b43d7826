"""Judged replies with the overall rating of each: the input of the pages on AM-FM and RUBER."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rejoinder.data.judged import JudgedSet
from rejoinder.types import Example, Scores

OVERALL = "overall"


@dataclass(frozen=True, eq=False)
class RatedReplies:
    """A judged set on its overall dimension."""

    judged: JudgedSet

    @property
    def examples(self) -> Sequence[Example]:
        """All replies."""
        return self.judged.examples

    @cached_property
    def human(self) -> Scores:
        """The mean rating of each reply."""
        return self.judged.human(OVERALL)

"""For how many replies of each system a metric cannot be relied on. A verdict does not rest on many such replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.metrics.base import Metric, State
from rejoinder.metrics.batch import Batch
from rejoinder.show.text import counted, names_text

MOST_DOUBTFUL = 0.1
"""The share of a system's replies above which nothing is decided by the metric."""

REMEDY = (
    "Ask a judge (-m 'judge(...)'), let people label a sample (`rejoinder sample`, then --labels), or choose a metric "
    "that applies to such replies (-m)."
)
_MOST_SYSTEMS = 3


@dataclass(frozen=True, slots=True)
class Doubt:
    """How many of a system's replies are of kinds that a metric cannot be relied on for."""

    replies: int
    """All replies of the system."""
    doubtful: int
    kinds: Mapping[str, int]
    """Kind of reply, in words -> how many are of it; a reply may be of several."""

    @property
    def is_large(self) -> bool:
        """Whether nothing is decided by the metric."""
        return self.doubtful > MOST_DOUBTFUL * self.replies

    def sentence(self, system: str) -> str:
        """'24 of 80 replies of v2 (20 longer than 31 words, 12 with lists)'; a single kind is not counted again."""
        kinds = ", ".join(f"{count:,} {kind}" if len(self.kinds) > 1 else kind for kind, count in self.kinds.items())
        whose = f" of {system}" if system else ""
        return f"{self.doubtful:,} of {counted(self.replies, 'reply', 'replies')}{whose} ({kinds})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"replies": self.replies, "doubtful": self.doubtful, "kinds": dict(self.kinds)}


Doubts = Mapping[str, Doubt]
"""System -> the doubts about one metric's scores of its replies."""


def reason(metric: str, doubts: Doubts, systems: Sequence[str]) -> str:
    """Why nothing is decided by a metric, as a clause; "" where none of these systems has too many doubtful replies."""
    large = {system: doubts[system] for system in systems if system in doubts and doubts[system].is_large}
    if not large:
        return ""
    told = [doubt.sentence(system) for system, doubt in list(large.items())[:_MOST_SYSTEMS]]
    more = len(large) - len(told)
    if more:
        told.append(f"many replies of {counted(more, 'other system')}")
    return f"{metric} cannot judge {names_text(told)}: it was fitted on ratings of hardly any such replies"


class DoubtCounter:
    """Counts the replies of each system that a metric cannot be relied on for, batch by batch."""

    def __init__(self, metric: Metric, system_names: Sequence[str]) -> None:
        self.metric, self.system_names = metric, system_names
        self.replies, self.doubtful = np.zeros((2, len(system_names)), np.int64)
        self.kinds: dict[str, Ints] = {}
        """Kind of reply -> how many replies of each system are of it."""

    def add(self, batch: Batch, systems: Ints) -> None:
        """Take a batch into account; `systems` has the index of each example's system."""
        found = self.metric.doubts(batch)
        if found:
            self.replies += self._per_system(systems)
            self.doubtful += self._per_system(systems[np.logical_or.reduce(list(found.values()))])
        for kind, flags in found.items():
            self.kinds[kind] = self.kinds.get(kind, 0) + self._per_system(systems[flags])

    def _per_system(self, systems: Ints) -> Ints:
        return np.bincount(systems, minlength=len(self.system_names))

    def state(self) -> State:
        """All counts: a row for the replies, one for the doubtful ones, and one per kind. (2 + kinds, systems)"""
        rows = [self.replies, self.doubtful, *self.kinds.values()]
        return {"counts": np.stack(rows), "kinds": np.array([*self.kinds], np.str_)}

    def merge(self, state: State) -> None:
        """Add the replies that another one counted."""
        replies, doubtful, *kinds = state["counts"]
        self.replies += replies
        self.doubtful += doubtful
        for kind, counts in zip(state["kinds"].tolist(), kinds, strict=True):
            self.kinds[kind] = self.kinds.get(kind, 0) + counts

    def found(self) -> dict[str, Doubt]:
        """System -> what was counted; systems without a doubtful reply are left out."""
        return {
            name: Doubt(
                int(self.replies[row]),
                int(self.doubtful[row]),
                {kind: int(counts[row]) for kind, counts in self.kinds.items() if counts[row]},
            )
            for row, name in enumerate(self.system_names)
            if self.doubtful[row]
        }

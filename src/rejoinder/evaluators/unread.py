"""Notes about replies and contexts that an evaluator did not read whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.familiarity import OutOfDomainCounter
from rejoinder.metrics.base import State
from rejoinder.metrics.batch import Batch
from rejoinder.show.text import counted


@dataclass
class UnreadWatcher:
    """Counts replies and contexts of which only a part was read."""

    other: OutOfDomainCounter | None
    """The counter of unfamiliar replies, if there is one."""
    evaluators: Sequence[Evaluator] = ()
    """Those that may read only a part."""
    replies: int = 0
    contexts: int = 0
    turns: int = 0

    def add(self, batch: Batch) -> None:
        """Take a batch into account."""
        self.replies += max((each.cut_replies(batch) for each in self.evaluators), default=0)
        self.contexts += max((each.cut_contexts(batch) for each in self.evaluators), default=0)
        self.turns += max((each.unseen_turns(batch) for each in self.evaluators), default=0)
        if self.other is not None:
            self.other.add(batch)

    def state(self) -> State:
        """The counts, and what the other counter has."""
        counts = {name: np.array(getattr(self, name)) for name in ("replies", "contexts", "turns")}
        return {
            **{f"unread_{name}": value for name, value in counts.items()},
            **(self.other.state() if self.other is not None else {}),
        }

    def merge(self, state: State) -> None:
        """Add the replies that another one counted after these."""
        for name in ("replies", "contexts", "turns"):
            setattr(self, name, getattr(self, name) + int(state[f"unread_{name}"]))
        if self.other is not None:
            self.other.merge(state)

    def notes(self) -> list[str]:
        """Notes for the reader about all that was added."""
        notes = [*([] if self.other is None else self.other.notes()), *self._long_replies()]
        if self.contexts:
            longer = counted(self.contexts, "reply has", "replies have")
            notes.append(f"{longer} a context whose last turns are too long for the network, which read only their end")
        if self.turns:
            longer = counted(self.turns, "reply has", "replies have")
            notes.append(f"{longer} a context of more than four turns, of which the network reads the last four")
        return notes

    def _long_replies(self) -> list[str]:
        if not self.replies:
            return []
        longer = counted(self.replies, "reply is", "replies are")
        return [f"{longer} too long for the network, which read only the beginning"]

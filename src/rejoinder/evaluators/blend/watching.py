"""Notes about replies and contexts that a blend did not read whole, about unfamiliar text and about stock replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.blend.member_scores import MOST_PARTS, PART_WORDS
from rejoinder.evaluators.blend.stock_replies import StockReplyCounter
from rejoinder.evaluators.out_of_domain import OutOfDomainCounter
from rejoinder.metrics.base import State
from rejoinder.metrics.batch import Batch
from rejoinder.stats.formatting import counted


@dataclass
class BlendWatcher:
    """Counts replies of which only the beginning was read, contexts of which only the end was, and stock replies."""

    other: OutOfDomainCounter | None
    """The counter of unfamiliar replies, if there is one."""
    evaluators: Sequence[Evaluator] = ()
    """The members that may read less than a context's last turns."""
    cut: int = 0
    contexts: int = 0
    stock: StockReplyCounter = field(default_factory=StockReplyCounter)

    def add(self, batch: Batch) -> None:
        """Take a batch into account."""
        most = MOST_PARTS * PART_WORDS
        self.cut += sum(
            len(example.response) > most and len(example.response.split()) > most for example in batch.examples
        )
        self.contexts += max((evaluator.cut_contexts(batch) for evaluator in self.evaluators), default=0)
        self.stock.add(batch)
        if self.other is not None:
            self.other.add(batch)

    def state(self) -> State:
        """The numbers of such replies and contexts, and what the other counters have."""
        counts = {"cut": np.array(self.cut), "contexts": np.array(self.contexts), **self.stock.state()}
        return {**counts, **(self.other.state() if self.other is not None else {})}

    def merge(self, state: State) -> None:
        """Add the replies that another one counted after these."""
        self.cut += int(state["cut"])
        self.contexts += int(state["contexts"])
        self.stock.merge(state)
        if self.other is not None:
            self.other.merge(state)

    def notes(self) -> list[str]:
        """Notes for the reader about all that was added."""
        notes = [] if self.other is None else self.other.notes()
        if self.cut:
            longer = counted(self.cut, "reply has", "replies have")
            notes.append(f"{longer} more than {MOST_PARTS * PART_WORDS} words: only these were read")
        if self.contexts:
            longer = counted(self.contexts, "reply has", "replies have")
            notes.append(f"{longer} a context whose last turns are too long: the network read only their end")
        return [*notes, *self.stock.notes()]

"""What a blend says about replies that it did not read whole, unfamiliar text and stock replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.blend.columns import MOST_PARTS, PART_WORDS
from rejoinder.evaluators.familiarity import OutOfDomainCounter
from rejoinder.metrics.base import State
from rejoinder.metrics.batch import Batch
from rejoinder.show.text import counted
from rejoinder.text.words import shipped_usage, words_of

# Notes about replies and contexts that a blend did not read whole, about unfamiliar text and about stock replies.


# Notes about systems that often give stock replies: turns that are frequent in dialogues, such as "I don't know.".
#
# People often rate each of them well, and so does an evaluator that learned from people; a chatbot that gives little
# else is a bad one all the same. In dialogues between people, 1 to 9 % of the replies are such turns
# (docs/results/default-blend.md).


LARGE_SHARE = 0.25
"""The share of a system's replies from which on there is a note."""
FEWEST = 5
"""The number of stock replies from which on there is a note."""
_SHOWN = 3
_LONGEST = 60  # characters: all but two of the table's turns have at most 50


@dataclass
class StockReplyCounter:
    """Counts the stock replies of each system."""

    replies: Counter[str] = field(default_factory=Counter)
    """System -> its replies."""
    stock: Counter[tuple[str, str]] = field(default_factory=Counter)
    """System and stock reply -> how often the system gives it."""

    def add(self, batch: Batch) -> None:
        """Take a batch into account."""
        usage = shipped_usage()
        for example in batch.examples:
            self.replies[example.system] += 1
            if len(example.response) <= _LONGEST:
                words = words_of(example.response)
                if words and usage.turn_count(words):
                    self.stock[example.system, example.response.strip()] += 1

    def state(self) -> State:
        """All counts."""
        systems, texts = zip(*self.stock, strict=True) if self.stock else ((), ())
        return {
            "systems": np.array([*self.replies], np.str_),
            "replies": np.array([*self.replies.values()], np.int64),
            "stock_systems": np.array(systems, np.str_),
            "stock_texts": np.array(texts, np.str_),
            "stock": np.array([*self.stock.values()], np.int64),
        }

    def merge(self, state: State) -> None:
        """Add the replies that another one counted."""
        # One by one: arrays of text drop NULs at the end, so that two texts may have become one.
        for system, count in zip(state["systems"].tolist(), state["replies"].tolist(), strict=True):
            self.replies[system] += count
        keys = zip(state["stock_systems"].tolist(), state["stock_texts"].tolist(), strict=True)
        for key, count in zip(keys, state["stock"].tolist(), strict=True):
            self.stock[key] += count

    def notes(self) -> Iterator[str]:
        """One note per system that often gives stock replies."""
        given: dict[str, Counter[str]] = {system: Counter() for system in self.replies}
        for (system, text), count in self.stock.items():
            given[system][text] = count
        for system, own in given.items():
            if own.total() >= max(FEWEST, LARGE_SHARE * self.replies[system]):
                often = ", ".join(f'"{text}"' for text, _ in own.most_common(_SHOWN))
                whose = f" of {system}" if system else ""
                share = f"{own.total():,} of {counted(self.replies[system], 'reply', 'replies')}{whose}"
                yield (
                    f"{share} are stock replies ({often}). People often rate one such reply well, so the mean "
                    "score does not show that the system gives little else: also look at specificity"
                )


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
            notes.append(f"{longer} a context whose last turns are too long for the network, which read only their end")
        return [*notes, *self.stock.notes()]

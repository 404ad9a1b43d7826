"""What a blend says about replies that it did not read whole, unfamiliar text and stock replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from rejoinder.evaluators.blend.columns import MOST_PARTS, PART_WORDS
from rejoinder.evaluators.unread import UnreadWatcher
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
class BlendWatcher(UnreadWatcher):
    """Counts replies and contexts that were not read whole, and stock replies."""

    cut: int = 0
    """Replies that are too long to be shown in parts to the members that read only a beginning."""
    stock: StockReplyCounter = field(default_factory=StockReplyCounter)

    def add(self, batch: Batch) -> None:
        """Take a batch into account."""
        super().add(batch)
        most = MOST_PARTS * PART_WORDS
        if any(each.reads_beginning for each in self.evaluators):
            self.cut += sum(
                len(example.response) > most and len(example.response.split()) > most for example in batch.examples
            )
        self.stock.add(batch)

    def state(self) -> State:
        """All counts."""
        return {**super().state(), **self.stock.state(), "cut": np.array(self.cut)}

    def merge(self, state: State) -> None:
        """Add the replies that another one counted after these."""
        super().merge(state)
        self.cut += int(state["cut"])
        self.stock.merge(state)

    def notes(self) -> list[str]:
        """Notes for the reader about all that was added."""
        return [*super().notes(), *self.stock.notes()]

    def _long_replies(self) -> list[str]:
        if not self.cut:
            return super()._long_replies()
        longer = counted(self.cut, "reply has", "replies have")
        return [f"{longer} more than {MOST_PARTS * PART_WORDS} words: only these were read"]

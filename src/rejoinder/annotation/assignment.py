"""Assignment of items to raters: every rater gets about equally many replies of each system.

Items are handed out when a rater joins: those with the fewest raters first, and among equals in an order that is
random for each rater. In addition to the shared items, a rater gets at most one per context, and systems in turn, so
that over raters the systems form a Latin square. Work that was abandoned counts as not handed out. Where the study has
a queue, only items that it has drawn are handed out, and the next wave is drawn when they run short.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rejoinder.annotation.items import Item, in_turn, items_of, repeated
from rejoinder.annotation.queue import LabelQueue
from rejoinder.annotation.store import Store
from rejoinder.annotation.study import Study


@dataclass
class Assigner:
    """Assigns items to raters."""

    study: Study
    store: Store
    items: dict[str, Item] = field(init=False)
    """Every item that anyone was or may be given, by its id."""
    _real: list[Item] = field(init=False)
    _garbled: list[Item] = field(init=False)
    _queue: LabelQueue | None = field(init=False, default=None)
    _given: dict[str, list[str]] = field(init=False, default_factory=dict)
    """Rater -> items; what was handed out never changes."""

    def __post_init__(self) -> None:
        own = items_of(self.study)
        self._real = [item for item in own if item.role == "real"]
        self._garbled = [item for item in own if item.role == "garbled"]
        again = [repeated(self.study, item) for item in self._real] if self.study.kind != "write" else []
        self.items = {item.id: item for item in (*own, *again)}
        if self.study.queue is not None:
            self._queue = LabelQueue(self.study, self.study.queue, self.store, self._real)

    def prepare(self) -> None:
        """Draw the first wave of the queue, if there is one, so that errors in the study are found before raters
        come.
        """
        with self.store.transaction(on_disk=True):
            if self._queue is not None and not self.store.drawn():
                self._queue.draw_next()

    def to_rate(self) -> list[Item]:
        """The real items that raters should rate: all, or those that the queue has drawn so far."""
        if self._queue is None:
            return self._real
        first = [self.items[one.item] for one in self.store.drawn() if one.wave == 0]
        # Agreement is measured on items of the first wave, which everyone gets.
        order = np.random.default_rng([self.study.seed, 1]).permutation(len(first)).tolist()
        shared = {item.id for item in in_turn([first[place] for place in order], self.study.shared_items)}
        return [replace(self.items[one.item], shared=one.item in shared) for one in self.store.drawn()]

    def known(self, rater: str) -> list[str] | None:
        """The items of a rater, in order, if they were handed out since the server started; without a query."""
        return self._given.get(rater)

    def hand_out(self, rater: str) -> list[str]:
        """The items of a rater, in order; chosen once, the first time. None where nothing is left to do."""
        given = [one.item for one in self.store.assigned(rater)]
        if not given:
            with self.store.transaction():
                given = [one.item for one in self.store.assigned(rater)]  # perhaps in another window, just now
                if not given:
                    given = self._chosen(rater)
                    self.store.assign(rater, given, start=0)
        if given:
            self._given[rater] = given
        return given

    def _chosen(self, rater: str) -> list[str]:
        rng = np.random.default_rng([self.study.seed, *rater.encode()])
        counts = self.store.raters_by_item(time.time() - 60 * self.study.return_after_minutes)
        own, shared = self._own(rng, counts)
        while self._queue is not None and len(own) + len(shared) < self.study.items_per_rater:
            if not self._queue.draw_next():
                break
            own, shared = self._own(rng, counts)
        if not own and not self._wanted(shared, counts):
            return []
        chosen = [*shared, *own]
        order = [chosen[place] for place in rng.permutation(len(chosen)).tolist()]
        return [item.id for item in self._with_checks(order, rng)]

    def _own(self, rng: np.random.Generator, counts: Mapping[str, int]) -> tuple[list[Item], list[Item]]:
        """Items of one rater alone, as many as there is room for, and the shared items."""
        real = self.to_rate()
        shared = [item for item in real if item.shared]
        wanted = [item for item in real if not item.shared and counts.get(item.id, 0) < self.study.raters_per_item]
        mixed = [wanted[place] for place in rng.permutation(len(wanted)).tolist()]
        fewest_first = sorted(mixed, key=lambda item: counts.get(item.id, 0))
        return in_turn(fewest_first, self.study.items_per_rater - len(shared)), shared

    def _wanted(self, shared: Sequence[Item], counts: Mapping[str, int]) -> bool:
        return any(counts.get(item.id, 0) < self.study.raters_per_item for item in shared)

    def _with_checks(self, order: list[Item], rng: np.random.Generator) -> list[Item]:
        """The same items with garbled ones inserted, and some repeated near the end."""
        if self.study.kind == "write" or not order:
            return order
        seen = {item.group for item in order}
        garbled = [item for item in self._garbled if item.group not in seen]
        wanted = min(len(garbled), round(self.study.checks.garbled * len(order)))
        mixed = list(order)
        for place in rng.permutation(len(garbled))[:wanted].tolist():
            mixed.insert(int(rng.integers(1, len(mixed) + 1)), garbled[place])
        again = min(round(self.study.checks.repeated * len(order)), len(order) // 3)
        for item in order[:again]:
            mixed.insert(int(rng.integers(2 * len(mixed) // 3, len(mixed) + 1)), repeated(self.study, item))
        return mixed

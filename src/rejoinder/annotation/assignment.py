"""Assignment of items to raters: every rater gets about equally many replies of each system.

Items are handed out when a rater joins: those with the fewest raters first, and among equals in an order that is
random for each rater. In addition to the shared items, a rater gets at most one per context, and systems in turn, so
that over raters the systems form a Latin square. Work that was abandoned counts as not handed out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rejoinder.annotation.items import Item, in_turn, items_of, repeated
from rejoinder.annotation.store import Store
from rejoinder.annotation.study import Study


@dataclass
class Assigner:
    """Assigns items to raters."""

    study: Study
    store: Store
    items: dict[str, Item] = field(init=False)
    """Every item that anyone was or may be given, by its id."""

    def __post_init__(self) -> None:
        own = items_of(self.study)
        again = (
            [repeated(self.study, item) for item in own if item.role == "real"] if self.study.kind == "scale" else []
        )
        self.items = {item.id: item for item in (*own, *again)}

    def hand_out(self, rater: str) -> list[str]:
        """The items of a rater, in order; chosen once, the first time. None where nothing is left to do."""
        with self.store.transaction():
            given = [one.item for one in self.store.assigned(rater)]
            if given:
                return given
            chosen = self._chosen(rater)
            self.store.assign(rater, chosen, start=0)
            return chosen

    def _chosen(self, rater: str) -> list[str]:
        rng = np.random.default_rng([self.study.seed, *rater.encode()])
        counts = self._live()
        shared = [item for item in self.items.values() if item.shared and item.role == "real"]
        open_items = [
            item
            for item in self.items.values()
            if item.role == "real" and not item.shared and counts[item.id] < self.study.raters_per_item
        ]
        room = self.study.items_per_rater - len(shared)
        mixed = [open_items[place] for place in rng.permutation(len(open_items)).tolist()]
        fewest_first = sorted(mixed, key=lambda item: counts[item.id])
        own = in_turn(fewest_first, room)
        if not own and not self._wanted(shared, counts):
            return []
        chosen = [*shared, *own]
        order = [chosen[place] for place in rng.permutation(len(chosen)).tolist()]
        return [item.id for item in self._with_checks(order, rng)]

    def _wanted(self, shared: Sequence[Item], counts: Mapping[str, int]) -> bool:
        return any(counts[item.id] < self.study.raters_per_item for item in shared)

    def _live(self) -> Counter[str]:
        """How many raters have answered each item, or may still do so."""
        idle = time.time() - 60 * self.study.return_after_minutes
        present = {one.id for one in self.store.raters() if one.seen >= idle and one.outcome != "declined"}
        answered = {(one.rater, one.item) for one in self.store.answers()}
        return Counter(
            one.item for one in self.store.assigned() if one.rater in present or (one.rater, one.item) in answered
        )

    def _with_checks(self, order: list[Item], rng: np.random.Generator) -> list[Item]:
        """The same items with garbled ones inserted, and some repeated near the end."""
        if self.study.kind != "scale" or not order:
            return order
        seen = {item.group for item in order}
        garbled = [item for item in self.items.values() if item.role == "garbled" and item.group not in seen]
        wanted = min(len(garbled), round(self.study.checks.garbled * len(order)))
        mixed = list(order)
        for place in rng.permutation(len(garbled))[:wanted].tolist():
            mixed.insert(int(rng.integers(1, len(mixed) + 1)), garbled[place])
        again = min(round(self.study.checks.repeated * len(order)), len(order) // 3)
        for item in order[:again]:
            mixed.insert(int(rng.integers(2 * len(mixed) // 3, len(mixed) + 1)), repeated(self.study, item))
        return mixed

"""What to rate next: items assigned to raters, and waves that learn from the ratings so far."""

from __future__ import annotations

import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.data.judged import chosen_with
from rejoinder.data.source import read
from rejoinder.errors import CallError
from rejoinder.people.items import Item, in_turn, items_of, repeated_item
from rejoinder.people.sample import (
    N_STRATA,
    UncertainScores,
    chosen_design,
    chosen_predictor,
    divided,
    label_frame,
    rows_by_system,
    wave_probabilities,
)
from rejoinder.people.store import DrawnItem, Store, latest
from rejoinder.people.study import QueueSettings, Study
from rejoinder.scoring.score_file import read_score_file
from rejoinder.stats.labels import drawn_rows

# What to rate next: replies chosen with known probabilities, in waves that learn from the ratings so far.
#
# The contexts are divided at random into waves. When a rater joins and the open items do not suffice, the next wave is
# drawn, with probabilities that may depend on the ratings of earlier waves but not on those of its own (Zrnic and
# Candes 2024, "Active statistical inference", the sequential case). Every reply is therefore considered exactly once,
# with a probability that is known and stored before it is rated, and estimates that weight by it stay valid.


_FEWEST_PER_WAVE = 2 * (N_STRATA + 1)
"""Labels per system and wave with which every stratum gets some, that of replies without a score included."""


@dataclass(frozen=True)
class LabelQueue:
    """Draws the waves of a study."""

    study: Study
    queue: QueueSettings
    store: Store
    items: Sequence[Item]
    """The real items of the study."""

    @cached_property
    def wave_of(self) -> dict[str, int]:
        """Item -> its wave, from 0."""
        return waves(self.study, self.queue, self.items)

    def draw_next(self) -> bool:
        """Draw the next wave, within a transaction; False where all are drawn."""
        wave = 1 + max((one.wave for one in self.store.drawn()), default=-1)
        if wave > max(self.wave_of.values()):
            return False
        self.store.draw(list(self._drawn(wave)))
        return True

    def _drawn(self, wave: int) -> Iterator[DrawnItem]:
        ids, labels = self._frame.ids, self._labels()
        probabilities, strata = np.zeros(len(ids)), np.full(len(ids), -1)
        of_wave = np.array([self.wave_of[item] == wave for item in ids])
        for system, rows in self._frame.rows_of.items():
            within = np.flatnonzero(of_wave[rows])
            if len(within):
                p, stratum = wave_probabilities(
                    self._frame.design, self._frame.frame.take(rows), within, self._size(system, wave), labels[rows]
                )
                probabilities[rows[within]] = p
                strata[rows[within]] = stratum + int(strata.max()) + 1
        rows = np.flatnonzero(of_wave)
        seed = int(np.random.SeedSequence([self.study.seed, 5, wave]).generate_state(1)[0])
        for row in rows[drawn_rows(probabilities[rows], seed, strata[rows])].tolist():
            yield DrawnItem(ids[row], wave, float(probabilities[row]))

    def _size(self, system: str, wave: int) -> int:
        """How many labels of a system a wave has: in proportion to its replies, and the waves together as many as asked
        for.
        """
        counts = Counter(self.wave_of[item.id] for item in self.items if item.stratum == system)
        before = sum(counts[earlier] for earlier in range(wave))
        share = self._frame.sizes[system] / sum(counts.values())
        wanted = round(share * (before + counts[wave])) - round(share * before)
        return min(counts[wave], max(1, wanted))

    def _labels(self) -> Floats:
        """The mean rating of each reply by the first question; NaN where there is none."""
        given: dict[str, list[float]] = defaultdict(list)
        first = self.study.questions[0].name
        for answer in latest(self.store.answers()).values():
            if answer.question == first:
                given[answer.item].append(float(answer.value))
        return np.array([statistics.fmean(given[item]) if item in given else np.nan for item in self._frame.ids])

    @cached_property
    def _frame(self) -> _Frame:
        """The scores of all replies; read once, when the first wave is drawn."""
        path = self.study.folder / self.study.examples
        examples = list(read(path))
        if chosen_with(path):
            raise CallError(
                f"{path} has replies that were chosen already (field probability): expected all replies, from which "
                "the queue of the study chooses"
            )
        table = read_score_file(self.study.folder / self.queue.scores) if self.queue.scores else None
        label = chosen_predictor(table, self.queue.predictor or None)
        id_of = {item.examples[0]: item.id for item in self.items}
        rows_of = rows_by_system(examples)
        return _Frame(
            [id_of[one.id, one.system] for one in examples],
            chosen_design(self.queue.design or None, table, label),
            label_frame(examples, str(path), table, label),
            rows_of,
            divided(self.queue.labels, {system: len(rows) for system, rows in rows_of.items()}),
        )


@dataclass(frozen=True)
class _Frame:
    """All replies, in the order of the file."""

    ids: list[str]
    """Their items."""
    design: str
    frame: UncertainScores
    rows_of: dict[str, Ints]
    sizes: dict[str, int]
    """Labels of each system."""


def waves(study: Study, queue: QueueSettings, items: Collection[Item]) -> dict[str, int]:
    """The wave of each item, from 0: items with one context have the same wave."""
    groups = list(dict.fromkeys(item.group for item in items))
    systems = Counter(item.stratum for item in items)
    fewest = min(divided(queue.labels, systems).values())
    count = min(max(1, fewest // _FEWEST_PER_WAVE), queue.waves, len(groups))
    order = np.random.default_rng([study.seed, 4]).permutation(len(groups))
    place = {groups[group]: number * count // len(groups) for number, group in enumerate(order.tolist())}
    return {item.id: place[item.group] for item in items}


def probabilities_of_rated(
    study: Study, queue: QueueSettings, items: Collection[Item], chosen: Sequence[DrawnItem], rated: Collection[str]
) -> dict[str, float]:
    """With which probability each rated item came to be rated.

    That is the probability with which it was drawn. Before the study is complete it is smaller: only some waves are
    drawn, and of a wave only some items are rated, both in random order.
    """
    wave_of = waves(study, queue, items)
    stratum_of = {item.id: item.stratum for item in items}
    asked, answered = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for one in chosen:
        asked[one.wave, stratum_of[one.item]] += 1
        answered[one.wave, stratum_of[one.item]] += one.item in rated
    every = Counter(stratum_of.values())
    covered = Counter(system for item, system in stratum_of.items() if answered[wave_of[item], system])
    found = {}
    for one in chosen:
        system = stratum_of[one.item]
        if one.item in rated:
            response = answered[one.wave, system] / asked[one.wave, system]
            found[one.item] = one.probability * response * covered[system] / every[system]
    return found


# Assignment of items to raters: every rater gets about equally many replies of each system.
#
# Items are handed out when a rater joins: those with the fewest raters first, and among equals in an order that is
# random for each rater. In addition to the shared items, a rater gets at most one per context, and systems in turn, so
# that over raters the systems form a Latin square. Work that was abandoned counts as not handed out. Where the study
# has a queue, only items that it has drawn are handed out, and the next wave is drawn when they run short.


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
        again = [repeated_item(self.study, item) for item in self._real] if self.study.kind != "write" else []
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
            mixed.insert(int(rng.integers(2 * len(mixed) // 3, len(mixed) + 1)), repeated_item(self.study, item))
        return mixed

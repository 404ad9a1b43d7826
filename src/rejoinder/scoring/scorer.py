"""Several metrics over one batch at a time: one column of scores per metric, and the other columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from rejoinder.errors import CallError
from rejoinder.metrics.base import Accumulator, Counter, Metric, Observer, State, Watcher
from rejoinder.metrics.batch import Batch
from rejoinder.progress import following
from rejoinder.scoring.reliability import DoubtCounter, LanguageCounter, RepetitionCounter
from rejoinder.scoring.table import ScoreTable, interval_columns
from rejoinder.types import Example, Scores

_system = attrgetter("system")


@dataclass
class Scorer:
    """Scores batches, and accumulates corpus-level scores and notes for the table."""

    metrics: Mapping[str, Metric]
    system_names: tuple[str, ...]
    intervals: bool = False
    """Whether calibrated evaluators also give the intervals expected to contain the ratings."""
    advance: Callable[[float], None] | None = None
    """Called while a batch is scored, with the number of replies that the work done since the last call amounts to."""
    blank: int = 0
    counters: dict[tuple[str, str], Counter] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._code = {name: code for code, name in enumerate(self.system_names)}
        self._observers: dict[str, Observer] = {}
        self._watchers: dict[str, Watcher] = {}
        self._doubts: dict[str, DoubtCounter] = {}
        self._repetition = RepetitionCounter(self.system_names)
        self._bounded: list[str] = []
        self.columns: tuple[str, ...] = ()
        self.reasoning: dict[str, Metric] = {}
        """The metrics that give reasons for their scores."""
        self.ready = dict(self.metrics)
        for label, metric in self.metrics.items():
            if (observer := metric.observer()) is not None:
                self._observers[label] = observer
            if (watcher := metric.watcher()) is not None:
                self._watchers[label] = watcher
            if metric.knows_limits:
                self._doubts[label] = DoubtCounter(metric, self.system_names)
            for system in self.system_names:
                if (counter := metric.counter()) is not None:
                    self.counters[label, system] = counter
            if type(metric).reasons is not Metric.reasons:
                self.reasoning[label] = metric
            self.columns += (label,)
            if self.intervals and metric.gives_intervals:
                self._bounded.append(label)
                self.columns += interval_columns(label)
        # Only beside metrics that ask for it: finding the language takes longer than comparing words.
        self._languages = LanguageCounter(self.system_names) if self._doubts else None
        if self.intervals and not self._bounded:
            raise CallError(
                "intervals: none of the metrics gives any; `rejoinder calibrate` makes an evaluator give them"
            )
        if len(set(self.columns)) < len(self.columns):
            raise CallError("intervals: a metric has the name of another metric's bounds, NAME.low or NAME.high")

    def restarted(self) -> Scorer:
        """A scorer with the same metrics, as ready as these, that has counted nothing."""
        fresh = Scorer(self.metrics, self.system_names, self.intervals)
        fresh.ready = self.ready
        return fresh

    @property
    def can_be_shared(self) -> bool:
        """Whether several processes may each score a part of the corpus, and their counts be put together."""
        everything = (*self._observers.values(), *self._watchers.values(), *self.counters.values())
        return all(isinstance(each, Accumulator) for each in everything)

    def state(self) -> State:
        """All that was counted, as arrays."""
        return {"blank": np.array(self.blank), **_joined(self._counting())}

    def merge(self, state: State) -> None:
        """Add what a scorer of the same metrics counted in the examples that follow."""
        self.blank += int(state["blank"])
        _merge(self._counting(), state)

    def observed(self) -> State:
        """All that was observed, as arrays."""
        return _joined(self._observers.values())

    def merge_observed(self, state: State) -> None:
        """Add what a scorer of the same metrics observed."""
        _merge(self._observers.values(), state)

    def _counting(self) -> list[object]:
        return [
            *self._watchers.values(),
            *self.counters.values(),
            *self._doubts.values(),
            self._languages,
            self._repetition,
        ]

    @property
    def must_observe(self) -> bool:
        """Whether any metric has to read the whole corpus before the first score."""
        return bool(self._observers)

    def observe(self, batch: Batch) -> None:
        """Show a batch to the metrics that have to read the whole corpus first."""
        for observer in self._observers.values():
            observer.add(batch)

    def finish_observing(self) -> None:
        """Make every metric ready to score."""
        for label, observer in self._observers.items():
            self.ready[label] = observer.finish()

    def score(self, batch: Batch) -> dict[str, Scores]:
        """Column -> one number per example of the batch: the score, and where asked for the bounds of its interval."""
        scores: dict[str, Scores] = {}
        for label, metric in self.ready.items():
            with self._following(len(batch)) if metric.is_slow and self.advance else nullcontext():
                scores[label] = finite(metric.score_batch(batch))
            if label in self._bounded:
                scores |= zip(interval_columns(label), map(finite, metric.intervals(batch)), strict=True)
        self.count(batch)
        return scores

    def _following(self, size: int) -> AbstractContextManager[None]:
        """Reports the work of a slow metric; the others are done at once."""
        advance, slow = self.advance, sum(each.is_slow for each in self.ready.values())
        return following(lambda share: advance(share * size / slow) if advance else None)

    def count(self, batch: Batch) -> None:
        """Count a batch in the corpus-level scores and the notes, without scoring it."""
        codes = self.system_codes(batch.examples)
        self.blank += int(batch.blank.sum())
        for watcher in self._watchers.values():
            watcher.add(batch)
        for doubts in self._doubts.values():
            doubts.add(batch, codes)
        self._repetition.add(batch, codes)
        if self._languages is not None:
            self._languages.add(batch, codes)
        for (_, system), counter in self.counters.items():
            counter.add(batch, np.flatnonzero(codes == self._code[system]))

    def system_codes(self, examples: Sequence[Example]) -> Any:
        """The index of each example's system."""
        return np.fromiter(map(self._code.__getitem__, map(_system, examples)), np.int32, len(examples))

    def table(
        self,
        columns: Mapping[str, Scores],
        system_of: Any,
        *,
        notes: Sequence[str] = (),
        **about: Any,
    ) -> ScoreTable:
        """The scores of all examples as a table; `notes` come before those about the scores.

        `about` are fields of the table that are not made of scores: ids, grouping, seed ...
        """
        scores = {label: columns[label] for label in self.metrics}
        bounds = {label: interval_columns(label) for label in self._bounded}
        pooled = {} if self._languages is None else self._languages.pooled()
        corpus: dict[str, dict[str, float]] = {}
        for (label, system), counter in self.counters.items():
            corpus.setdefault(label, {})[system] = counter.value()
        return ScoreTable(
            scores=scores,
            signatures={label: metric.signature for label, metric in self.metrics.items()},
            system_names=self.system_names,
            system_of=system_of,
            corpus=corpus,
            ranges={label: metric.range for label, metric in self.metrics.items()},
            higher_is_better={label: metric.higher_is_better for label, metric in self.metrics.items()},
            intervals={label: (columns[low], columns[high]) for label, (low, high) in bounds.items()},
            notes=(*notes, *self._notes(scores)),
            doubts={label: found for label, counter in self._doubts.items() if (found := counter.found(pooled))},
            languages={} if self._languages is None else self._languages.found(),
            reasoning=self.reasoning,
            **about,
        )

    def _notes(self, scores: Mapping[str, Scores]) -> list[str]:
        notes = []
        if self.blank:
            replies = "reply is" if self.blank == 1 else "replies are"
            notes.append(f"{self.blank} {replies} empty and scored the worst value of each metric")
        for label, column in scores.items():
            unknown = int(np.isnan(column).sum())
            if unknown:
                why = self.metrics[label].cannot_score
                notes.append(f"{label} could not score {unknown} of {len(column)} replies ({why})")
        notes += self._repetition.notes()
        for label, watcher in self._watchers.items():
            notes += [f"{label}: {note}" for note in watcher.notes()]
        return notes


def _joined(accumulators: Iterable[object]) -> State:
    """The states of several, each under its place."""
    return {
        f"{place}.{name}": array
        for place, each in enumerate(accumulators)
        if isinstance(each, Accumulator)
        for name, array in each.state().items()
    }


def _merge(accumulators: Iterable[object], state: State) -> None:
    for place, each in enumerate(accumulators):
        if isinstance(each, Accumulator):
            prefix = f"{place}."
            each.merge({name.removeprefix(prefix): a for name, a in state.items() if name.startswith(prefix)})


def finite(scores: Scores) -> Scores:
    """NaN for infinite scores: they have no mean, and JSON cannot express them."""
    return np.where(np.isinf(scores), np.nan, scores) if np.isinf(scores).any() else scores

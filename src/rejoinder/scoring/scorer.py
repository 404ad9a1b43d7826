"""Several metrics over many examples, batch by batch."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from rejoinder.data.source import Source
from rejoinder.data.survey import Survey, in_batches, survey
from rejoinder.errors import CallError, NeedsError
from rejoinder.metrics.base import Counter, Metric, ScoreWarning, plain
from rejoinder.metrics.batch import BATCH, Batch
from rejoinder.registry import ALIASES, build, load, metric_names
from rejoinder.scoring.table import ScoreTable, interval_columns
from rejoinder.types import Example, Scores

DEFAULT_METRICS = (
    "default",
    "bleu-2",
    "rouge-l",
    "meteor",
    "embedding-average",
    "distinct-2",
    "specificity",
    "length",
)
"""What runs when no metric is named, as far as the data have what each one needs."""

_KEPT = 16 * BATCH  # up to here, tokens made for a first look at the corpus are kept for the scores


def load_metrics(specs: Sequence[str | Metric] | Mapping[str, Metric]) -> dict[str, Metric]:
    """Label -> metric. `all` names every registered metric; a mapping is taken as it is."""
    if isinstance(specs, Mapping):
        return dict(specs)
    metrics: dict[str, Metric] = {}
    expanded = _expanded(specs)
    for spec in expanded:
        if isinstance(spec, Metric):
            label, metric = _label(spec, expanded, metrics), spec
        elif not isinstance(spec, str):
            raise CallError(f"{spec!r} is no metric: expected a name or what load() gives")
        else:
            label, metric = spec.strip(), load(spec)
        if label in metrics:
            raise CallError(f"the metric {label!r} is named twice")
        metrics[label] = metric
    return metrics


def _expanded(specs: Sequence[str | Metric]) -> list[str | Metric]:
    if "all" not in specs:
        return list(specs)
    names: list[str | Metric] = []
    for name in metric_names():
        presets = {alias: build(alias, {}) for alias, (base, _) in ALIASES.items() if base == name}
        if build(name, {}) not in presets.values():  # bleu is bleu-4: once is enough
            names.append(name)
        names += presets
    return [*names, *(spec for spec in specs if spec != "all")]


def _label(metric: Metric, specs: Sequence[str | Metric], taken: Mapping[str, Metric]) -> str:
    """The name alone where it is the only one, else with the parameters that tell it apart: bleu(n=2)."""
    alike = [spec for spec in specs if (spec.name if isinstance(spec, Metric) else str(spec).strip()) == metric.name]
    if len(alike) == 1:
        return metric.name
    usual = {field.name: field.default for field in fields(metric)}
    chosen = [f"{key}={plain(value)}" for key, value in metric.parameters.items() if value != usual[key]]
    label = f"{metric.name}({', '.join(chosen)})" if chosen else metric.name
    # What is trained may differ in more than its parameters.
    return metric.signature if label in taken and taken[label].signature != metric.signature else label


def usable_defaults(seen: Survey) -> list[str]:
    """The default metrics whose needs the data meet."""
    return [label for label, metric in load_metrics(DEFAULT_METRICS).items() if not _unmet(metric, seen)]


def with_needs_met(metrics: Mapping[str, Metric], seen: Survey) -> dict[str, Metric]:
    """The same without what "all" brought in and the data do not meet the needs of; what was named stays."""
    brought = set(_expanded(["all"]))
    return {label: metric for label, metric in metrics.items() if label not in brought or not _unmet(metric, seen)}


def check_needs(metrics: Mapping[str, Metric], seen: Survey, where: str) -> None:
    """Raise a NeedsError when a metric needs what not one example has."""
    for label, metric in metrics.items():
        for need in _unmet(metric, seen):
            raise NeedsError(f"{label} needs {need}, but none of the {seen.count} examples of {where} has any")


def _unmet(metric: Metric, seen: Survey) -> list[str]:
    return sorted(need for need in metric.needs if not seen.has.get(need))


@dataclass
class Scorer:
    """Scores batches and gathers what a table needs beside the scores."""

    metrics: Mapping[str, Metric]
    system_names: tuple[str, ...]
    intervals: bool = False
    """Whether metrics that can tell also say between what people would judge each reply."""
    blank: int = 0
    counters: dict[tuple[str, str], Counter] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._code = {name: code for code, name in enumerate(self.system_names)}
        self._observers = {label: metric.observer() for label, metric in self.metrics.items()}
        self._watchers = {label: metric.watcher() for label, metric in self.metrics.items()}
        self._bounded = [label for label, metric in self.metrics.items() if self.intervals and metric.gives_intervals]
        if self.intervals and not self._bounded:
            raise CallError(
                "intervals: none of the metrics gives any; `rejoinder calibrate` makes an evaluator give them"
            )
        self.columns = tuple(column for label in self.metrics for column in self._columns_of(label))
        if len(set(self.columns)) < len(self.columns):
            raise CallError("intervals: a metric bears the name of another one's bounds, NAME.low or NAME.high")
        self.ready = dict(self.metrics)
        for label, metric in self.metrics.items():
            for system in self.system_names:
                counter = metric.counter()
                if counter is not None:
                    self.counters[label, system] = counter

    @property
    def must_observe(self) -> bool:
        """Does any metric have to see the whole corpus before the first score?"""
        return any(observer is not None for observer in self._observers.values())

    def observe(self, batch: Batch) -> None:
        """Show a batch to the metrics that must see all of them first."""
        for observer in self._observers.values():
            if observer is not None:
                observer.add(batch)

    def finish_observing(self) -> None:
        """Make every metric ready to score."""
        for label, observer in self._observers.items():
            if observer is not None:
                self.ready[label] = observer.finish()

    def score(self, batch: Batch) -> dict[str, Scores]:
        """Column -> one number an example of the batch: its score, and if asked for the bounds of its interval."""
        scores: dict[str, Scores] = {}
        for label, metric in self.ready.items():
            scores[label] = _finite(metric.score_batch(batch))
            if label in self._bounded:
                scores |= zip(interval_columns(label), map(_finite, metric.intervals(batch)), strict=True)
        self.count(batch)
        return scores

    def _columns_of(self, label: str) -> tuple[str, ...]:
        return (label, *interval_columns(label)) if label in self._bounded else (label,)

    def count(self, batch: Batch) -> None:
        """Take a batch into the corpus-level scores and the warnings, without scoring it."""
        codes = self.system_codes(batch.examples)
        self.blank += int(batch.blank.sum())
        for watcher in self._watchers.values():
            if watcher is not None:
                watcher.add(batch)
        for (_, system), counter in self.counters.items():
            counter.add(batch, np.flatnonzero(codes == self._code[system]))

    def system_codes(self, examples: Sequence[Example]) -> Any:
        """The index of each example's system."""
        return np.fromiter((self._code[example.system] for example in examples), np.int32, len(examples))

    def table(
        self,
        columns: Mapping[str, Scores],
        system_of: Any,
        *,
        ids: Sequence[str] = (),
        seed: int,
        resamples: int,
    ) -> ScoreTable:
        """All that was scored, as a table."""
        scores = {label: columns[label] for label in self.metrics}
        bounds = {label: interval_columns(label) for label in self._bounded}
        corpus: dict[str, dict[str, float]] = {}
        for (label, system), counter in self.counters.items():
            corpus.setdefault(label, {})[system] = counter.value()
        return ScoreTable(
            scores=scores,
            signatures={label: metric.signature for label, metric in self.metrics.items()},
            system_names=self.system_names,
            system_of=system_of,
            ids=ids,
            corpus=corpus,
            ranges={label: metric.range for label, metric in self.metrics.items()},
            higher_is_better={label: metric.higher_is_better for label, metric in self.metrics.items()},
            intervals={label: (columns[low], columns[high]) for label, (low, high) in bounds.items()},
            notes=tuple(self._notes(scores)),
            seed=seed,
            resamples=resamples,
        )

    def _notes(self, scores: Mapping[str, Scores]) -> list[str]:
        notes = []
        if self.blank:
            replies = "reply is" if self.blank == 1 else "replies are"
            notes.append(f"{self.blank} {replies} empty and scored the lowest value of each metric")
        for label, column in scores.items():
            unknown = int(np.isnan(column).sum())
            if unknown:
                why = self.metrics[label].cannot_score
                notes.append(f"{label} could not score {unknown} of {len(column)} replies ({why})")
        for label, watcher in self._watchers.items():
            notes += [f"{label}: {note}" for note in (watcher.notes() if watcher is not None else [])]
        return notes


def _finite(scores: Scores) -> Scores:
    """NaN for what is infinite: no mean could be taken over it, and no file could hold it."""
    return np.where(np.isinf(scores), np.nan, scores) if np.isinf(scores).any() else scores


def score(
    examples: Any,
    metrics: Sequence[str | Metric] | Mapping[str, Metric] | str | Metric | None = None,
    *,
    intervals: bool = False,
    seed: int = 0,
    resamples: int = 1000,
) -> ScoreTable:
    """Score examples (a list, a frame, a data set, a path) by metrics given by name, such as ["bleu(n=2)", "rouge-l"].

    Without `metrics` the default set runs, as far as the data have what it needs. With `intervals`, a calibrated
    evaluator also tells between what people would judge each reply.
    """
    if isinstance(metrics, str | Metric):
        metrics = [metrics]
    if metrics is not None and not metrics:
        raise CallError("no metric is named: expected some, or None for the default set")
    with closing(Source(examples)) as source:
        seen = survey(source, digest=False)
        chosen = load_metrics(usable_defaults(seen) if metrics is None else metrics)
        if metrics is not None and not isinstance(metrics, Mapping) and "all" in metrics:
            chosen = with_needs_met(chosen, seen)
        check_needs(chosen, seen, source.name)
        table = _score_all(source, Scorer(chosen, seen.systems, intervals), seen.count, seed, resamples)
    for note in table.notes:
        warnings.warn(note, ScoreWarning, stacklevel=2)
    return table


def _score_all(source: Source, scorer: Scorer, count: int, seed: int, resamples: int) -> ScoreTable:
    kept: deque[Batch] = deque()
    if scorer.must_observe:
        for part in in_batches(source, BATCH):
            batch = Batch(part)
            scorer.observe(batch)
            if count <= _KEPT:
                kept.append(batch)
    scorer.finish_observing()
    ids: list[str] = []
    codes: list[Any] = []
    columns: dict[str, list[Scores]] = {column: [] for column in scorer.columns}
    for part in in_batches(source, BATCH):
        batch = kept.popleft() if kept else Batch(part)
        ids += [example.id for example in part]
        codes.append(scorer.system_codes(part))
        for column, scores in scorer.score(batch).items():
            columns[column].append(scores)
    joined = {column: np.concatenate(parts) for column, parts in columns.items()}
    return scorer.table(joined, np.concatenate(codes), ids=ids, seed=seed, resamples=resamples)

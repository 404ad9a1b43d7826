"""The verb: which metrics, which targets, scoring and the table in one call."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from rejoinder.data.records import FieldMap, Fields
from rejoinder.data.source import Source, Survey, survey
from rejoinder.data.tables import polars_failures
from rejoinder.errors import CallError, NeedsError, shortened
from rejoinder.folders.outputs import START_OVER, Output, UnfinishedRows, check_finished, check_same_run
from rejoinder.metrics.base import Metric, ScoreWarning
from rejoinder.options import RESAMPLES, OnError, checked, one_or_more
from rejoinder.registry import ALIASES, build, load, metric_names, metrics_of_file
from rejoinder.scoring.parts import PartsFolder, check_parts, parts_output, read_parts
from rejoinder.scoring.run import LocalRun
from rejoinder.scoring.score_file import lacks_only_metadata, metadata_of, read_scores, score_output
from rejoinder.scoring.table import ScoreTable
from rejoinder.show.text import one_line

# Choosing, scoring and the table in one call, from Python.


@checked(by=one_or_more("the name of a field, or a list of names"))
def score(
    examples: Any,
    metrics: Metrics | None = None,
    *,
    intervals: bool = False,
    by: str | Sequence[str] = (),
    fields: Fields | None = None,
    on_error: OnError = "raise",
    seed: int = 0,
    resamples: int = RESAMPLES,
    jobs: int | None = None,
) -> ScoreTable:
    """Score examples (a list, a frame, a data set, a path) by metrics given by name, such as ["bleu(n=2)", "rouge-l"].

    Without `metrics` the default set runs, as far as the data have what each metric needs. With `intervals`, calibrated
    evaluators also give, for each reply, the interval expected to contain the human score. `fields` maps our field
    names to the data's. `by` names fields of the data (or length, turns): the table then also shows the replies with
    each of their values separately. With `on_error="skip"` unreadable examples are left out, and a warning counts them.
    `jobs` is the number of processes that score; by default as many as there are cores for evaluators, and for fast
    metrics where there are many replies, else one. Scores stay the same, but for the last digits of evaluators in
    torch.
    """
    chosen = choose(metrics)
    with closing(Source(examples, replace(FieldMap.given(fields), by=tuple(by)), on_error)) as source:
        seen = survey(source, digest=False)
        served = chosen.served_by(seen, source.name)
        run = LocalRun(
            source,
            seen,
            served.metrics,
            source.name,
            seed,
            resamples,
            quiet=True,
            intervals=intervals,
            notes=served.notes,
            keep_ids=True,
            by=tuple(by),
            jobs=jobs,
        )
        table = run.score()
        skipped = list(source.skipped.values())
    if skipped:
        warnings.warn(f"left out {len(skipped)} unreadable examples; the first: {skipped[0]}", stacklevel=2)
    for note in table.notes:
        warnings.warn(one_line(note), ScoreWarning, stacklevel=3)
    return table


# Which metrics run: all named ones; of `all` and of the default set, those whose inputs the data provide.
#
# A metric needs references, a context or neither. Where no example has what it needs, a metric that was named is
# an error, and one of a set is left out with a note.


T = TypeVar("T")
Metrics = str | Metric | Sequence[str | Metric] | Mapping[str, str | Metric]
"""Names with parameters, metric objects, or a mapping from custom labels to either; `all` names every metric."""

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
"""The metrics that run by default, where the data provide what they need."""

ALL = "all"


@dataclass(frozen=True)
class Choice:
    """Metrics under their labels, in the order of their columns."""

    metrics: Mapping[str, Metric]
    optional: frozenset[str] = frozenset()
    """Labels of metrics that were not named explicitly."""
    notes: tuple[str, ...] = ()
    """What was left out, and why."""

    def adding(self, named: Mapping[str, Metric]) -> Choice:
        """These metrics and others; explicitly named metrics replace set members with the same label."""
        for label in named:
            if label in self.metrics.keys() - self.optional:
                raise CallError(f"the metric {label!r} is named twice")
        kept = {label: metric for label, metric in self.metrics.items() if label not in named}
        return Choice({**kept, **named}, self.optional - named.keys(), self.notes)

    def served_by(self, seen: Survey, where: str) -> Choice:
        """The metrics whose inputs the data provide; a NeedsError if one that was named explicitly lacks its inputs."""
        lacking: dict[tuple[str, ...], list[str]] = {}
        for label, metric in self.metrics.items():
            unmet = tuple(sorted(need for need in metric.needs if not seen.has.get(need)))
            if unmet and label not in self.optional:
                raise NeedsError(f"{label} needs {unmet[0]}, but none of the {seen.count} examples of {where} has any")
            if unmet:
                lacking.setdefault(unmet, []).append(label)
        left_out = {label for labels in lacking.values() for label in labels}
        notes = [
            f"left out {', '.join(labels)}: no example has {' or '.join(needs)}" for needs, labels in lacking.items()
        ]
        kept = {label: metric for label, metric in self.metrics.items() if label not in left_out}
        return Choice(kept, self.optional - left_out, (*self.notes, *notes))


def choose(metrics: Metrics | Choice | None = None) -> Choice:
    """The metrics of a call, before its data are read; the default set for None."""
    if isinstance(metrics, Choice):
        return metrics
    if metrics is None:
        default = _labelled(DEFAULT_METRICS)
        return Choice(default, frozenset(default))
    if isinstance(metrics, str | Metric):
        metrics = [metrics]
    given: Any = metrics
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise CallError(f"metrics must be names or metric objects, not {shortened(metrics)}")
    if isinstance(metrics, Mapping):
        chosen = {check_label(label): metric_of(given) for label, given in metrics.items()}
        return Choice(_some(chosen))
    metrics = _some(list(metrics))
    specs = [spec for spec in metrics if not (isinstance(spec, str) and spec.strip() == ALL)]
    if len(specs) == len(metrics):
        return Choice(_labelled(specs))
    every = _every_metric()
    return every.adding(_labelled(specs, every.metrics))


def metrics_given(names: Sequence[str] | None, config: str | None) -> Choice | None:
    """The metrics of a command line: what was given as --metric and --config; None where nothing was."""
    chosen = choose(names) if names else None
    if config is None:
        return chosen
    return (chosen or Choice({})).adding(choose(metrics_of_file(config)).metrics)


def check_label(label: Any) -> str:
    """The label of a metric, which becomes a column; a CallError where it cannot be one."""
    if not isinstance(label, str) or not label.strip():
        raise CallError(f"the label of a metric must be text that is not empty, not {shortened(label)}")
    if label in {"id", "system"}:  # columns of every score file
        raise CallError(f"a metric cannot be labelled {label!r}")
    return label


def _some(metrics: T) -> T:
    if not metrics:
        raise CallError("no metric is named: expected some, or None for the default set")
    return metrics


def _every_metric() -> Choice:
    """All registered metrics, each setting once; one that cannot be built without parameters is left out."""
    found: dict[str, Metric] = {}
    notes = []
    for name in metric_names():
        presets = {alias: build(alias, {}) for alias, (base, _) in ALIASES.items() if base == name}
        try:
            plain = build(name, {})
        except CallError as error:  # a plug-in that lacks a value, or cannot be imported
            notes.append(f"left out {name}: {error}")
            continue
        if plain not in presets.values():  # bleu is bleu-4: once is enough
            found[name] = plain
        found |= presets
    return Choice(found, frozenset(found), tuple(notes))


def _labelled(specs: Sequence[str | Metric], others: Collection[str] = ()) -> dict[str, Metric]:
    """Label -> metric: a name as it was given, an object under its name."""
    found: dict[str, Metric] = {}
    for spec in specs:
        metric = metric_of(spec)
        label = spec.strip() if isinstance(spec, str) else _label(metric, specs, others, found)
        if label in found:
            raise CallError(f"the metric {label!r} is named twice")
        found[label] = metric
    return found


def _label(metric: Metric, specs: Sequence[str | Metric], others: Collection[str], found: Mapping[str, Metric]) -> str:
    """The name alone where no other metric has it, else with the parameters that make the difference: bleu(n=2)."""
    names = [spec.strip() if isinstance(spec, str) else spec.name for spec in specs]
    if [*names, *others].count(metric.name) == 1:
        return metric.name
    # What is trained may differ in more than its parameters.
    differs = metric.spec in found and found[metric.spec].signature != metric.signature
    return metric.signature if differs else metric.spec


def metric_of(given: Any) -> Metric:
    """The metric that was named, or given; a CallError where it cannot score."""
    metric = load(given) if isinstance(given, str) else given
    if not isinstance(metric, Metric):
        if isinstance(given, str):
            raise CallError(f"{given} is a {getattr(metric, 'kind', 'model')}: expected a metric or an evaluator")
        raise CallError(f"{shortened(given)} is not a metric: expected a name or an object returned by load()")
    if not metric.is_fitted:
        raise CallError(f"{metric.name} is not trained: train it, save it, and name the folder that it was saved in")
    return metric


# Where scores are written: into one file, or into a folder of parts.


@dataclass(frozen=True)
class FileTarget:
    """A score file: .jsonl, .csv or .parquet."""

    path: Path

    @property
    def output(self) -> Output:
        """What the run writes."""
        return score_output(self.path)

    @property
    def unfinished(self) -> Path | None:
        """What an interrupted run left; None if there is nothing."""
        rows = UnfinishedRows(self.path)
        return rows.rows if rows.exist() else None

    @property
    def is_finished(self) -> bool:
        """Whether there are scores, and nothing to resume."""
        return self.path.exists() and self.unfinished is None and not lacks_only_metadata(self.path)

    def check_finished(self, run: Mapping[str, Any]) -> None:
        """Raise an error unless the finished scores are those of this run, whole and unchanged."""
        with polars_failures(str(self.path), f"is damaged: {START_OVER}"):
            meta, lacking = metadata_of(self.path)
        check_finished(self.path, meta, run, lacking if not meta else "")

    def read(self) -> ScoreTable:
        """The finished scores."""
        return read_scores(self.path)


@dataclass(frozen=True)
class FolderTarget:
    """A folder of parts."""

    path: Path

    @property
    def output(self) -> Output:
        """What the run writes."""
        return parts_output(self.path)

    @property
    def unfinished(self) -> Path | None:
        """What an interrupted run left; None if there is nothing."""
        folder = PartsFolder(self.path)
        return self.path if folder.exists and (not folder.manifest.is_finished or folder.manifest.failed) else None

    @property
    def is_finished(self) -> bool:
        """Whether there are scores, and nothing to resume."""
        return PartsFolder(self.path).exists and self.unfinished is None

    def check_finished(self, run: Mapping[str, Any]) -> None:
        """Raise an error unless the finished scores are those of this run, and no part is missing or damaged."""
        folder = PartsFolder(self.path)
        check_same_run(folder.manifest.run, run, self.path)
        check_parts(folder)

    def read(self) -> ScoreTable:
        """The finished scores."""
        return read_parts(self.path)


Target = FileTarget | FolderTarget

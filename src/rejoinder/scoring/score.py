"""The verb: which metrics, where their scores go, scoring and the table in one call; what judges would cost."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from rejoinder.data.opening import files_of
from rejoinder.data.records import FieldMap, Fields
from rejoinder.data.source import Source, Survey
from rejoinder.errors import CallError, NeedsError, shortened
from rejoinder.folders.outputs import Output, named_files, output_path, paths_of, reserved
from rejoinder.metrics.base import Metric, ScoreWarning
from rejoinder.options import (
    FIELDS_OPTION,
    METRICS_OPTION,
    REPLIES_OPTION,
    RESAMPLES,
    By,
    Jobs,
    MaxCost,
    OnError,
    Option,
    Quiet,
    Resamples,
    Resume,
    Seed,
    UnitOption,
    path,
    verb,
)
from rejoinder.registry import ALIASES, build, load, metric_names, metrics_of_file
from rejoinder.scoring.run import LocalRun, judges_limited
from rejoinder.scoring.score_file import ScoreFile
from rejoinder.scoring.table import ScoreTable
from rejoinder.show.text import one_line
from rejoinder.types import Unit

if TYPE_CHECKING:
    from rejoinder.judge.cost import CostPlan
    from rejoinder.scoring.parts import PartsFolder
    from rejoinder.scoring.ray import RayRun

# Choosing, scoring and the table in one call.


Engine = Literal["local", "ray"]


@verb
def score(
    replies: Annotated[Any, REPLIES_OPTION],
    metrics: Annotated[Metrics | MetricChoice | None, METRICS_OPTION] = None,
    *,
    output: Annotated[
        str | Path | None,
        Option(
            "write one row per reply: .jsonl, .csv or .parquet; with --engine ray, a folder of Parquet files",
            path,
            short="-o",
            metavar="FILE",
        ),
    ] = None,
    resume: Resume = False,
    engine: Annotated[
        Engine,
        Option(
            "local: this machine; ray: the cluster of RAY_ADDRESS, or a Ray that is started on this machine, from "
            ".parquet or .jsonl files into a folder (docs/guide/score-at-scale.md)",
            choices=("local", "ray"),
        ),
    ] = "local",
    intervals: Annotated[
        bool,
        Option(
            "for calibrated evaluators, also write NAME.low and NAME.high: the interval expected to contain the rating"
        ),
    ] = False,
    by: By = (),
    unit: UnitOption = "reply",
    max_cost: MaxCost = None,
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    seed: Seed = 0,
    resamples: Resamples = RESAMPLES,
    jobs: Jobs = None,
    quiet: Quiet = True,
) -> ScoreTable:
    """Score replies (examples, a data frame, a data set, a path) by metrics, such as ["bleu(n=2)", "rouge-l"].

    Without `metrics` the default set runs, as far as the data have what each metric needs. With `intervals`, calibrated
    evaluators also give, for each reply, the interval expected to contain the rating. `fields` maps our field
    names to the data's. Of a conversation the last reply is scored; with `unit="turn"` each assistant turn is, in its
    place. Replies of several files (a list of paths) that name no system have the name of their file. `by` names fields
    of the data (or length, turns), also inside others (metadata.channel): the table then also shows the replies with
    each of their values separately. With `on_error="skip"` unreadable examples are left out, and a warning counts them.

    `output` is a file (.jsonl, .csv, .parquet) that the scores of each reply are written to, in one piece when all are
    there. With `resume` an interrupted run into it is continued, and finished scores are read; an error if its data,
    metrics or settings are not those of this call. `engine="ray"` scores files on the cluster of RAY_ADDRESS, or a Ray
    that is started on this machine, into an `output` folder.

    `jobs` is the number of processes that score; by default as many as there are cores for evaluators, and for fast
    metrics where there are many replies, else one. Scores stay the same, but for the last digits of evaluators in
    torch. `max_cost` is the most that all judges together may cost, by the prices given with each judge.
    """
    with prepared(
        replies,
        choose_metrics(metrics),
        output=output,
        resume=resume,
        engine=engine,
        unit=unit,
        fields=replace(FieldMap.given(fields), by=tuple(by)),
        on_error=on_error,
        max_cost=max_cost,
        reads=() if output is None else named_files(metrics),
        say=lambda message: warnings.warn(message, ScoreWarning, stacklevel=5),
        digest=output is not None,
        intervals=intervals,
        seed=seed,
        resamples=resamples,
        jobs=jobs,
        quiet=quiet,
        keep_ids=True,
    ) as ready:
        table = ready.table()
    skipped = list(ready.source.skipped.values())
    if skipped:
        warnings.warn(f"left out {len(skipped)} unreadable examples; the first: {skipped[0]}", stacklevel=2)
    for note in table.notes:
        warnings.warn(one_line(note), ScoreWarning, stacklevel=3)
    return table


@dataclass(frozen=True)
class PreparedRun:
    """A run whose input was surveyed and whose metrics were chosen, with the place that its scores go to."""

    run: LocalRun | RayRun
    source: Source
    output: ScoreFile | PartsFolder | None
    is_finished: bool
    """Whether the output has all scores already, and is not to be replaced."""
    resume: bool
    say: Callable[[str], object]
    option: str
    """How the caller resumes: `--resume`."""

    def check_finished(self) -> None:
        """Raise an error unless the finished scores are those of this run, whole and unchanged."""
        if self.output is not None:
            self.output.check_finished(self.run.identity())

    def table(self) -> ScoreTable:
        """The table of scores: read where they are finished, else computed; an interrupt says how to resume."""
        if self.output is not None and self.is_finished:
            self.check_finished()
            return self.run.finished_table(self.output.read())
        try:
            return self.run.score(None if self.output is None else self.output.path, resume=self.resume)
        except KeyboardInterrupt:
            if self.output is not None and (left := type(self.output)(self.output.path).interrupted) is not None:
                self.say(f"the rows scored so far are in {left}; {self.option} continues from there")
            raise


@contextmanager
def prepared(
    origin: Any,
    wanted: MetricChoice,
    *,
    output: str | Path | None,
    resume: bool,
    engine: Engine,
    unit: Unit,
    fields: FieldMap,
    on_error: OnError,
    max_cost: float | None,
    reads: Iterable[str | Path] = (),
    beside: Sequence[Output] = (),
    say: Callable[[str], object],
    option: str = "resume=True",
    **settings: Any,
) -> Iterator[PreparedRun]:
    """Reserve the output, survey the replies and choose the metrics; during the block the run can be scored.

    `reads` are further files that are read, and `beside` what else is written; `option` is how the caller resumes.
    """
    path = None if output is None else output_path(output)
    if path is None and (engine == "ray" or resume):
        raise CallError(
            "a run on Ray needs an output: the folder that the scores are written into"
            if engine == "ray"
            else "resuming needs an output: without a score file there is nothing to resume"
        )
    target: ScoreFile | PartsFolder | None = None if path is None else ScoreFile(path)
    if path is not None and engine == "ray":
        from rejoinder.scoring.parts import PartsFolder

        target = PartsFolder(path)
    outputs = [*([] if target is None else [target.output]), *beside]
    read = [*reads]
    for one in paths_of(origin) if outputs else ():
        read += [one, *(files_of(one, str(one)) or [])]
    with reserved(*outputs, reads=read):
        if target is not None and not resume and (left := target.interrupted) is not None:
            say(f"starting over; {left} of an interrupted run is replaced ({option} would resume it)")
        is_finished = target is not None and resume and target.is_finished
        source = Source(origin, fields, on_error, unit=unit, by_file=True)
        run: LocalRun | RayRun
        if engine == "ray":
            from rejoinder.scoring.ray import RayRun

            run = RayRun.of(source, wanted, by=fields.by, skip_failed=on_error == "skip", **settings)
        else:
            run = LocalRun.of(source, wanted, by=fields.by, **settings)
        with judges_limited(run.metrics.values(), max_cost, quiet=run.quiet):
            yield PreparedRun(run, source, target, is_finished, resume, say, option)


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
class MetricChoice:
    """Metrics under their labels, in the order of their columns."""

    metrics: Mapping[str, Metric]
    optional: frozenset[str] = frozenset()
    """Labels of metrics that were not named explicitly."""
    notes: tuple[str, ...] = ()
    """What was left out, and why."""

    def adding(self, named: Mapping[str, Metric]) -> MetricChoice:
        """These metrics and others; explicitly named metrics replace set members with the same label."""
        for label in named:
            if label in self.metrics.keys() - self.optional:
                raise CallError(f"the metric {label!r} is named twice")
        kept = {label: metric for label, metric in self.metrics.items() if label not in named}
        return MetricChoice({**kept, **named}, self.optional - named.keys(), self.notes)

    def served_by(self, seen: Survey, where: str) -> MetricChoice:
        """The metrics whose inputs the data provide; a NeedsError if one that was named explicitly lacks its inputs."""
        lacking: dict[tuple[str, ...], list[str]] = {}
        for label, metric in self.metrics.items():
            unmet = tuple(sorted(need for need in metric.needs if not seen.has.get(need)))
            if unmet and label not in self.optional:
                raise NeedsError(f"{label} needs {unmet[0]}, but none of the {seen.count} examples of {where} has any")
            if unmet:
                lacking.setdefault(unmet, []).append(label)
        if not lacking:
            return self
        left_out = {label for labels in lacking.values() for label in labels}
        notes = [
            f"left out {', '.join(labels)}: no example has {' or '.join(needs)}" for needs, labels in lacking.items()
        ]
        kept = {label: metric for label, metric in self.metrics.items() if label not in left_out}
        return MetricChoice(kept, self.optional - left_out, (*self.notes, *notes))


def choose_metrics(metrics: Metrics | MetricChoice | None = None) -> MetricChoice:
    """The metrics of a call, before its data are read; the default set for None."""
    if isinstance(metrics, MetricChoice):
        return metrics
    if metrics is None:
        default = _labelled(DEFAULT_METRICS)
        return MetricChoice(default, frozenset(default))
    if isinstance(metrics, str | Metric):
        metrics = [metrics]
    given: Any = metrics
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise CallError(f"metrics must be names or metric objects, not {shortened(metrics)}")
    if isinstance(metrics, Mapping):
        chosen = {check_label(label): metric_of(given) for label, given in metrics.items()}
        return MetricChoice(_some(chosen))
    metrics = _some(list(metrics))
    specs = [spec for spec in metrics if not (isinstance(spec, str) and spec.strip() == ALL)]
    if len(specs) == len(metrics):
        return MetricChoice(_labelled(specs))
    every = _every_metric()
    return every.adding(_labelled(specs, every.metrics))


def metrics_given(names: Sequence[str] | None, config: str | None) -> Sequence[str] | MetricChoice | None:
    """The metrics of a command line: what was given as --metric and --config; None where nothing was."""
    if config is None:
        return names
    chosen = choose_metrics(names) if names else MetricChoice({})
    return chosen.adding(choose_metrics(metrics_of_file(config)).metrics)


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


def _every_metric() -> MetricChoice:
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
    return MetricChoice(found, frozenset(found), tuple(notes))


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


@verb
def judge_costs(
    *replies: Annotated[Any, REPLIES_OPTION],
    metrics: Annotated[Metrics | MetricChoice | None, METRICS_OPTION] = None,
    unit: UnitOption = "reply",
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
) -> CostPlan:
    """What the judges among the metrics would be sent to score all these replies; nothing is sent."""
    from rejoinder.judge.cost import CostPlan
    from rejoinder.judge.judge import judges_in, planned

    chosen = choose_metrics(metrics)
    examples = []
    for each in replies:
        with closing(Source(each, fields, on_error, unit=unit)) as source:
            examples += list(source)
    if not examples:
        raise CallError("no replies: expected some that judges could be asked about")
    return CostPlan(planned(judges_in(chosen.metrics.values()), examples))

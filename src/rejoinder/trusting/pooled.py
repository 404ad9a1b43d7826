"""How well does a metric agree with people over several judged sets? Its correlations, pooled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rejoinder._version import __version__
from rejoinder.data.judged import JudgedSet, chosen_dimensions, read_judged
from rejoinder.data.records import Fields
from rejoinder.data.source import labels_of
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.options import OnError
from rejoinder.scoring.run import judges_limited
from rejoinder.scoring.score import MetricChoice, Metrics, choose_metrics
from rejoinder.scoring.table import json_ready
from rejoinder.show.document import PAGE, Column, Document, Figures, Result, Say, Section, Share, Table, VerdictText
from rejoinder.show.figures import IntervalPanel
from rejoinder.show.plots import Figure
from rejoinder.show.text import counted, interval_text
from rejoinder.stats.intervals import Interval, t_quantile
from rejoinder.stats.random_effects import PooledEffect, pool_correlations
from rejoinder.trusting.trust import Trust, trust_on
from rejoinder.types import Unit

_NEARLY_ONE = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class PooledCorrelation:
    """One metric's correlation with people in each judged set, and over all of them."""

    metric: str
    sets: Mapping[str, Interval]
    """Name of the set -> correlation over single replies."""
    pooled: PooledEffect

    def panel(self) -> IntervalPanel:
        """The forest plot: each set, the mean, and where a new set is expected."""
        below = (("mean of all sets", self.pooled.mean), ("a new set", self.pooled.prediction))
        return IntervalPanel(self.metric, (*self.sets.items(), *below))


@dataclass(frozen=True, eq=False, repr=False)
class PooledTrust(Result):
    """Metrics against people over several judged sets, the best mean first."""

    kind: str
    rows: tuple[PooledCorrelation, ...]
    reports: Mapping[str, Trust]
    """Name of the set -> its own result."""
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """The answer."""
        best = self.rows[0]
        pooled, kind = best.pooled, self.kind.capitalize()
        ahead = pooled.prediction
        new = "" if math.isnan(ahead.low) else f"; a new set is expected between {ahead.low:.2f} and {ahead.high:.2f}"
        doubt = ["That is not significantly above zero."] if pooled.mean.low <= 0 else []
        return [
            f"{best.metric} has the highest mean correlation with people over {counted(pooled.n_sets, 'judged set')}: "
            f"{kind} {interval_text(pooled.mean, 2)}{new}.",
            *doubt,
        ]

    def plot(self, metric: str | None = None) -> Figure:
        """The forest plot of one metric, by default the best: its correlation in each set, the mean, and a new set."""
        rows = {row.metric: row for row in self.rows}
        name = self.rows[0].metric if metric is None else metric
        if name not in rows:
            raise UnknownNameError("metric", name, rows)
        panel = rows[name].panel()
        return Figure.of(f"{self.kind.capitalize()} correlation of {name} with people", [panel])

    def document(self) -> Document:
        """The pooled correlations, those of each set, and forest plots."""
        first = next(iter(self.reports.values()))
        pooled = [
            [
                row.metric,
                row.pooled.mean,
                "-" if math.isnan(row.pooled.prediction.low) else row.pooled.prediction,
                row.pooled.tau,
                Share(row.pooled.i_squared),
                row.pooled.n_sets,
            ]
            for row in self.rows
        ]
        means = [Column(f"{what} [95 %]", bounds=2, key=key) for what, key in (("mean", "mean"), ("new set", "new"))]
        title = f"{self.kind.capitalize()} correlation with people over single replies, random effects"
        each = [
            [row.metric, *(row.sets[n].estimate if n in row.sets else "-" for n in self.reports)] for row in self.rows
        ]
        tables = [
            Table(["metric", *means, "tau", "I²", "sets"], pooled, title=title, fit=False),
            Table(["metric", *self.reports], each, title="Each set", fit=False),
            forest(self.rows[0].panel()),
        ]
        return Document(
            f"Metrics against people: {len(self.reports)} judged sets",
            [
                VerdictText(self.sentences, fit=False),
                Section("All sets", tables),
                Section(
                    "Forest plots", [Say([_INTRO]), Figures([row.panel() for row in self.rows])], "Forest", only=PAGE
                ),
            ],
            question="Which metric agrees with the ratings?",
            counts=[
                (len(self.reports), "judged set", "judged sets"),
                (sum(len(report.judged) for report in self.reports.values()), "reply", "replies"),
                (len(self.rows), "metric", "metrics"),
            ],
            signatures={label: text for one in self.reports.values() for label, text in one.signatures.items()},
            seed=first.seed,
            resamples=first.resamples,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values = {
            "version": __version__,
            **self.answer,
            "kind": self.kind,
            "metrics": {row.metric: _row_dict(row) for row in self.rows},
            "warnings": list(self.notes),
            "sets": {name: report.to_dict() for name, report in self.reports.items()},
        }
        return json_ready(values)


_INTRO = (
    "Each line of a forest plot is a judged set: the metric's correlation with people over single replies, with its "
    "95 % interval over contexts. Below them are the mean of all sets (random effects, REML, interval of Hartung and "
    "Knapp) and the interval in which the correlation of a new set is expected."
)


def pooled_trust(
    origins: Sequence[Any],
    *,
    metrics: Metrics | MetricChoice | None,
    dimension: str | None,
    kind: str,
    remove_outliers: bool,
    unit: Unit,
    max_cost: float | None,
    fields: Fields | None,
    on_error: OnError,
    seed: int,
    resamples: int,
    jobs: int | None,
    quiet: bool,
) -> PooledTrust:
    """The correlations of each metric with people on several judged sets, pooled: `trust` with several sets."""
    if sum(isinstance(origin, str) and origin == "-" for origin in origins) > 1:
        raise CallError("standard input can be read only once: expected - for at most one of the files")
    chosen = choose_metrics(metrics)
    names = labels_of(origins)
    if len(set(names)) < len(names):
        raise CallError("a judged set is given twice: expected different ones")
    sets, reports, notes = dict[str, tuple[JudgedSet, str]](), dict[str, Trust](), list[str]()
    for name, origin in zip(names, origins, strict=True):
        judged = read_judged(origin, fields=fields, on_error=on_error, unit=unit)
        dimensions = chosen_dimensions(judged, dimension)
        if len(dimensions) > 1:
            notes.append(f"{name}: uses the dimension {dimensions[0]}, the first of {', '.join(dimensions)}")
        sets[name] = (judged, dimensions[0])
    # What the judges may cost is for all sets together.
    with judges_limited(chosen.metrics.values(), max_cost, quiet=quiet):
        settings: Any = {"seed": seed, "resamples": resamples, "jobs": jobs, "quiet": quiet}
        for name, (judged, first) in sets.items():
            reports[name] = trust_on(judged, chosen, dimension=first, remove_outliers=remove_outliers, **settings)
    for name in reports:
        notes += [f"{name}: {note}" for note in reports[name].notes]
    rows = [_pooled(label, reports, kind) for label in _labels(reports)]
    usable = [row for row in rows if row is not None]
    if not usable:
        raise CallError("no metric could be compared with people on any of the judged sets")
    ranked = sorted(usable, key=lambda row: -row.pooled.mean.estimate)
    return PooledTrust(kind, tuple(ranked), reports, tuple(dict.fromkeys(notes)))


def forest(panel: IntervalPanel, width: int = 41) -> Table:
    """A forest plot as text: one line per row, with its estimate as a dot and its interval as a bar."""
    known = [bound for _, row in panel.rows for bound in (row.low, row.estimate, row.high) if not math.isnan(bound)]
    low, high = min([0.0, *known]), max([0.0, *known])

    def place(value: float) -> int:
        return round((value - low) / ((high - low) or 1) * (width - 1))

    rows = []
    for name, row in panel.rows:
        line = [" "] * width
        line[place(0)] = "┊"
        if not math.isnan(row.low):
            line[place(row.low) : place(row.high) + 1] = "─" * (place(row.high) - place(row.low) + 1)
        line[place(row.estimate)] = "●"
        rows.append([name, "".join(line), row])
    scale = f"{low:.2f}".ljust(width - 4) + f"{high:.2f}"
    return Table([panel.title, scale, Column("[95 %]", bounds=2)], rows, left=2, fit=False, only=("text",))


def _labels(reports: Mapping[str, Trust]) -> list[str]:
    """The metrics that some set has, in order."""
    return list(dict.fromkeys(label for report in reports.values() for label in report.signatures))


def _pooled(label: str, reports: Mapping[str, Trust], kind: str) -> PooledCorrelation | None:
    sets, errors = {}, []
    for name, report in reports.items():
        (dimension,) = report.dimensions
        row = next((row for row in dimension.utterance.rows if row.metric == label), None)
        if row is None or math.isnan(row.measured[kind].interval.low):
            continue
        interval = row.measured[kind].interval
        contexts = len(np.unique(report.judged.clusters[dimension.scored.complete]))
        error = _error(interval, contexts)
        if error > 0:
            sets[name] = interval
            errors.append(error)
    if not sets:
        return None
    estimates = np.clip([interval.estimate for interval in sets.values()], -_NEARLY_ONE, _NEARLY_ONE)
    return PooledCorrelation(label, sets, pool_correlations(estimates, errors))


def _error(interval: Interval, contexts: int) -> float:
    """The standard error on Fisher's z scale: half the interval's length there, in quantiles of t."""
    low, high = np.arctanh(np.clip([interval.low, interval.high], -_NEARLY_ONE, _NEARLY_ONE))
    return float(high - low) / 2 / t_quantile(0.95, contexts - 1)


def _row_dict(row: PooledCorrelation) -> dict[str, Any]:
    pooled = row.pooled
    return {
        "mean": asdict(pooled.mean),
        "prediction": asdict(pooled.prediction),
        "tau": pooled.tau,
        "i_squared": pooled.i_squared,
        "q": pooled.q,
        "q_p": pooled.q_p_value,
        "sets": {name: asdict(interval) for name, interval in row.sets.items()},
    }

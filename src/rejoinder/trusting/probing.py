"""Probes: tests of what a metric rewards. Their input, their result, and all of them by name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.data.judged import JudgedSet
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.metrics.base import Metric
from rejoinder.options import RESAMPLES
from rejoinder.scoring.table import json_ready
from rejoinder.show.document import Block, Column, Document, Figures, Result, Say, Section, Table, renamed
from rejoinder.show.document import PValue as PValue
from rejoinder.show.figures import Panel
from rejoinder.show.plots import Figure
from rejoinder.stats.intervals import Interval
from rejoinder.types import Scores

TableCell = str | float | int | Interval
PAPER = re.compile(r"[^:]*\b(19|20)\d\d\b[^:]*")
"""A source that is one or more papers, which are cited by authors and year: "Lowe et al. 2017, Table 5"."""


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """A judged set with the scores of some metrics: the input of a probe."""

    judged: JudgedSet
    dimension: str
    scores: Mapping[str, Scores]
    """Metric label -> one score per example."""
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """Metric label -> the metric, where it can score new replies; scores read from a file have none."""
    seed: int = 0
    resamples: int = RESAMPLES
    lower_is_better: frozenset[str] = frozenset()
    """Labels of scores read from a file for which lower is better; a metric says so itself."""

    def oriented(self, label: str) -> Scores:
        """The metric's scores, negated where lower is better, so that positive correlation means agreement."""
        metric = self.metrics.get(label)
        negated = label in self.lower_is_better or (metric is not None and not metric.higher_is_better)
        return -self.scores[label] if negated else self.scores[label]

    @cached_property
    def human(self) -> Scores:
        """The mean rating of each example."""
        return self.judged.human(self.dimension)

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """Which examples people and all metrics scored."""
        known = [~np.isnan(column) for column in (self.human, *self.scores.values())]
        complete: NDArray[np.bool_] = np.logical_and.reduce(known)
        return complete

    def take(self, rows: Ints) -> ScoredSet:
        """The examples of the given rows."""
        scores = {label: column[rows] for label, column in self.scores.items()}
        return replace(self, judged=self.judged.take(rows), scores=scores)


@dataclass(frozen=True, eq=False, repr=False)
class TableResult(Result):
    """A table, its figures, and what they show in sentences."""

    name: str
    title: str
    source: str
    """The paper's table or figure that the probe follows."""
    header: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    sentences: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()

    @property
    def findings(self) -> tuple[str, ...]:
        """The sentences, as they were named before 0.2."""
        renamed("findings", "sentences")
        return self.sentences

    def document(self) -> Document:
        """The table, the sentences, and the figures."""
        return Document(self.title, self.blocks())

    def blocks(self) -> list[Block]:
        """The same within another document."""
        # "As in" is for papers only.
        source = f"As in {self.source}." if PAPER.fullmatch(self.source) else f"{_capitalised(self.source)}."
        return [
            Say([f"{self.title} ({self.source})"], fit=False, only=("text",)),
            Say([source], only=("markdown", "html")),
            Table([Column(name, bounds=2) for name in self.header], self.rows, fit=False, tight=True),
            Say(self.sentences, lines=True, fit=False, tight=True),
            Figures(self.panels),
        ]

    def section(self) -> Section:
        """The same as a section, folded away."""
        return Section(self.title, self.blocks(), _capitalised(self.name.replace("-", " ")), folded=True)

    def plot(self, what: str | None = None) -> Figure:
        """All figures of the probe in one, or the one that has this title."""
        if what is not None:
            return super().plot(what)
        if not self.panels:
            raise CallError(f"the probe {self.name} has no figure")
        return Figure.of(self.title, self.panels)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, one object per row."""
        rows = [
            json_ready(
                {
                    name: asdict(cell) if isinstance(cell, Interval) else cell
                    for name, cell in zip(self.header, row, strict=True)
                }
            )
            for row in self.rows
        ]
        return {
            "title": self.title,
            "source": self.source,
            "rows": rows,
            **self.answer,
            "findings": list(self.sentences),  # as they were named before 0.2
        }


def cell_text(cell: TableCell) -> str:
    """A cell as text."""
    return Column("", bounds=2).text(cell)


def _capitalised(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


# Probes from the literature by name. Each takes a `ScoredSet`, and gives None where the data that it needs is missing.

PROBES: dict[str, tuple[str, str]] = {
    "length-bias": ("probes", "length_bias_probe"),
    "missed-replies": ("probes", "missed_replies_probe"),
    "spread": ("probes", "spread_probe"),
    "without-true-replies": ("robustness", "without_true_replies_probe"),
    "noise": ("robustness", "noise_probe"),
    "adversarial": ("robustness", "adversarial_probe"),
    "scatter": ("probes", "scatter_probe"),
}
"""Name -> module of this package, and its function."""


def run_probe(name: str, scored: ScoredSet) -> TableResult | None:
    """The result of the named probe."""
    if name not in PROBES:
        raise UnknownNameError("probe", name, [*PROBES, "all"])
    module, function = PROBES[name]
    result: TableResult | None = getattr(importlib.import_module(f"rejoinder.trusting.{module}"), function)(scored)
    return result

"""What a study takes and gives, whatever it looks into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.meta.judged import JudgedSet
from rejoinder.meta.panels import Panel
from rejoinder.metrics.base import Metric
from rejoinder.scoring.table import json_ready
from rejoinder.stats.intervals import Interval
from rejoinder.text.grid import grid, number
from rejoinder.types import Scores

Cell = str | float | int | Interval


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """A judged set with what some metrics say of it: what studies start from."""

    judged: JudgedSet
    dimension: str
    scores: Mapping[str, Scores]
    """Metric label -> one score an example."""
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """The metrics behind the labels, where they can score new replies; none where scores came from a file."""
    seed: int = 0
    resamples: int = 1000
    lower_is_better: frozenset[str] = frozenset()
    """Labels of a file's scores whose low ones are good; a metric says so itself."""

    def oriented(self, label: str) -> Scores:
        """The metric's scores, negated where low ones are good: positive correlation then means agreement."""
        metric = self.metrics.get(label)
        turned = label in self.lower_is_better or (metric is not None and not metric.higher_is_better)
        return -self.scores[label] if turned else self.scores[label]

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
        """Some of the examples."""
        scores = {label: column[rows] for label, column in self.scores.items()}
        return replace(self, judged=self.judged.take(rows), scores=scores)


@dataclass(frozen=True, eq=False)
class StudyResult:
    """A table, a figure and what they say."""

    name: str
    title: str
    source: str
    """The paper's table or figure that it follows."""
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    findings: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()

    def __str__(self) -> str:
        table = grid(self.header, [list(map(_under, self.header, row)) for row in self.rows])
        return "\n".join([f"{self.title} ({self.source})", table, *self.findings])

    def to_dict(self) -> dict[str, Any]:
        """Plain values: a row an object."""
        rows = [
            json_ready({name: _plain(cell) for name, cell in zip(self.header, row, strict=True)}) for row in self.rows
        ]
        return {"title": self.title, "source": self.source, "rows": rows, "findings": list(self.findings)}


def shown(cell: Cell) -> str:
    """A cell as text."""
    if isinstance(cell, Interval):
        bounds = "" if np.isnan(cell.low) else f" [{number(cell.low, 2)}, {number(cell.high, 2)}]"
        return f"{number(cell.estimate)}{bounds}"
    return number(cell) if isinstance(cell, float) else str(cell)


def _under(title: str, cell: Cell) -> str:
    """A cell as text under its column's title: a p-value that would round to nothing is told as a bound."""
    is_p_value = title == "p" or title.startswith("p ")
    return "<.001" if is_p_value and isinstance(cell, float) and cell < 0.001 else shown(cell)


def _plain(cell: Cell) -> object:
    if isinstance(cell, Interval):
        return json_ready({"estimate": cell.estimate, "low": cell.low, "high": cell.high})
    return cell

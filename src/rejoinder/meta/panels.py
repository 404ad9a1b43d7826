"""What a figure shows, without how it is drawn: studies fill these in, the report draws them."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.stats.intervals import Interval
from rejoinder.types import Scores


@dataclass(frozen=True, slots=True)
class IntervalPanel:
    """A dot with its interval for each name."""

    title: str
    rows: tuple[tuple[str, Interval], ...]


@dataclass(frozen=True, slots=True, eq=False)
class HistogramPanel:
    """The distribution of each group's values, on one axis."""

    title: str
    groups: tuple[tuple[str, Scores], ...]


@dataclass(frozen=True, slots=True, eq=False)
class ScatterPanel:
    """One dot an example."""

    title: str
    x: Scores
    y: Scores
    x_label: str
    y_label: str
    x_jitter: float = 0.0
    """Standard deviation of the noise that keeps equal x apart: .3 in adem's plots, .25 in ruber's."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a line plot, with a band where bounds are given."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class LinePanel:
    """Curves over one axis."""

    title: str
    curves: tuple[Curve, ...]
    x_label: str
    y_label: str


Panel = IntervalPanel | HistogramPanel | ScatterPanel | LinePanel

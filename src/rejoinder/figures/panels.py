"""The contents of figures, without how they are drawn: results fill these in, `plots` draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.stats.intervals import Interval
from rejoinder.types import Scores


@dataclass(frozen=True, slots=True)
class IntervalPanel:
    """One dot with its interval per name."""

    title: str
    rows: tuple[tuple[str, Interval], ...]
    series: tuple[int, ...] = ()
    """The number of each row's colour; empty: the colours follow each other."""
    decimals: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class HistogramPanel:
    """The distribution of each group's values, on one axis."""

    title: str
    groups: tuple[tuple[str, Scores], ...]


@dataclass(frozen=True, slots=True, eq=False)
class ScatterPanel:
    """One dot per example."""

    title: str
    x: Scores
    y: Scores
    x_label: str
    y_label: str
    x_jitter: float = 0.0
    """Standard deviation of the noise that separates points of equal x: .3 in the plots of Lowe et al. 2017, .25 in
    those of Tao et al. 2018."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a line plot, with a band where bounds are given."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class LinePanel:
    """Curves over a common axis."""

    title: str
    curves: tuple[Curve, ...]
    x_label: str
    y_label: str


Panel = IntervalPanel | HistogramPanel | ScatterPanel | LinePanel

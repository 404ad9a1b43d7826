"""The contents of figures, and their axes and bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rejoinder.show.markup import Html, element, joined
from rejoinder.show.text import middle_cut, width
from rejoinder.stats.intervals import Interval
from rejoinder.types import Scores

# The contents of figures, without how they are drawn: results fill these in, `plots` draws them.


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
class PlotCurve:
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
    curves: tuple[PlotCurve, ...]
    x_label: str
    y_label: str


Panel = IntervalPanel | HistogramPanel | ScatterPanel | LinePanel


# Scales and axes of a figure: values to pixels, with round numbers along the axis.


CHARACTER = 6.8
"""Mean width in pixels of a character at the figures' font size of 12 px."""


EQUAL = 1e-9
"""Values that differ by less than this share of their size are equal: an axis between them would have no ticks."""


@dataclass(frozen=True, slots=True)
class AxisScale:
    """A linear map from values (low .. high) to pixels (start .. stop)."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """The coordinate of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.stop - self.start)


def place(pixels: float) -> str:
    """A coordinate as text, to a tenth of a pixel."""
    return f"{pixels:.1f}".removesuffix(".0")


def span(values: Scores, margin: float = 0.06) -> tuple[float, float]:
    """The lowest and highest finite value with a margin around them; 0 .. 1 where there are none."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    differ = high - low > EQUAL * max(abs(low), abs(high))
    space = (high - low) * margin if differ else max(abs(high), 1.0) * 0.1
    return low - space, high + space


def tick_step(low: float, high: float, most: int = 6) -> float:
    """The round step (1, 2 or 5 times a power of ten) that gives at most `most` steps."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high."""
    step = tick_step(low, high, most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def tick_labels(numbers: Sequence[float]) -> list[str]:
    """The ticks as text, with as many decimals as needed to distinguish them."""
    gap = min((b - a for a, b in pairwise(numbers)), default=1.0)
    decimals = max(0, -math.floor(math.log10(gap) + 1e-9))
    return [f"{number + 0.0:,.{decimals}f}" for number in numbers]


def x_axis(scale: AxisScale, top: float, bottom: float, label: str = "") -> Html:
    """Vertical grid lines, that of zero darker, their numbers below them, and the axis label below those."""
    numbers = ticks(scale.low, scale.high)
    parts: list[Html] = []
    for number, text in zip(numbers, tick_labels(numbers), strict=True):
        x = place(scale(number))
        parts.append(element("line", x1=x, x2=x, y1=place(top), y2=place(bottom), class_=_line_class(number, scale)))
        parts.append(element("text", text, x=x, y=place(bottom + 14), text_anchor="middle"))
    if label:
        middle = place((scale.start + scale.stop) / 2)
        parts.append(element("text", label, x=middle, y=place(bottom + 30), text_anchor="middle", class_="label"))
    return joined(parts)


def _line_class(number: float, scale: AxisScale) -> str:
    return "grid zero" if number == 0 and scale.low < 0 < scale.high else "grid"


def y_axis(scale: AxisScale, left: float, right: float) -> Html:
    """Horizontal grid lines, with their numbers on the left."""
    numbers = ticks(scale.low, scale.high)
    parts: list[Html] = []
    for number, text in zip(numbers, tick_labels(numbers), strict=True):
        y = scale(number)
        parts.append(element("line", x1=place(left), x2=place(right), y1=place(y), y2=place(y), class_="grid"))
        parts.append(element("text", text, x=place(left - 6), y=place(y + 4), text_anchor="end"))
    return joined(parts)


def label_width(label: str) -> float:
    """The width of a label in pixels."""
    return width(label) * CHARACTER


def label_room(labels: Sequence[str], most: float = 120.0) -> float:
    """The width of the longest label in pixels, at most `most`."""
    return min(most, max(map(label_width, labels), default=0.0))


def fitted(label: str, room: float) -> str:
    """The label, shortened in the middle if it is too wide: names often differ at their ends."""
    if label_width(label) <= room:
        return label
    kept = int(room / CHARACTER) - 1
    while kept > 1 and label_width(middle_cut(label, kept)) > room:
        kept -= 1
    return middle_cut(label, kept)


# Histogram bins: the same edges for all groups, aligned to integers where the values are whole numbers.


TAIL = 0.99
"""Where there are outliers, the axis ends at this quantile, and the last bin includes them."""
FAR = 2.0
"""The largest value is an outlier if it is more than this many times as far from the lowest as that quantile."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Edges of equal width."""

    edges: Scores
    beyond: int
    """Number of values above the last edge, which count in the last bin."""

    def shares(self, values: Scores) -> tuple[Scores, Scores]:
        """The number and the share of the values in each bin."""
        inside = np.minimum(values, self.edges[-1])
        counts = np.histogram(inside, self.edges)[0].astype(np.float64)
        return counts, counts / max(len(values), 1)


def bins_for(values: Scores, most: int = 28) -> Bins:
    """At most about `most` bins over the finite values."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Bins(np.array([0.0, 1.0]), 0)
    low, high = float(known.min()), float(known.max())
    usual = float(np.quantile(known, TAIL))
    if usual > low and high - low > FAR * (usual - low):
        high = usual
    whole = bool(np.array_equal(known, np.round(known)))
    edges = _whole_edges(low, high, most) if whole else _even_edges(low, high, most)
    return Bins(edges, int(np.count_nonzero(known > edges[-1])))


def _whole_edges(low: float, high: float, most: int) -> Scores:
    step = max(1, math.ceil((high - low + 1) / most))
    count = math.ceil((high - low + 1) / step)
    return low - 0.5 + step * np.arange(count + 1, dtype=np.float64)


def _even_edges(low: float, high: float, most: int) -> Scores:
    size = max(1.0, abs(low), abs(high))
    if high - low <= EQUAL * size:
        return np.array([low - 0.05 * size, low + 0.05 * size])
    step = tick_step(low, high, most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return step * np.arange(first, max(last, first + 1) + 1, dtype=np.float64)

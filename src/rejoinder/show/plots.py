"""Figures as SVG, within a page or as files."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.folders.outputs import write_text
from rejoinder.show.figures import (
    AxisScale,
    Bins,
    HistogramPanel,
    IntervalPanel,
    LinePanel,
    Panel,
    PlotCurve,
    bins_for,
    fitted,
    label_room,
    label_width,
    place,
    span,
    x_axis,
    y_axis,
)
from rejoinder.show.markup import Html, decimals_for, element, escaped, joined, shown_interval, shown_number
from rejoinder.show.text import counted, one_line
from rejoinder.stats.intervals import Interval
from rejoinder.types import Scores

# Figures as inline SVG: interval plot, histogram, box plot, scatter plot, line plot.
#
# Each function returns one `<svg>` that fills the width of its box. Colours come from the page's style sheet by the
# classes `series-0` .. `series-5`, so that a figure follows the light and the dark theme; every series is also
# labelled, so that no information is conveyed by colour alone. All text is escaped.


WIDTH = 360.0
SERIES = 6
"""Number of colours."""
_AXIS = 24.0
"""Height of the numbers below an axis."""
_AXIS_LABEL = 18.0
_NAME_ROOM = 120.0
"""Widest name that is placed next to its marks; wider ones are placed above them."""


def series_class(number: int) -> str:
    """The CSS class with the colour of a series."""
    return f"series-{number % SERIES}"


def drawn_panel(panel: Panel, *, seed: int = 0) -> Html:
    """The panel's figure; `seed` is for the noise of scatter plots."""
    if isinstance(panel, IntervalPanel):
        return interval_plot(panel.rows, label=panel.title, decimals=panel.decimals, series=panel.series or None)
    if isinstance(panel, HistogramPanel):
        return histogram(panel.groups, label=panel.title)
    if isinstance(panel, LinePanel):
        return line_plot(panel.curves, label=panel.title, x_label=panel.x_label, y_label=panel.y_label)
    return scatter(
        panel.x,
        panel.y,
        label=panel.title,
        x_label=panel.x_label,
        y_label=panel.y_label,
        jitter=(panel.x_jitter, 0.0),
        seed=seed,
    )


def interval_plot(
    rows: Sequence[tuple[str, Interval]],
    *,
    label: str,
    decimals: int | None = None,
    series: Sequence[int] | None = None,
) -> Html:
    """One dot with its interval per row (name, interval), on a common axis; `series` gives the rows' colours."""
    values = np.array([[row.estimate, row.low, row.high] for _, row in rows], np.float64).ravel()
    decimals = decimals_for(values) if decimals is None else decimals
    names = _RowNames.of([name for name, _ in rows])
    numbers = [shown_number(row.estimate, decimals) for _, row in rows]
    scale = AxisScale(*span(values), names.indent, WIDTH - label_room(numbers) - 10)
    step, top = 26.0 + names.above, 4.0
    bottom = top + step * len(rows)
    marks = []
    for number, (name, row) in enumerate(rows):
        y = top + step * (number + 1) - 13
        bounds = shown_interval(row.low, row.high, decimals)
        parts = [
            element("title", f"{name}: {shown_number(row.estimate, decimals)} ({bounds})"),
            names.text(name, y + 4),
            *_interval_marks(row, scale, y),
            element("text", shown_number(row.estimate, decimals), x=place(WIDTH), y=place(y + 4), text_anchor="end"),
        ]
        marks.append(element("g", *parts, class_=series_class(series[number] if series else number)))
    return _svg(label, bottom + _AXIS, x_axis(scale, top, bottom), *marks)


def histogram(groups: Sequence[tuple[str, Scores]], *, label: str) -> Html:
    """One histogram per group (name, values), below each other and on the same scales; NaN is left out."""
    known = [values[np.isfinite(values)] for _, values in groups]
    bins = bins_for(np.concatenate(known) if known else np.zeros(0))
    tallest = max((float(bins.shares(values)[1].max()) for values in known), default=0.0) or 1.0
    names = _RowNames.of([name for name, _ in groups], at_least="0,000 scored")
    scale = AxisScale(float(bins.edges[0]), float(bins.edges[-1]), names.indent, WIDTH - 10)
    step, height, top = 52.0 + names.above, 40.0, 4.0
    bottom = top + step * len(groups)
    strips = []
    for number, ((name, _), finite) in enumerate(zip(groups, known, strict=True)):
        floor = top + step * (number + 1) - 12
        size = element("text", f"{len(finite):,} scored", x="0", y=place(floor - 3), class_="small")
        parts = [
            element("title", f"{name}: {len(finite):,} scored"),
            names.text(name, floor - (30 if names.above else 16)),
            *([] if names.above else [size]),
            *_bars(finite, bins, scale, floor, height / tallest),
            _mean_mark(finite, scale, floor),
        ]
        strips.append(element("g", *parts, class_=series_class(number)))
    return _svg(label, bottom + _AXIS, x_axis(scale, top, bottom), *strips)


def box_plot(groups: Sequence[tuple[str, Scores]], *, label: str) -> Html:
    """One box per group (name, values): quartiles with the median, whiskers from the 5th to the 95th percentile.

    NaN is left out.
    """
    known = [(name, values[np.isfinite(values)]) for name, values in groups]
    places = {name: np.percentile(values, (5, 25, 50, 75, 95)) for name, values in known if len(values)}
    names = _RowNames.of([name for name, _ in groups])
    every = np.concatenate([*places.values(), np.zeros(0)])
    scale = AxisScale(*span(every), names.indent, WIDTH - 10)
    step, top = 24.0 + names.above, 4.0
    bottom = top + step * len(groups)
    marks = []
    for number, (name, values) in enumerate(known):
        y = top + step * (number + 1) - 12
        parts = [element("title", f"{name}: {counted(len(values), 'reply', 'replies')}"), names.text(name, y + 4)]
        parts += _box(*(scale(value) for value in places[name].tolist()), y=y) if name in places else []
        marks.append(element("g", *parts, class_=series_class(number)))
    return _svg(label, bottom + _AXIS, x_axis(scale, top, bottom), *marks)


def _box(low: float, first: float, median: float, third: float, high: float, *, y: float) -> list[Html]:
    return [
        element("line", x1=place(low), x2=place(high), y1=place(y), y2=place(y), class_="base"),
        element(
            "rect", x=place(first), y=place(y - 7), width=place(max(third - first, 0.6)), height="14", class_="bar"
        ),
        element("circle", cx=place(median), cy=place(y), r="3", class_="mean"),
    ]


@dataclass(frozen=True, slots=True)
class _RowNames:
    """The placement of row names: left of the marks, or above them where one is too long."""

    indent: float
    """Where the marks begin."""
    above: float
    """Height of a name above its marks; 0: names are next to the marks."""
    room: float

    @classmethod
    def of(cls, names: Sequence[str], at_least: str = "") -> _RowNames:
        if any(label_width(name) > _NAME_ROOM for name in names):
            return cls(10.0, 14.0, WIDTH)
        room = label_room([*names, at_least], _NAME_ROOM)
        return cls(room + 14, 0.0, room)

    def text(self, name: str, baseline: float) -> Html:
        y = baseline - self.above
        return element("text", fitted(name, self.room), x="0", y=place(y), class_="name")


def scatter(
    x: ArrayLike,
    y: ArrayLike,
    *,
    label: str,
    x_label: str = "",
    y_label: str = "",
    jitter: tuple[float, float] = (0.0, 0.0),
    seed: int = 0,
) -> Html:
    """One dot per pair of finite values, with normal noise of the given standard deviations (x, y)."""
    pairs = np.stack([np.asarray(x, np.float64), np.asarray(y, np.float64)], axis=1)
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    pairs = pairs + np.random.default_rng(seed).normal(size=pairs.shape) * jitter
    left, top, height = 44.0, 24.0, 230.0
    across = AxisScale(*span(pairs[:, 0]), left, WIDTH - 8)
    up = AxisScale(*span(pairs[:, 1]), top + height, top)
    dots = [element("circle", cx=place(across(a)), cy=place(up(b)), r="3", class_="point") for a, b in pairs.tolist()]
    return _svg(
        label,
        top + height + _AXIS + _AXIS_LABEL,
        _y_label(y_label),
        x_axis(across, top, top + height, x_label),
        y_axis(up, left, WIDTH - 8),
        element("g", *dots, class_=series_class(0)),
    )


def line_plot(lines: Sequence[PlotCurve], *, label: str, x_label: str = "", y_label: str = "") -> Html:
    """Lines through their points, each labelled at its end, with bands where bounds are given."""
    bounds = [number for line in lines for number in (*line.y, *line.low, *line.high)]
    room = label_room([line.name for line in lines], 110.0)
    left, top, height = 44.0, 24.0, 230.0
    across = AxisScale(*span(np.array([a for line in lines for a in line.x], np.float64)), left, WIDTH - room - 12)
    up = AxisScale(*span(np.array(bounds, np.float64)), top + height, top)
    ends = _apart([up(_last_finite(line.y)) for line in lines], 13.0)
    drawn = [
        element(
            "g",
            _band(line, across, up),
            *_points(line, across, up),
            element("text", fitted(line.name, room), x=place(across.stop + 8), y=place(end + 4), class_="name"),
            class_=series_class(number),
        )
        for number, (line, end) in enumerate(zip(lines, ends, strict=True))
    ]
    return _svg(
        label,
        top + height + _AXIS + _AXIS_LABEL,
        _y_label(y_label),
        x_axis(across, top, top + height, x_label),
        y_axis(up, left, across.stop),
        *drawn,
    )


def _svg(label: str, height: float, *parts: Html) -> Html:
    view = f"0 0 {place(WIDTH)} {place(height)}"
    return element("svg", *parts, viewBox=view, role="img", aria_label=label, class_="rejoinder-figure")


def _interval_marks(row: Interval, scale: AxisScale, y: float) -> list[Html]:
    if math.isnan(row.estimate):
        return [element("text", "no scores", x=place(scale.start), y=place(y + 4), class_="small")]
    marks = []
    if not (math.isnan(row.low) or math.isnan(row.high)):
        ends = {"x1": place(scale(row.low)), "x2": place(scale(row.high))}
        marks.append(element("line", **ends, y1=place(y), y2=place(y), class_="interval"))
    marks.append(element("circle", cx=place(scale(row.estimate)), cy=place(y), r="4.5", class_="dot"))
    return marks


def _bars(values: Scores, bins: Bins, scale: AxisScale, floor: float, per_share: float) -> list[Html]:
    base = element("line", x1=place(scale.start), x2=place(scale.stop), y1=place(floor), y2=place(floor), class_="base")
    counts, shares = bins.shares(values)
    labels = decimals_for(bins.edges)
    bars = []
    for count, share, low, high in zip(counts, shares, bins.edges, bins.edges[1:], strict=False):
        if not count:
            continue
        x, height = scale(low), share * per_share
        title = (
            f"{shown_number(low, labels)} to {shown_number(high, labels)}: {counted(int(count), 'reply', 'replies')}"
        )
        size = {"x": place(x + 0.5), "y": place(floor - height), "width": place(max(scale(high) - x - 1, 0.6))}
        bars.append(element("rect", element("title", title), **size, height=place(height), rx="1", class_="bar"))
    return [base, *bars]


def _mean_mark(values: Scores, scale: AxisScale, floor: float) -> Html:
    if not len(values):
        return element("text", "no scores", x=place(scale.start + 6), y=place(floor - 8), class_="small")
    x = scale(min(max(float(values.mean()), scale.low), scale.high))
    path = f"M{place(x)} {place(floor + 1)}l4 6h-8z"
    return element("path", element("title", f"mean {shown_number(float(values.mean()))}"), d=path, class_="mean")


def _points(line: PlotCurve, across: AxisScale, up: AxisScale) -> list[Html]:
    places = [(place(across(a)), place(up(b))) for a, b in zip(line.x, line.y, strict=True) if math.isfinite(b)]
    path = "M" + "L".join(f"{x} {y}" for x, y in places) if places else ""
    return [
        element("path", d=path, class_="line"),
        *(element("circle", cx=x, cy=y, r="3", class_="dot") for x, y in places),
    ]


def _band(line: PlotCurve, across: AxisScale, up: AxisScale) -> Html:
    if not line.low:
        return Html("")
    pairs = zip(line.x, line.low, line.high, strict=True)
    known = [(across(a), up(low), up(high)) for a, low, high in pairs if math.isfinite(low) and math.isfinite(high)]
    corners = [(x, high) for x, _, high in known] + [(x, low) for x, low, _ in reversed(known)]
    return element("polygon", points=" ".join(f"{place(x)},{place(y)}" for x, y in corners), class_="band")


def _last_finite(values: Sequence[float]) -> float:
    return next((value for value in reversed(values) if math.isfinite(value)), 0.0)


def _apart(heights: Sequence[float], gap: float) -> list[float]:
    """The heights, moved down where two labels would overlap."""
    moved = list(heights)
    taken = -math.inf
    for number in sorted(range(len(moved)), key=lambda index: heights[index]):
        moved[number] = taken = max(moved[number], taken + gap)
    return moved


def _y_label(text: str) -> Html:
    return element("text", text, x="0", y="10", class_="label") if text else joined([])


# Figures outside a report: in a notebook, or as a file. They have the report's colours, in its light theme, inside.


COLOURS = ("#1558b8", "#d9690a", "#009270", "#cf4fa6", "#6b4300", "#30353d")
"""The series in the report's light theme."""


def _rules(series: int, marks: Sequence[str]) -> str:
    return ", ".join(f".rejoinder-figure .series-{series} .{mark}" for mark in marks)


# Every rule is limited to our figures: in a notebook, a style sheet applies to the whole page.
STYLE = """\
.rejoinder-figure { font: 12px sans-serif; background: #fff; } .rejoinder-figure text { fill: #5a626d; }
.rejoinder-figure .name, .rejoinder-figure .label, .rejoinder-figure .title { fill: #1c2026; }
.rejoinder-figure .title { font-size: 13px; font-weight: bold; } .rejoinder-figure .small { font-size: 10px; }
.rejoinder-figure .grid { stroke: #e2e2dd; } .rejoinder-figure .zero, .rejoinder-figure .base { stroke: #aab0b8; }
.rejoinder-figure .line { fill: none; stroke-width: 2; }
.rejoinder-figure .interval { stroke-width: 3; stroke-linecap: round; opacity: .55; }
.rejoinder-figure .dot { stroke: #fff; stroke-width: 1.5; } .rejoinder-figure .bar { opacity: .8; }
.rejoinder-figure .band { opacity: .15; } .rejoinder-figure .point { opacity: .3; }
.rejoinder-figure .mean { fill: #1c2026; }
""" + "".join(
    f"{_rules(n, ('line', 'interval'))} {{ stroke: {colour}; }} "
    f"{_rules(n, ('dot', 'band', 'point', 'bar'))} {{ fill: {colour}; }}\n"
    for n, colour in enumerate(COLOURS)
)
_WIDTH, _HEIGHT = 380, 310
"""Of one panel, with its margin."""
_TITLE, _MARGIN = 24.0, 8.0
_LONGEST_TITLE = 52
_VIEW = re.compile(r'viewBox="0 0 [\d.]+ ([\d.]+)"')


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that a notebook shows; `svg` is its text, `save` writes it to a file."""

    title: str
    svg: str

    @classmethod
    def of(cls, title: str, panels: Sequence[Panel], *, seed: int = 0) -> Figure:
        """The panels next to each other, at most two in a row, each below its title."""
        columns = min(2, len(panels))
        boxes, top = [], 0.0
        for start in range(0, len(panels), columns):
            row = [(panel.title, drawn_panel(panel, seed=seed)) for panel in panels[start : start + columns]]
            height = max(_height(svg) for _, svg in row)
            boxes += [_titled(name, svg, place * _WIDTH, top) for place, (name, svg) in enumerate(row)]
            top += _TITLE + height + _MARGIN
        return cls(title, _whole(columns * _WIDTH, top, boxes, title))

    def save(self, path: str | Path) -> None:
        """Write the figure as an SVG file."""
        write_text(Path(path), self.svg)

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return one_line(f"{self.title}: a figure. A notebook shows it; save('figure.svg') writes it to a file.")


def standalone(svg: str) -> str:
    """A figure of the report as a file."""
    opened = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return opened.replace(">", f"><style>{STYLE}</style>", 1) + "\n"


def panels(rows: Sequence[Sequence[str]]) -> str:
    """Several figures of the report in one file, row by row."""
    placed = [
        svg.replace("<svg ", f'<svg x="{column * _WIDTH}" y="{row * _HEIGHT}" width="360" height="300" ', 1)
        for row, figures in enumerate(rows)
        for column, svg in enumerate(figures)
    ]
    return _whole(max(map(len, rows)) * _WIDTH, len(rows) * _HEIGHT, placed)


def _titled(title: str, svg: str, left: float, top: float) -> str:
    shown = title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"
    place = f'<svg x="{left + _MARGIN:g}" y="{top + _TITLE:g}" width="{WIDTH:g}" height="{_height(svg):g}" '
    heading = f'<text class="title" x="{left + _MARGIN:g}" y="{top + 16:g}">{escaped(shown)}</text>'
    return heading + svg.replace("<svg ", place, 1)


def _whole(width: float, height: float, parts: Sequence[str], label: str = "") -> str:
    named = f' role="img" aria-label="{escaped(label)}"' if label else ""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{math.ceil(height)}"'
    opened = f'<svg xmlns="http://www.w3.org/2000/svg" class="rejoinder-figure" {size}{named}>'
    background = '<rect width="100%" height="100%" fill="#fff"/>'
    return f"{opened}<style>{STYLE}</style>{background}{''.join(parts)}</svg>\n"


def _height(svg: str) -> float:
    found = _VIEW.search(svg)
    if found is None:
        raise ValueError("not a figure: it has no viewBox")
    return float(found[1])

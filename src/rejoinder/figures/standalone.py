"""Figures outside a report: in a notebook, or as a file. They have the report's colours, in its light theme, inside."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rejoinder.figures.markup import escaped
from rejoinder.figures.panels import Panel
from rejoinder.figures.plots import WIDTH, drawn
from rejoinder.output.writing import write_text
from rejoinder.text.terminal import one_line

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
            row = [(panel.title, drawn(panel, seed=seed)) for panel in panels[start : start + columns]]
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

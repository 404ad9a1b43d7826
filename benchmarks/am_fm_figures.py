"""Figures of the AM-FM study as SVG files that stand by themselves."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rejoinder.meta.panels import Curve
from rejoinder.report.figures import line_plot, scatter
from rejoinder.stats.intervals import Interval
from rejoinder.types import Scores

STYLE = """\
svg { font: 12px sans-serif; background: #fff; } text { fill: #333; } .grid { stroke: #ddd; }
.line { fill: none; stroke-width: 2; } .band { opacity: .15; } .point { opacity: .25; }
""" + "".join(
    f".series-{n} .line {{ stroke: {colour}; }} "
    f".series-{n} .dot, .series-{n} .band, .series-{n} .point {{ fill: {colour}; }}\n"
    for n, colour in enumerate(("#1f6fb4", "#d1672a", "#2f8f4e", "#8a4fb0", "#a33b4b", "#6b6b2b"))
)
_SHOWN = 300
Pairs = tuple[Scores, Scores]


def write_dimensions(path: Path, dimensions: Sequence[int], all_systems: list[Interval], kept: list[Interval]) -> None:
    """Pearson of AM over log10 of the dimensions."""
    x = [math.log10(value) for value in dimensions]
    lines = [_line("all systems", x, all_systems), _line("without S_20", x, kept)]
    label = "Pearson of AM with people by dimension"
    _write(path, line_plot(lines, label=label, x_label="log10 of dimensions", y_label="Pearson"))


def write_lambdas(path: Path, lambdas: Sequence[float], lines: Mapping[str, list[Interval]]) -> None:
    """Pearson of AM-FM over lambda, a line a training text; an asterisk where S_20 is left out."""
    short = {name: name.split(",")[0] + "*" * name.endswith("without S_20") for name in lines}
    drawn = [_line(short[name], lambdas, intervals, band=False) for name, intervals in lines.items()]
    label = "Pearson of AM-FM with people by lambda"
    _write(path, line_plot(drawn, label=label, x_label="lambda", y_label="Pearson"))


def write_sentences(path: Path, points: Mapping[str, tuple[Pairs, Pairs, Pairs]]) -> None:
    """A row a system: AM-FM against people, the embedding average against people, people against people."""
    names = ("AM-FM", "embedding average", "five raters")
    panels = []
    for row, (system, columns) in enumerate(points.items()):
        for column, ((x, y), name) in enumerate(zip(columns, names, strict=True)):
            chosen = np.random.default_rng(0).permutation(len(x))[:_SHOWN]
            other = "people" if column < 2 else "the other five"
            svg = scatter(x[chosen], y[chosen], label=f"{system}: {name}", x_label=name, y_label=f"{system}: {other}")
            panels.append(_placed(str(svg), column * 380, row * 310))
    body = "".join(panels)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {3 * 380} {len(points) * 310}">'
        f"<style>{STYLE}</style>{body}</svg>\n",
        encoding="utf-8",
    )


def _line(name: str, x: Sequence[float], intervals: list[Interval], *, band: bool = True) -> Curve:
    low, high = ([row.low for row in intervals], [row.high for row in intervals]) if band else ((), ())
    return Curve(name, x, [row.estimate for row in intervals], low, high)


def _write(path: Path, svg: object) -> None:
    text = str(svg)
    opened = re.sub(r"^<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', text)
    path.write_text(opened.replace(">", f"><style>{STYLE}</style>", 1) + "\n", encoding="utf-8")


def _placed(svg: str, x: int, y: int) -> str:
    return svg.replace("<svg ", f'<svg x="{x}" y="{y}" width="360" height="300" ', 1)

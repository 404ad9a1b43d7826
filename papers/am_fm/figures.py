"""The figures of the page on AM-FM."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rejoinder.show.figures import PlotCurve
from rejoinder.show.plots import line_plot, panels, scatter, standalone
from rejoinder.stats.intervals import Interval
from rejoinder.types import Scores

_SHOWN = 300
"""Replies of a scatter plot."""
Pairs = tuple[Scores, Scores]


def dimension_plot(dimensions: Sequence[int], all_systems: Sequence[Interval], kept: Sequence[Interval]) -> str:
    """Pearson of AM over the logarithm of the number of dimensions."""
    x = [math.log10(value) for value in dimensions]
    lines = [_line("all systems", x, all_systems), _line("without S_20", x, kept)]
    label = "Pearson of AM with people by dimension"
    return standalone(str(line_plot(lines, label=label, x_label="log10 of dimensions", y_label="Pearson")))


def lambda_plot(lambdas: Sequence[float], lines: Mapping[str, Sequence[Interval]]) -> str:
    """Pearson of AM-FM over lambda, one line per training text; an asterisk where S_20 is left out."""
    short = {name: name.split(",")[0] + "*" * name.endswith("without S_20") for name in lines}
    drawn = [_line(short[name], lambdas, intervals, band=False) for name, intervals in lines.items()]
    label = "Pearson of AM-FM with people by lambda"
    return standalone(str(line_plot(drawn, label=label, x_label="lambda", y_label="Pearson")))


def reply_plots(points: Mapping[str, tuple[Pairs, Pairs, Pairs]]) -> str:
    """One row per system: AM-FM against people, the embedding average against people, people against people."""
    names = ("AM-FM", "embedding average", "five raters")
    rows = []
    for system, columns in points.items():
        row = []
        for (x, y), name in zip(columns, names, strict=True):
            chosen = np.random.default_rng(0).permutation(len(x))[:_SHOWN]
            other = "the other five" if name == names[-1] else "people"
            svg = scatter(x[chosen], y[chosen], label=f"{system}: {name}", x_label=name, y_label=f"{system}: {other}")
            row.append(str(svg))
        rows.append(row)
    return panels(rows)


def _line(name: str, x: Sequence[float], intervals: Sequence[Interval], *, band: bool = True) -> PlotCurve:
    low, high = ([row.low for row in intervals], [row.high for row in intervals]) if band else ((), ())
    return PlotCurve(name, x, [row.estimate for row in intervals], low, high)

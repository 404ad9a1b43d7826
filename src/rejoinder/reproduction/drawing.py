"""Figures as standalone SVG files: the report's figures with their colours inside."""

from __future__ import annotations

from collections.abc import Sequence

STYLE = """\
svg { font: 12px sans-serif; background: #fff; } text { fill: #333; } .grid { stroke: #ddd; }
.line { fill: none; stroke-width: 2; } .band { opacity: .15; } .point { opacity: .25; }
.base { stroke: #888; } .bar { opacity: .7; } .mean { fill: #222; } .small { font-size: 10px; }
""" + "".join(
    f".series-{n} .line {{ stroke: {colour}; }} "
    f".series-{n} .dot, .series-{n} .band, .series-{n} .point, .series-{n} .bar {{ fill: {colour}; }}\n"
    for n, colour in enumerate(("#1f6fb4", "#d1672a", "#2f8f4e", "#8a4fb0", "#a33b4b", "#6b6b2b"))
)
_WIDTH, _HEIGHT = 380, 310
"""Of one panel, with its margin."""


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
    size = f"0 0 {max(map(len, rows)) * _WIDTH} {len(rows) * _HEIGHT}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}"><style>{STYLE}</style>{"".join(placed)}</svg>\n'

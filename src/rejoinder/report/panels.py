"""Figures in cards."""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.figures.markup import Html, element, own_text
from rejoinder.figures.panels import Panel
from rejoinder.figures.plots import drawn


def panel_grid(panels: Sequence[Panel], *, seed: int = 0, beside: Html | None = None) -> Html:
    """The panels as cards in a grid, with the content of `beside` as the first card."""
    first = [element("div", beside)] if beside else []
    cards = [figure_card(panel.title, drawn(panel, seed=seed)) for panel in panels]
    return element("div", *first, *cards, class_="panels")


def figure_card(title: str, figure: Html, caption: str = "") -> Html:
    """A figure below its title, with an optional caption."""
    below = [element("figcaption", caption)] if caption else []
    return element("article", element("h3", own_text(title)), element("figure", figure, *below), class_="panel")

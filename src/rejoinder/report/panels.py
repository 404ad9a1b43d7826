"""The panels of a study (see `meta.panels`) drawn as figures."""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.meta.panels import HistogramPanel, IntervalPanel, LinePanel, Panel, ScatterPanel
from rejoinder.report.figures import histogram, interval_plot, line_plot, scatter
from rejoinder.report.markup import Html, element, own_text


def drawn(panel: Panel, *, seed: int = 0) -> Html:
    """The panel's figure; `seed` is for the noise of scatter plots."""
    if isinstance(panel, IntervalPanel):
        return interval_plot(panel.rows, label=panel.title)
    if isinstance(panel, HistogramPanel):
        return histogram(panel.groups, label=panel.title)
    if isinstance(panel, LinePanel):
        return line_plot(panel.curves, label=panel.title, x_label=panel.x_label, y_label=panel.y_label)
    return _scatter(panel, seed)


def panel_grid(panels: Sequence[Panel], *, seed: int = 0, beside: Html | None = None) -> Html:
    """The panels as cards in a grid, with the content of `beside` as the first card."""
    first = [element("div", beside)] if beside else []
    cards = [figure_card(panel.title, drawn(panel, seed=seed)) for panel in panels]
    return element("div", *first, *cards, class_="panels")


def figure_card(title: str, figure: Html, caption: str = "") -> Html:
    """A figure below its title, with an optional caption."""
    below = [element("figcaption", caption)] if caption else []
    return element("article", element("h3", own_text(title)), element("figure", figure, *below), class_="panel")


def _scatter(panel: ScatterPanel, seed: int) -> Html:
    return scatter(
        panel.x,
        panel.y,
        label=panel.title,
        x_label=panel.x_label,
        y_label=panel.y_label,
        jitter=(panel.x_jitter, 0.0),
        seed=seed,
    )

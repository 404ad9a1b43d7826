"""Figures are well-formed SVG whose marks lie where the numbers say and whose texts are escaped."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from rejoinder.show.figures import AxisScale, PlotCurve, bins_for, fitted, span, tick_labels, ticks
from rejoinder.show.plots import WIDTH, histogram, interval_plot, line_plot, scatter
from rejoinder.stats.intervals import Interval

NAN = float("nan")
NASTY = '"><script>&'


def parsed(markup: str) -> ElementTree.Element:
    return ElementTree.fromstring(markup)


def of_class(markup: str, name: str) -> list[ElementTree.Element]:
    return [node for node in parsed(markup).iter() if node.get("class") == name]


def test_every_figure_escapes_names_and_labels() -> None:
    values = np.array([0.1, 0.2])
    figures = [
        interval_plot([(NASTY, Interval(0.5, 0.4, 0.6))], label=NASTY),
        histogram([(NASTY, values)], label=NASTY),
        scatter(values, values, label=NASTY, x_label=NASTY, y_label=NASTY),
        line_plot([PlotCurve(NASTY, [1, 2], [0.1, 0.2])], label=NASTY, x_label=NASTY, y_label=NASTY),
    ]
    for figure in figures:
        root = parsed(figure)
        assert root.get("aria-label") == NASTY
        assert {node.tag for node in root.iter()} <= {
            "svg",
            "g",
            "title",
            "text",
            "line",
            "circle",
            "rect",
            "path",
            "polygon",
        }
        assert "<script" not in figure
    assert all(NASTY in "".join(parsed(figure).itertext()) for figure in figures)


def test_interval_plot_puts_the_dot_between_its_bounds() -> None:
    figure = interval_plot([("a", Interval(0.5, 0.4, 0.7)), ("b", Interval(0.1, 0.0, 0.2))], label="l")
    dots, lines = of_class(figure, "dot"), of_class(figure, "interval")
    places = [
        (float(line.get("x1", "")), float(dot.get("cx", "")), float(line.get("x2", "")))
        for dot, line in zip(dots, lines, strict=True)
    ]
    assert all(0 <= low < middle < high <= WIDTH for low, middle, high in places)
    assert places[1][2] < places[0][0]
    low, middle, high = places[0]
    assert (middle - low) / (high - low) == pytest.approx(1 / 3, abs=0.01)


def test_interval_plot_without_bounds_or_scores_says_so() -> None:
    figure = interval_plot([("one", Interval(0.5, NAN, NAN)), ("none", Interval(NAN, NAN, NAN))], label="l")
    assert len(of_class(figure, "dot")) == 1
    assert not of_class(figure, "interval")
    assert "no scores" in figure
    assert "nan" not in figure.lower()


def test_histogram_bars_are_shares_on_one_scale() -> None:
    figure = histogram([("few", np.array([0.0, 1.0, NAN])), ("many", np.repeat([0.0, 1.0], [30, 10]))], label="l")
    heights = [float(bar.get("height", "")) for bar in of_class(figure, "bar")]
    assert heights == pytest.approx([40 * 0.5 / 0.75] * 2 + [40, 40 * 0.25 / 0.75], abs=0.1)
    assert "2 scored" in figure


@pytest.mark.parametrize("values", [[], [NAN], [3.0], [0.0, 0.0], [-1e9, 1e9], [1e-12, 2e-12]])
def test_figures_bear_odd_columns(values: list[float]) -> None:
    column = np.array(values, np.float64)
    for figure in (histogram([("a", column)], label="l"), scatter(column, column, label="l")):
        parsed(figure)
        assert "nan" not in figure.lower()


def test_scatter_jitters_the_asked_axis_with_its_seed() -> None:
    x, y = np.repeat([1.0, 2.0], 20), np.arange(40.0)
    plain = scatter(x, y, label="l")
    moved = scatter(x, y, label="l", jitter=(0.1, 0.0), seed=3)
    assert moved == scatter(x, y, label="l", jitter=(0.1, 0.0), seed=3)
    assert len({dot.get("cx") for dot in of_class(plain, "point")}) == 2
    assert len({dot.get("cx") for dot in of_class(moved, "point")}) > 30
    assert [dot.get("cy") for dot in of_class(moved, "point")] == [dot.get("cy") for dot in of_class(plain, "point")]


def test_line_plot_keeps_its_labels_apart() -> None:
    lines = [PlotCurve(name, [1, 2], [0.5, 0.5], [0.4, NAN], [0.6, NAN]) for name in "abc"]
    names = of_class(line_plot(lines, label="l"), "name")
    heights = sorted(float(name.get("y", "")) for name in names)
    assert all(np.diff(heights) >= 12)


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.0, 1.0) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert tick_labels(ticks(0.0, 1.0)) == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert tick_labels(ticks(-300.0, 5200.0)) == ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]
    assert tick_labels(ticks(-0.011, 0.011))[2] == "0.000"


def test_span_of_one_value_has_room() -> None:
    low, high = span(np.array([5.0, 5.0]))
    assert low < 5 < high
    assert AxisScale(low, high, 0, 100)(5.0) == pytest.approx(50)


def test_long_names_are_cut_in_the_middle() -> None:
    assert fitted("short", 100) == "short"
    assert fitted("model-with-a-long-name-v1", 90) == "model-…ame-v1"
    assert len(fitted("x" * 5000, 90)) == 13
    assert len(fitted("語" * 50, 90)) < 8


def test_names_too_long_to_stand_beside_the_marks_stand_above_them() -> None:
    long = "a-system-with-quite-a-long-name-v1"
    beside, above = (interval_plot([(name, Interval(0.5, 0.4, 0.6))], label="l") for name in ("short", long))
    assert long in [name.text for name in of_class(above, "name")]
    for figure, distance in ((beside, -4.0), (above, 10.0)):
        name, dot = of_class(figure, "name")[0], of_class(figure, "dot")[0]
        assert float(dot.get("cy", "")) - float(name.get("y", "")) == distance


def test_bins_of_whole_numbers_are_centred_on_them() -> None:
    assert bins_for(np.array([2.0, 3.0, 5.0])).edges.tolist() == [1.5, 2.5, 3.5, 4.5, 5.5]


@pytest.mark.parametrize("values", [[-2.5, -2.5], [0.25], [7.5, 7.5 + 1e-15], [-1e-300, 0.0]])
def test_values_that_are_almost_equal_share_a_bin(values: list[float]) -> None:
    counts, _ = bins_for(np.array(values)).shares(np.array(values))
    assert counts.tolist() == [len(values)]


def test_far_values_are_counted_in_the_last_bin() -> None:
    values = np.concatenate([np.tile(np.arange(10.0), 100), [5000.0]])
    bins = bins_for(values)
    assert bins.beyond == 1
    assert bins.edges[-1] < 20
    assert bins.shares(values)[0].sum() == len(values)


def test_values_that_differ_by_rounding_only_have_an_axis() -> None:
    # A correlation of 1 may be 0.9999999999999998 in one resample and 0.9999999999999997 in another.
    row = ("length", Interval(0.9999999999999998, 0.9999999999999997, 0.9999999999999999))
    assert "length" in interval_plot([row], label="Pearson")
    assert len(ticks(*span(np.array([1.0, 1 - 2e-16])))) > 1
    low, high = span(np.array([1e-12, 3e-12]))  # small, but not equal
    assert high - low < 1e-11

"""Figures outside a report: the same drawing, with its colours inside."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from rejoinder.cli.demo_text import examples_path
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.show.figures import HistogramPanel, IntervalPanel, LinePanel, Panel, PlotCurve, ScatterPanel
from rejoinder.show.plots import COLOURS, STYLE, Figure, drawn_panel
from rejoinder.stats.intervals import Interval
from scored_replies import render_report

PANELS: tuple[Panel, ...] = (
    IntervalPanel("Means <b>", (("good & bad", Interval(0.5, 0.4, 0.6)), ("other", Interval(-0.2, -0.3, 0.1)))),
    HistogramPanel("Scores", (("good", np.array([0.1, 0.2, np.nan])),)),
    ScatterPanel("Dots", np.array([1.0, 2.0]), np.array([3.0, 4.0]), "people", "metric"),
    LinePanel("Curves", (PlotCurve("one", (1.0, 2.0), (0.5, 0.4)),), "contexts", "difference"),
)


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_panels_are_whole_xml_with_their_titles() -> None:
    svg = Figure.of("All", PANELS).svg
    assert {panel.title for panel in PANELS} <= set(texts(svg))
    assert "good & bad" in texts(svg)


def test_the_colours_are_those_of_the_light_report() -> None:
    page = (files("rejoinder.show") / "page.css").read_text(encoding="utf-8")
    assert tuple(re.findall(r"--series-\d: light-dark\((#\w+),", page)) == COLOURS


def test_no_rule_reaches_the_notebook_around_the_figure() -> None:
    selectors = [part for rule in re.findall(r"([^{}]+)\{", STYLE) for part in rule.split(",")]
    assert all(selector.strip().startswith(".rejoinder-figure") for selector in selectors)


def test_a_figure_is_saved_and_says_what_it_is(tmp_path: Path) -> None:
    figure = Figure.of("Means\x1b[31m", PANELS[:1])
    figure.save(tmp_path / "means.svg")
    assert (tmp_path / "means.svg").read_text(encoding="utf-8") == figure.svg == figure._repr_svg_()
    assert "\x1b" not in str(figure)


@pytest.fixture(scope="module")
def comparison() -> rejoinder.Comparison:
    return rejoinder.compare(examples_path(), metrics=["meteor", "length"])


@pytest.fixture(scope="module")
def judged() -> rejoinder.Trust:
    return rejoinder.trust(examples_path(), metrics=["meteor", "length"], probes=["scatter"])


def test_a_notebook_shows_the_figures_of_the_report(comparison: rejoinder.Comparison, judged: rejoinder.Trust) -> None:
    report = render_report(comparison.table, None, comparison=comparison)
    for figure in (comparison.plot(), comparison.table.plot("length", kind="histogram")):
        marks = re.findall(r"<(?:circle|rect class|path)[^>]*>", figure.svg)
        assert marks
        assert all(mark in report for mark in marks)
    means = re.findall(r"<circle[^>]*>", judged.plot().svg)
    assert len(means) == 2
    assert all(mark in judged.page() for mark in means)


def test_differences_have_one_row_per_pair(comparison: rejoinder.Comparison) -> None:
    found = texts(comparison.plot("length", kind="differences").svg)
    assert sum(" minus " in text for text in found) == 6
    verdict = next(verdict for verdict in comparison.verdicts if verdict.metric == "length")
    assert f"{verdict.b} minus {verdict.a}" in found


def test_scores_against_ratings(judged: rejoinder.Trust) -> None:
    assert judged.plot("meteor").svg.count("<circle") == len(judged.judged)
    study = judged.dimensions[0].probes[0]
    assert study.plot().svg.count("<circle") == 2 * len(judged.judged)


def test_the_forest_plot_is_of_the_best_metric_unless_one_is_named(tmp_path: Path) -> None:
    records = examples_path().read_text(encoding="utf-8").splitlines(keepends=True)
    sets = [tmp_path / "first.jsonl", tmp_path / "second.jsonl"]
    sets[0].write_text("".join(records[:128]), encoding="utf-8")
    sets[1].write_text("".join(records[128:]), encoding="utf-8")
    analysis = rejoinder.trust(*sets, metrics=["meteor", "length"], resamples=100)
    assert analysis.plot().svg == analysis.plot(analysis.rows[0].metric).svg
    assert "mean of all sets" in texts(analysis.plot("length").svg)
    with pytest.raises(UnknownNameError):
        analysis.plot("bleu")


def test_plans_and_preferences_are_drawn() -> None:
    assert "contexts" in texts(rejoinder.plan(difference=0.25, sd=1.0).plot().svg)
    choices = [{"context": [str(n)], "a": "new", "b": "old", "winner": "new" if n % 3 else "old"} for n in range(30)]
    assert {"new", "old"} <= set(texts(rejoinder.prefer(choices, resamples=100).plot().svg))


def test_wrong_names_are_refused(comparison: rejoinder.Comparison, judged: rejoinder.Trust) -> None:
    with pytest.raises(UnknownNameError, match="meteor"):
        comparison.plot("meteer")
    with pytest.raises(UnknownNameError, match="means"):
        comparison.plot(kind="mean")
    with pytest.raises(UnknownNameError, match="histogram"):
        comparison.table.plot(kind="histograms")
    with pytest.raises(UnknownNameError):
        judged.plot("bleu")
    with pytest.raises(UnknownNameError, match="illustrative"):
        judged.plot(dimension="quality")
    with pytest.raises(CallError, match="no figure"):
        type(judged.dimensions[0].probes[0])("empty", "Empty", "us", (), ()).plot()


def test_a_drawn_panel_has_one_mark_per_value() -> None:
    assert drawn_panel(PANELS[0]).count("<circle") == 2

"""trust.html: every part of the report is in it, every name is text, and a browser has nothing to complain of."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from functools import cache
from html import escape, unescape
from typing import Any

import numpy as np
import pytest

from rejoinder.metrics.base import Metric
from rejoinder.registry import load
from rejoinder.show.document import Figures
from rejoinder.show.figures import HistogramPanel, IntervalPanel, LinePanel, Panel, PlotCurve, ScatterPanel
from rejoinder.show.html import blocks_html
from rejoinder.show.plots import drawn_panel
from rejoinder.stats.intervals import Interval
from rejoinder.trusting.probing import PROBES, TableResult
from rejoinder.trusting.trust import Trust, trust
from scored_replies import HOSTILE

WORDS = "cat dog tree house river cloud stone bread chair lamp road field".split()


def records(*dimensions: str, raters: int = 3) -> list[dict[str, Any]]:
    """Four systems answer 15 contexts; the better ones share more words with the reference."""
    rng = np.random.default_rng(0)
    found = []
    for context in range(15):
        reference = [str(word) for word in rng.choice(WORDS, 8)]
        for system in range(4):
            kept = rng.random(8) < (0.1, 0.3, 0.6, 1.0)[system]
            others = rng.choice(WORDS, 8)
            reply = [old if keep else str(new) for keep, old, new in zip(kept, reference, others, strict=True)]
            reply += [f"more{place}" for place in range(int(rng.integers(0, 12)))] if system < 3 else []
            ratings = np.clip(np.round(1 + 4 * kept.mean() + rng.normal(0, 0.8, raters)), 1, 5).tolist()
            found.append(
                {
                    "id": f"id-{context}-{system}",
                    "context": [f"what of {context} ?"],
                    "response": " ".join(reply),
                    "references": [" ".join(reference)],
                    "system": f"system {system}",
                    "scores": dict.fromkeys(dimensions or ("overall",), ratings),
                }
            )
    return found


@cache
def report() -> Trust:
    return trust(records(), metrics=["bleu-2", "rouge-l", "length"], probes=tuple(PROBES), resamples=40)


def text_of(html: str) -> str:
    """The page's text, without tags."""
    body = html[html.index("<main") : html.index("</main>")]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))


def titles(html: str, level: int) -> list[str]:
    found = re.findall(rf"<h{level}[^>]*>(.*?)</h{level}>", html)
    return [re.sub(r"<[^>]*>", "", title) for title in found]


def test_every_part_is_a_section() -> None:
    made = report()
    html = made.page()
    studies = [study.title for study in made.dimensions[0].probes]
    assert len(studies) == len(PROBES)
    details = ["Metric against metric", "Agreement between raters", "Notes, signatures and terms"]
    top = "Spearman correlation with people over single replies"
    assert titles(html, 2) == [top, "Single replies", "Systems", "Within contexts", *studies, *details]
    assert html.count("<svg viewBox") == 1 + 1 + 3 + 3 + 2 + sum(
        len(study.panels) for study in made.dimensions[0].probes
    )


def test_numbers_are_those_of_the_report() -> None:
    made = report()
    (dimension,) = made.dimensions
    text = text_of(made.page())
    for row in dimension.utterance.rows:
        interval = row.measured["spearman"].interval
        assert f"{interval.estimate:.3f} [{interval.low:.2f}, {interval.high:.2f}]" in text
    assert f"halves of the raters correlate at {dimension.ceiling.split_half_spearman:.2f}" in text
    assert f"{dimension.ceiling.alpha:.3f}" in text
    for signature in made.signatures.values():
        assert signature in text
    for study in dimension.probes:
        for finding in study.sentences:
            assert escape(finding) in text
    assert "seed 0, 40 resamples" in text


def test_the_matrix_of_contests_is_antisymmetric_and_marks_the_significant() -> None:
    (dimension,) = report().dimensions
    html = report().page()
    table = html[html.index("Metric against metric</h2>") :].split("</table>")[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]
    plain = [[re.sub(r"<[^>]*>", "", cell) for cell in row] for row in rows]
    names = [row.metric for row in dimension.utterance.rows]
    assert plain[0] == ["metric", *names]
    values = {(row[0], column): cell for row in plain[1:] for column, cell in zip(names, row[1:], strict=True)}
    for contest in dimension.utterance.contests:
        assert values[contest.b, contest.a] == f"{contest.difference.estimate:+.2f}"
        assert values[contest.a, contest.b] == f"{-contest.difference.estimate:+.2f}"
    significant = sum(contest.significant for contest in dimension.utterance.contests)
    assert table.count('<strong class="best">') == 2 * significant > 0


def test_studies_can_stand_alone() -> None:
    study = TableResult("x", "How labels help", "a paper", ("labels", "Pearson"), ((10, 0.25),), ("More is <better>.",))
    page = study.page()
    assert "How labels help" in page
    assert "More is &lt;better&gt;." in page


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("Lowe et al. 2017, Table 14; Zhao et al. 2020, Figure 2", None),
        ("Sai et al. 2019", None),
        ("tested on 5 folds that share no context", "Tested on 5 folds that share no context."),
        ("human ratings on the scale of the data", "Human ratings on the scale of the data."),
        (
            "flips: Zheng et al. 2023; length: Dubois et al. 2024",
            "Flips: Zheng et al. 2023; length: Dubois et al. 2024.",
        ),
    ],
)
def test_only_papers_are_followed(source: str, sentence: str | None) -> None:
    page = TableResult("x", "How labels help", source, ("labels",), ((10,),)).page()
    assert re.findall(r'<p class="intro" dir="auto">(.*?)</p>', page) == [sentence or f"As in {source}."]


def test_the_same_report_gives_the_same_bytes() -> None:
    assert report().page() == report().page()


def test_several_dimensions_are_sections_of_their_own() -> None:
    made = trust(records("grammar", "content"), metrics=["length"], dimension="all", resamples=20)
    html = made.page()
    top = "Spearman correlation with people over single replies"
    assert titles(html, 2) == [top, "grammar", "content", "Notes, signatures and terms"]
    assert titles(html, 3).count("Single replies") == 2
    assert "Metric against metric" not in html  # there is but one


def test_one_rating_a_reply_has_no_ceiling() -> None:
    made = trust(records(raters=1), metrics=["length"], resamples=20)
    text = text_of(made.page())
    assert "the agreement between raters is unknown" in text
    assert "Krippendorff" not in text


def test_the_page_begins_with_the_words_of_the_terminal() -> None:
    made = report()
    html = made.page()
    top = re.sub(r"<[^>]*>", "", html[html.index('<p class="answer"') : html.index('<figure class="panel"')])
    assert unescape(top) == "".join(made.sentences)
    assert " ".join(str(made).split()).startswith(made.sentences[0])
    assert made.to_dict()["verdict"] == " ".join(made.sentences)


def test_every_kind_of_panel_is_drawn_with_its_names() -> None:
    values = np.array([1.0, 2.0, 3.0])
    panels: list[Panel] = [
        IntervalPanel("intervals", (("one", Interval(0.5, 0.4, 0.6)),)),
        HistogramPanel("histograms", (("two", values),)),
        ScatterPanel("dots", values, values, "across", "up", x_jitter=0.3),
        LinePanel("lines", (PlotCurve("three", (0, 1), (0.5, 0.4), (0.4, 0.3), (0.6, 0.5)),), "noise", "r"),
    ]
    grid = "".join(blocks_html([Figures(panels)]))
    for name in ("intervals", "one", "histograms", "two", "dots", "across", "up", "lines", "three", "noise"):
        assert f">{name}<" in grid
    assert grid.count('class="point"') == 3
    assert grid.count('class="band"') == 1
    assert drawn_panel(panels[2], seed=1) != drawn_panel(panels[2], seed=2)
    assert drawn_panel(panels[2], seed=1) == drawn_panel(panels[2], seed=1)


def hostile_report() -> Trust:
    """Hostile texts as names of data, metrics and dimensions, as ids, and as a note."""
    dimension = HOSTILE[0]
    rows = [{**row, "id": f"{HOSTILE[4]}{place}"} for place, row in enumerate(records(dimension))]
    specs = ("bleu-2", "rouge-l", "length", "bleu-1", "chrf")
    labels = (HOSTILE[0], HOSTILE[2], HOSTILE[5], HOSTILE[6], HOSTILE[7])
    metrics: Mapping[str, Metric] = {label: load(spec) for label, spec in zip(labels, specs, strict=True)}
    made = trust(rows, metrics=metrics, probes=tuple(PROBES), resamples=20)
    judged = dataclasses.replace(made.judged, name=HOSTILE[0].replace("/", " "))
    return dataclasses.replace(made, judged=judged, notes=(HOSTILE[4],))


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_names_are_text_and_nothing_is_amiss(open_report: Callable[..., Any], scheme: str) -> None:
    report = hostile_report().page()
    page = open_report(report, color_scheme=scheme, viewport={"width": 1000, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, iframe, main script, main svg[onload]").count() == 0
    shown = page.locator("main").inner_text()
    for text in (HOSTILE[0], HOSTILE[2], HOSTILE[5], HOSTILE[7]):
        assert text in shown
    assert HOSTILE[4] in page.locator("header ul.notes").inner_text()
    assert HOSTILE[0] in page.locator("header .verdict").inner_text()
    for width in (320, 1000):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width

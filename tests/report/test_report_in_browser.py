"""The report in a real browser: it fetches nothing, runs nothing of the data's, and its table can be used."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rejoinder.data.contexts import Grouping
from rejoinder.scoring.replies_page import NEEDS_SCRIPT
from rejoinder.scoring.table import ScoreTable, Slices
from rejoinder.types import Example
from scored_replies import HOSTILE, examples_for, hostile_table, random_table, render_report

pytestmark = pytest.mark.browser

Open = Callable[..., Any]


@pytest.fixture
def page(open_report: Open) -> Any:
    table = random_table(60)
    return unfolded(open_report(render_report(table, examples_for(table))))


def unfolded(page: Any) -> Any:
    """The page with all that was folded away."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    return page


def column(page: Any, place: int) -> list[str]:
    inside = " > :last-child" if place == 3 else ""  # the reply, without the turn before it
    texts: list[str] = page.locator(f"#browser tbody tr > td:nth-child({place}){inside}").all_inner_texts()
    return texts


def sort(page: Any, key: str) -> str:
    head = page.locator(f"th[data-key={key}]")
    head.get_by_role("button").click()
    order: str = head.get_attribute("aria-sort")
    return order


def test_scores_sort_both_ways_with_missing_ones_last(page: Any) -> None:
    scores = sorted(score for score in random_table(60)["overlap"].tolist() if score == score)
    assert sort(page, "metric-0") == "descending"
    assert column(page, 4) == [f"{score:.3f}" for score in reversed(scores)][:25]
    page.locator("#next").click()
    page.locator("#next").click()
    assert column(page, 4)[-6:] == ["–"] * 6
    assert sort(page, "metric-0") == "ascending"
    assert column(page, 4) == [f"{score:.3f}" for score in scores][:25]
    page.locator("#next").click()
    page.locator("#next").click()
    assert column(page, 4)[-6:] == ["–"] * 6
    assert page.locator("th[aria-sort=none]").count() == 4


def test_whole_numbers_sort_as_numbers_and_show_no_decimals(page: Any) -> None:
    sort(page, "metric-2")
    shown = [int(text) for text in column(page, 6)]
    assert shown == sorted(random_table(60)["length"].astype(int).tolist(), reverse=True)[:25]


def test_texts_sort_by_the_alphabet_and_keys_work(page: Any) -> None:
    head = page.locator("th[data-key=system]")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, 2) == ["alpha"] * 20 + ["beta"] * 5
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, 2)[:20] == ["gamma"] * 20


def test_search_looks_into_reply_context_and_id(page: Any) -> None:
    queries = {
        "reply NUMBER 0042": ["Reply number 0042."],
        "ends at 17.": ["Reply number 0017."],
        "id-59": ["Reply number 0059."],
        "no such thing": [],
    }
    for query, found in queries.items():
        page.get_by_label("Search").fill(query)
        assert column(page, 3) == found
        assert page.locator("#found").inner_text() == f"{len(found)} of 60 match"
    page.get_by_label("Search").fill("")
    assert page.locator("#found").inner_text() == "60 listed"


def test_search_looks_into_system_and_starts_on_the_first_page(page: Any) -> None:
    page.locator("#next").click()
    page.get_by_label("Search").fill("BETA")
    assert set(column(page, 2)) == {"beta"}
    assert page.locator("#page").inner_text() == "Page 1 of 1"
    page.get_by_label("Search").fill("")
    page.locator("#next").click()
    page.get_by_label("Search").fill("it goes on")
    assert page.locator("#page").inner_text() == "Page 1 of 3"


def test_filter_by_system_goes_with_search_and_sort(page: Any) -> None:
    page.get_by_label("System", exact=True).select_option("gamma")
    assert column(page, 2) == ["gamma"] * 20
    sort(page, "metric-1")
    page.get_by_label("Search").fill("Reply number 001")
    assert sorted(column(page, 3)) == ["Reply number 0011.", "Reply number 0014.", "Reply number 0017."]
    scores = [float(text) for text in column(page, 5)]
    assert scores == sorted(scores, reverse=True)


def test_pages(page: Any) -> None:
    assert column(page, 3)[0] == "Reply number 0000."
    assert page.locator("#previous").is_disabled()
    page.locator("#next").click()
    assert column(page, 3)[0] == "Reply number 0025."
    page.locator("#next").click()
    assert page.locator("#page").inner_text() == "Page 3 of 3"
    assert len(column(page, 3)) == 10
    assert page.locator("#next").is_disabled()
    page.locator("#previous").click()
    assert page.locator("#page").inner_text() == "Page 2 of 3"


def test_a_row_opens_to_its_context_and_references(page: Any) -> None:
    opener = page.get_by_role("button", name="Details of id-1", exact=True)
    opener.click()
    assert opener.get_attribute("aria-expanded") == "true"
    opened = page.locator("tr.opened").inner_text()
    for text in ("id-1", "Context 1 begins.", "It ends at 1.", "Reply number 0001.", "Another reference."):
        assert text in opened
    opener.click()
    assert page.locator("tr.opened").count() == 0


def test_theme_follows_the_system_until_it_is_switched(open_report: Open) -> None:
    page = open_report(render_report(random_table(5), None), color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    toggle = page.get_by_role("button", name="Switch to the light theme")
    toggle.click()
    light = page.evaluate(background)
    assert light != dark
    page.get_by_role("button", name="Switch to the dark theme").click()
    assert page.evaluate(background) == dark
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


def test_hostile_texts_are_shown_as_texts(open_report: Open) -> None:
    table, examples = hostile_table()
    page = unfolded(open_report(render_report(table, examples, title=HOSTILE[0])))
    assert page.title() == HOSTILE[0]
    for opener in page.locator("#browser .opener").all():
        opener.click()
    bubbles = "#content .card .bubble", "#browser .bubble"
    for shown in (page.locator(place).all_text_contents() for place in bubbles):
        for text in HOSTILE[:-2]:
            assert text in shown
        assert "NUL ␀ bell ␇ lone surrogate \ufffd line\u2028separator" in shown
        assert "(empty reply)" in shown
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, iframe, main script, main svg[onload]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_markup_that_slipped_in_cannot_run(open_report: Open, browser: Any, tmp_path: Path) -> None:
    # What the policy is for: were a reply ever written unescaped, the browser would still refuse to run it.
    report = render_report(random_table(5), None)
    broken = report.replace("<main", "<script>window.hacked=1</script><img src=x onerror=window.hacked=1><main")
    path = tmp_path / "broken.html"
    path.write_text(broken, encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("window.hacked") is None
    page.close()


def test_without_javascript_all_but_the_table_is_there(open_report: Open) -> None:
    table = dataclasses.replace(random_table(30), notes=("A note.",))
    page = open_report(render_report(table, examples_for(table)), java_script_enabled=False)
    assert page.locator("svg.rejoinder-figure").count() == 7
    assert page.locator(".cards .bubble").first.is_visible()
    for summary in page.locator("section > details > summary").all():
        summary.click()
    assert page.get_by_text("overlap|v:0").is_visible()
    assert page.get_by_text("A note.").is_visible()
    assert page.locator("noscript").inner_text() == NEEDS_SCRIPT
    assert page.locator("noscript").bounding_box()["height"] > 10
    assert not page.locator("#browser").is_visible()
    assert not page.locator("#theme").is_visible()


def test_the_page_never_scrolls_sideways(page: Any) -> None:
    for width in (320, 390, 800, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_sorting_works_on_a_phone(open_report: Open) -> None:
    table = random_table(30)
    page = unfolded(open_report(render_report(table, examples_for(table)), viewport={"width": 390, "height": 800}))
    assert sort(page, "metric-1") == "descending"
    scores = [float(text) for text in column(page, 5)]
    assert scores == sorted(scores, reverse=True)
    assert page.get_by_role("columnheader").count() > 0


@pytest.mark.slow
def test_five_thousand_replies_stay_responsive_in_the_page(open_report: Open) -> None:
    table = random_table(5000)
    page = unfolded(open_report(render_report(table, examples_for(table))))
    sort(page, "metric-0")
    assert page.locator("#browser tbody tr").count() == 25  # only one page is ever in the document
    page.get_by_label("Search").fill("Reply number 4999")
    assert column(page, 3) == ["Reply number 4999."]


def test_filters_by_slice_and_score(page: Any) -> None:
    low, high = page.get_by_label("Lowest score"), page.get_by_label("Highest score")
    page.get_by_label("Score between").select_option("judge")
    low.fill("0.25")
    high.fill("0.75")
    judged = random_table(60)["judge"]
    expected = int(((judged >= 0.25) & (judged <= 0.75)).sum())
    assert page.locator("#found").inner_text() == f"{expected} of 60 match"
    low.fill("")
    high.fill("")
    assert page.locator("#found").inner_text() == "60 listed"
    assert page.locator("#slice-filter").count() == 0  # all replies are of one length, after as many turns


def test_filter_by_a_field_of_the_data(open_report: Open) -> None:
    table = random_table(60)
    topics = Slices("topic <b>", ("sport", "weather"), np.arange(60) % 4 // 3)
    page = unfolded(open_report(render_report(dataclasses.replace(table, slices=(topics,)), examples_for(table))))
    page.get_by_label("Slice").select_option("weather")
    assert page.locator("#found").inner_text() == "15 of 60 match"
    assert page.locator("#slice-filter b").count() == 0


def test_a_link_of_the_menu_opens_its_section(open_report: Open) -> None:
    page = open_report(render_report(random_table(9), None))
    assert not page.locator("#browser").is_visible()
    page.get_by_role("link", name="All replies").click()
    assert page.locator("#browser").is_visible()


SIZES = [(1280, 900), pytest.param(820, 1100, marks=pytest.mark.slow), (400, 800)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_first_screen_has_the_answer_and_the_page_is_short(
    open_report: Open, width: int, height: int, scheme: str
) -> None:
    table, examples = paired_table()
    size = {"width": width, "height": height}
    page = open_report(render_report(table, examples), viewport=size, color_scheme=scheme)
    for part in ("h1", ".answer", ".because li >> nth=0"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height
    assert page.evaluate("document.documentElement.scrollHeight") <= 8 * height
    for _ in range(2):  # as it is, then with everything unfolded
        assert page.evaluate("document.documentElement.scrollWidth") == width
        whole = "[...document.querySelectorAll('.stacked')].every((t) => t.scrollWidth <= t.parentElement.clientWidth)"
        assert page.evaluate(whole)
        nav = page.locator(".top nav").bounding_box()
        assert nav["x"] + nav["width"] <= width
        unfolded(page)


@pytest.mark.parametrize(
    ("width", "height", "scheme"), [(1280, 900, "light"), pytest.param(400, 800, "dark", marks=pytest.mark.slow)]
)
def test_axe_finds_nothing_serious(open_report: Open, axe: str, width: int, height: int, scheme: str) -> None:
    table, examples = paired_table()
    size = {"width": width, "height": height}
    page = unfolded(open_report(render_report(table, examples), viewport=size, color_scheme=scheme))
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    serious = {one["id"]: one["nodes"][0]["html"] for one in found if one["impact"] in {"serious", "critical"}}
    assert serious == {}


def paired_table() -> tuple[ScoreTable, dict[int, Example]]:
    """Three systems that answered the same twenty contexts."""
    table = random_table(60)
    contexts = np.arange(60) // 3
    return dataclasses.replace(table, grouping=Grouping(contexts, contexts)), examples_for(table)

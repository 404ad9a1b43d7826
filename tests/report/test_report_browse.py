"""What a reader does with the table of replies: conditions, replies side by side, links, downloads, keys."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rejoinder
from rejoinder.comparing.compare import compare_table
from scored_replies import render_report

pytestmark = pytest.mark.browser

Open = Callable[..., Any]

REPLIES = [
    ("Do you sell rye bread?", "old", "Yes, we sell rye bread on Mondays."),
    ("Do you sell rye bread?", "new", "Yes, we sell fresh rye bread every day."),
    ("Are you open?", "old", "=HYPERLINK(1)"),
    ("Are you open?", "new", 'We close at six, or "sixish".'),
]


@pytest.fixture(scope="module")
def report() -> str:
    records = [
        {"id": f"r{n}", "context": [context], "system": system, "response": reply, "references": ["We do."]}
        for n, (context, system, reply) in enumerate(REPLIES)
    ]
    examples = list(rejoinder.read(records))
    table = rejoinder.score(examples, ["length", "chrf"])
    return render_report(table, dict(enumerate(examples)), comparison=compare_table(table, primary="length"))


@pytest.fixture
def page(open_report: Open, report: str) -> Any:
    page = open_report(report, accept_downloads=True)
    page.get_by_role("link", name="All replies").click()
    return page


def shown(page: Any) -> list[str]:
    texts: list[str] = page.locator("#browser td.text > :last-child").all_inner_texts()
    return texts


def test_the_search_takes_conditions_on_scores_and_marks_words(page: Any) -> None:
    page.get_by_label("Search").fill("length>6 BREAD")
    assert shown(page) == [REPLIES[0][2], REPLIES[1][2]]
    assert page.locator("#browser mark").all_inner_texts()[:2] == ["bread", "bread"]
    page.get_by_label("Search").fill("length<=1")
    assert shown(page) == []
    page.get_by_label("Search").fill("colour>3")  # no metric: text that must occur as it is
    assert page.locator("#found").inner_text() == "0 of 4 match"


def test_replies_to_one_context_are_shown_together(page: Any) -> None:
    page.get_by_label("Show").select_option("contexts")
    cards = page.locator("#contexts .card")
    assert cards.count() == 2
    assert "Do you sell rye bread?" in cards.filter(has_text="rye").inner_text()
    assert cards.filter(has_text="rye").locator(".only").all_inner_texts() == [
        "fresh",
        "every",
        "day.",
        "on",
        "Mondays.",
    ]
    page.get_by_label("Search").fill("sixish")
    assert page.locator("#found").inner_text() == "1 of 2 contexts match"
    assert cards.locator(".answers > li").count() == 2  # the other system's reply too


def test_the_address_keeps_what_the_reader_chose(page: Any) -> None:
    page.get_by_label("Search").fill("rye")
    page.locator("th[data-key=metric-0] button").click()
    assert "query=rye" in page.url
    again = page.context.new_page()
    again.goto(page.url)
    assert again.get_by_label("Search").input_value() == "rye"
    assert shown(again) == [REPLIES[1][2], REPLIES[0][2]]
    assert again.locator("#browser").is_visible()


def test_a_link_opens_one_reply(page: Any) -> None:
    again = page.context.new_page()
    again.goto(page.url.split("#")[0] + "#replies?open=r3")
    assert again.locator(".opened .id").inner_text() == "id: r3"
    assert again.locator(".opened").count() == 1


def test_what_matches_is_downloaded(page: Any, tmp_path: Path) -> None:
    page.get_by_label("Search").fill("open")
    for kind in ("csv", "jsonl"):
        with page.expect_download() as started:
            page.locator(f"#download-{kind}").click()
        started.value.save_as(tmp_path / f"replies.{kind}")
    with (tmp_path / "replies.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["response"] for row in rows] == ["'=HYPERLINK(1)", REPLIES[3][2]]  # no formula for a spreadsheet
    assert rows[1]["context"] == "Are you open?"
    lines = (tmp_path / "replies.jsonl").read_text(encoding="utf-8").splitlines()
    again = list(rejoinder.read([json.loads(line) for line in lines]))
    assert [(example.id, example.system, example.response) for example in again] == [
        ("r2", "old", REPLIES[2][2]),
        ("r3", "new", REPLIES[3][2]),
    ]


def test_columns_can_be_left_out(page: Any) -> None:
    page.locator("#columns summary").click()
    page.get_by_role("checkbox", name="chrf").uncheck()
    assert not page.locator("th[data-key=metric-1]").is_visible()
    assert page.locator("#browser td.number:visible").count() == len(REPLIES)


def test_keys_move_between_replies(page: Any) -> None:
    page.locator("#rows").focus()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.locator(".opened .id").inner_text() == "id: r1"
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Details of r0"
    page.keyboard.press("/")
    page.keyboard.type("j/k")  # in the search these are letters
    assert page.get_by_label("Search").input_value() == "j/k"

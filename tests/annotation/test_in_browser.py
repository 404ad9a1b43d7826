"""Two raters in a real browser at the same time: one by keyboard alone, one on a phone; then what was exported."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from annotation_server import ONE_QUESTION, SCALES, running_app, write_study
from rejoinder.people.export import exported
from rejoinder.people.queue import Assigner
from rejoinder.people.store import open_store

pytestmark = pytest.mark.browser


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages in contexts of their own; at the end, any message of the console, error or dialog is a failure."""
    problems: list[str] = []
    contexts = []

    def opened(**options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(120_000)  # a loaded machine draws slowly
        page = context.new_page()
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: problems.append("dialog"))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


def judged_reply(page: Any) -> str:
    text: str = page.locator(".reply").inner_text()
    return text


def press(page: Any, *keys: str) -> None:
    """Press keys, the last of which sends the form, and wait for the next page."""
    for key in keys[:-1]:
        page.keyboard.press(key)
    with page.expect_navigation():
        page.keyboard.press(keys[-1])


def test_two_raters_at_once_and_the_export_is_what_they_chose(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    study = write_study(tmp_path, SCALES)
    clicked: dict[tuple[str, str, str], str] = {}
    with closing(open_store(tmp_path / "study.db")) as store, running_app(study, store) as address:
        keyboard, phone = open_page(), open_page(viewport={"width": 390, "height": 844}, has_touch=True)
        keyboard.goto(f"{address}/join?PROLIFIC_PID=keyboard")
        phone.goto(f"{address}/join?PROLIFIC_PID=phone")
        keyboard.keyboard.press("Tab")
        press(keyboard, "Enter")
        phone.get_by_role("button", name="I agree").tap()
        for number in range(4):
            score = str(number % 5 + 1)
            clicked["keyboard", "overall", judged_reply(keyboard)] = score
            press(keyboard, score, "Enter")
            if number == 2:  # a reload in the middle comes back to the same page of the same item
                before = judged_reply(keyboard), keyboard.locator("legend").all_inner_texts()
                keyboard.reload()
                assert (judged_reply(keyboard), keyboard.locator("legend").all_inner_texts()) == before
            tap_through(phone, number, clicked)
            clicked["keyboard", "relevance", judged_reply(keyboard)] = str(number % 3)
            clicked["keyboard", "grammar", judged_reply(keyboard)] = "5"
            press(keyboard, str(number % 3), "5", "Enter")
        for page in (keyboard, phone):
            assert "CODE-1" in page.locator("main").inner_text()
            assert page.evaluate("window.hacked") is None
        named = {rater.id: rater.source.removeprefix("platform:") for rater in store.raters()}
        lines = list(exported(study, store, Assigner(study, store).items))
    found = {
        (named[rater], question, record["response"]): f"{score:g}"
        for record in map(json.loads, lines)
        for question, scores in record["scores"].items()
        for rater, score in zip(record["raters"][question], scores, strict=True)
    }
    assert found == clicked


def tap_through(phone: Any, number: int, clicked: dict[tuple[str, str, str], str]) -> None:
    """Answer both pages of an item by touch."""
    for choices in ({"overall": str(5 - number % 5)}, {"relevance": "1", "grammar": str(number % 5 + 1)}):
        assert phone.evaluate("document.documentElement.scrollWidth") == 390, "the page does not scroll sideways"
        for question, score in choices.items():
            clicked["phone", question, judged_reply(phone)] = score
            label = phone.locator(f"label:has(input[name={question}][value='{score}'])")
            assert label.bounding_box()["height"] >= 44, "a target that a thumb can hit"
            label.tap()
        with phone.expect_navigation():
            phone.get_by_role("button", name="Save and go on").tap()


def test_enter_without_an_answer_asks_for_one(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    study = write_study(tmp_path, SCALES.replace('consent = "Your answers are stored without your name."', ""))
    with closing(open_store(tmp_path / "study.db")) as store, running_app(study, store) as address:
        page = open_page()
        page.goto(f"{address}/join?PROLIFIC_PID=one")
        page.keyboard.press("Enter")
        assert page.locator("input:invalid").count() == 5
        press(page, "3", "Enter")
        assert [answer.value for answer in store.answers()] == ["3"]


def test_a_pasted_reply_is_noticed_and_a_typed_one_is_not(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    study = write_study(tmp_path, ONE_QUESTION.format(kind="write"))
    paste = """(area) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData("text", "from elsewhere");
        area.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true}));
    }"""
    with closing(open_store(tmp_path / "study.db")) as store, running_app(study, store) as address:
        page = open_page()
        page.goto(f"{address}/join?PROLIFIC_PID=one")
        for pasted in (True, False):
            if pasted:
                page.locator("textarea").evaluate(paste)
            page.locator("textarea").press_sequentially("These are my own words")
            with page.expect_navigation():
                page.get_by_role("button", name="Save and go on").click()
        [noted] = store.observations()
        assert (noted.kind, noted.value, noted.item) == ("pasted", "14", store.answers()[0].item)

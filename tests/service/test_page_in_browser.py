"""The page at /, in a real browser: what a person pastes is scored and explained, and never becomes markup."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

import rejoinder
from axe import needs_axe, serious
from rejoinder.service.app import scoring_app

pytestmark = pytest.mark.browser

METRICS = {name: rejoinder.load(name) for name in ("default-fast", "rouge-l", "length")}
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


@contextmanager
def running(token: str | None = None) -> Iterator[str]:
    """The address of the service, in a thread of this process."""
    server = uvicorn.Server(uvicorn.Config(scoring_app(METRICS, token=token), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running() as found:
        yield found


def opened(browser: Any, address: str, **settings: Any) -> tuple[Any, list[str]]:
    """The page, and what the browser complains about."""
    page, complaints = browser.new_context(**settings).new_page(), []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    return page, complaints


def score(page: Any, dialogue: str, *replies: str) -> None:
    """Score the last line of a dialogue, or these replies to it."""
    context, _, last = dialogue.rpartition("\n") if not replies and "\n" in dialogue else (dialogue, "", "")
    first, second = (*(replies or (last,)), "")[:2]
    page.get_by_label("Conversation before the reply").fill(context)
    page.get_by_label("Reply", exact=True).first.fill(first)
    page.get_by_label("Second reply").fill(second)
    page.get_by_role("button", name="Score", exact=True).click()
    page.wait_for_selector("#result:not([hidden]), #problem:not([hidden])")


def length_of(reply: str) -> str:
    return f"{METRICS['length'].score([rejoinder.Example('1', (), reply)])[0]:.2f}"


def test_a_dialogue_is_scored_and_explained(browser: Any, address: str) -> None:
    page, complaints = opened(browser, address)
    page.get_by_text("Reference replies").click()
    page.get_by_label("Good replies").fill("Yes, with milk.")
    score(page, "User: Do you want tea?\nYes, with milk please.")
    metrics = page.locator(".metric h3").all_inner_texts()
    assert metrics == list(METRICS)
    expected = rejoinder.load("rouge-l").score(
        [rejoinder.Example("1", ("Do you want tea?",), "Yes, with milk please.", ("Yes, with milk.",))]
    )[0]
    assert page.locator(".value").nth(1).inner_text() == f"{expected:.2f} on a scale from 0 to 1"
    assert "raises it the most: without it the score is" in page.locator(".metric").nth(1).inner_text()
    page.get_by_label("Metric", exact=True).select_option("rouge-l")
    assert page.locator("#reply").inner_text() == "Yes, with milk please."
    assert page.locator("#reply .down").all_inner_texts() == ["please"]
    page.get_by_text("As a table").click()
    assert page.locator("#rows tr").count() == 4
    assert complaints == []


def test_a_reply_of_several_lines_is_scored_whole(browser: Any, address: str) -> None:
    page, complaints = opened(browser, address)
    reply = "Two steps:\n\n1. Open the settings.\n2. Choose a language."
    score(page, "User: How do I change it?", reply)
    assert page.locator("#reply").inner_text() == reply
    assert page.locator(".metric").nth(2).locator(".value").inner_text() == length_of(reply)
    assert complaints == []


def test_two_replies_are_shown_side_by_side(browser: Any, address: str) -> None:
    page, complaints = opened(browser, address)
    score(page, "Do you want tea?", "Yes, with milk please.", "No.")
    length = page.locator(".metric").nth(2)
    assert length.locator("h4").all_inner_texts() == ["First reply", "Second reply"]
    assert length.locator(".value").all_inner_texts() == [length_of("Yes, with milk please."), length_of("No.")]
    page.get_by_label("Reply", exact=True).last.select_option("second")
    assert page.locator("#reply").inner_text() == "No."
    assert complaints == []


def test_hostile_text_stays_text(browser: Any, address: str) -> None:
    page, complaints = opened(browser, address)
    score(page, f"Hello {HOSTILE}\nA reply 😀 {HOSTILE} with words")
    assert page.locator("#reply").inner_text() == f"A reply 😀 {HOSTILE} with words"
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img").count() == 0
    assert complaints == []


def test_problems_are_told(browser: Any, address: str) -> None:
    page, _ = opened(browser, address)
    for dialogue, problem in (
        ("", "Please paste a reply first."),
        ("{", "This begins like JSON, but is not valid JSON."),
        ('{"response": 3}', "example:1: field 'response': expected a string, found a number"),
    ):
        score(page, dialogue)
        assert page.get_by_role("alert").inner_text() == problem
        assert not page.locator("#result").is_visible()


def test_the_token_is_asked_for(browser: Any) -> None:
    with running("secret") as address:
        page, _ = opened(browser, address)
        assert not page.get_by_label("Access token").is_visible()
        score(page, "Hi!\nHello.")
        assert "expected the header Authorization" in page.get_by_role("alert").inner_text()
        page.get_by_label("Access token").fill("secret")
        page.get_by_role("button", name="Score", exact=True).click()
        page.wait_for_selector("#result:not([hidden])")
        page.context.close()


def test_the_policy_allows_nothing_from_elsewhere(browser: Any, address: str) -> None:
    page, complaints = opened(browser, address)
    assert page.evaluate("fetch('https://example.org/').then(() => 'loaded', () => 'refused')") == "refused"
    assert any("Content Security Policy" in complaint for complaint in complaints)


@needs_axe
@pytest.mark.parametrize(("width", "scheme"), [(1000, "light"), pytest.param(400, "dark", marks=pytest.mark.slow)])
def test_axe_has_no_serious_finding_and_nothing_is_cut_off(browser: Any, address: str, width: int, scheme: str) -> None:
    page, _ = opened(browser, address, viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True)
    assert serious(page) == []
    score(page, "Hi there!\nA rather long reply with many words " + "x" * 300)
    page.get_by_text("As a table").click()
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_score_that_cannot_be_relied_on_is_marked(browser: Any, address: str) -> None:
    page, complaints = opened(browser, address)
    score(page, "Do you want tea?", "There is:\n- green tea\n- black tea", "Yes, with milk please.")
    marked = page.locator(".doubtful")
    assert marked.count() == 1
    told = marked.inner_text()
    assert told.startswith("First reply")
    assert "Not to be relied on" in told
    assert "default-fast is not known to judge such replies as people do: with lists" in told
    assert not complaints

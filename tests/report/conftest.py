"""A browser, in which a report must show no message, raise no error and request nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("neither chromium nor google-chrome is installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        launched = running.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def open_report(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a report; at the end, any message, error, or request other than for the file itself, is a failure."""
    problems: list[str] = []
    contexts = []

    def opened(report: str, **options: Any) -> Any:
        path = tmp_path / "report.html"
        path.write_text(report, encoding="utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(120_000)  # a loaded machine draws slowly
        page = context.new_page()
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: problems.append("dialog"))

        def requested(request: Any) -> None:
            if request.url.split("#")[0] != path.as_uri() and not request.url.startswith("data:"):
                problems.append(f"request: {request.url[:200]}")

        page.on("request", requested)
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []

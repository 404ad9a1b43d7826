"""A page in the browser, where a report must show no message, raise no error and request nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


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
            if request.url.split("#")[0] != path.as_uri() and not request.url.startswith(("data:", "blob:")):
                problems.append(f"request: {request.url[:200]}")

        page.on("request", requested)
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core, which checks a page for accessibility; it is not part of the project."""
    script = os.environ.get("REJOINDER_AXE", "")
    if not script:
        pytest.skip("needs axe-core: REJOINDER_AXE does not name its file")
    return Path(script).read_text(encoding="utf-8")

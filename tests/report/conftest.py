"""A browser, in which a report must show no message, raise no error and request nothing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
AXE = "4.10.3"
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


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core, which checks a page for accessibility; from npm, because it is not part of the project."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), f"axe-core@{AXE}"]
    ran = subprocess.run(command, capture_output=True, check=False, timeout=120)
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if ran.returncode or not script.exists():
        pytest.skip("npm could not fetch axe-core")
    return script.read_text(encoding="utf-8")

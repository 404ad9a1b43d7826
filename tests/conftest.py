"""What many tests share: the command line in this process, and files of replies."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from chromium import chromium
from places import JUDGED
from rejoinder.cli import main
from rejoinder.data.source import read
from rejoinder.types import Example
from running import Ran, Run, WriteLines
from skips import skip_lines

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # tests download nothing


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Calls `rejoinder` in this process, in a folder of its own: run("score", path) -> exit code and output."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Ran:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stopped:  # argparse's own way out
            code = int(stopped.code or 0)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def write_lines(tmp_path: Path) -> WriteLines:
    """Writes records as JSON lines: write_lines([{"response": "hi"}], "a.jsonl") -> path."""

    def write(records: Iterable[Mapping[str, Any]], name: str = "replies.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def demo() -> Path:
    """The example file that comes with the package."""
    import rejoinder

    return Path(rejoinder.__file__).parent / "examples" / "demo.jsonl"


@pytest.fixture(scope="session")
def bundled(demo: Path) -> list[Example]:
    """The examples that come with the package."""
    return list(read(demo))


@pytest.fixture(scope="session")
def real() -> list[Example]:
    """2,400 judged replies with one to four references; skips the test where they are absent."""
    examples: list[Example] = []
    for name, most in (("zhao2020_dailydialog", 900), ("gupta2019_dailydialog", 500), ("humod", 1000)):
        path = JUDGED / f"{name}.jsonl.gz"
        if not path.exists():
            pytest.skip(f"needs {path.name} of ../shared/data")
        examples += list(islice(read(path), most))
    return examples


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; skips the test where it is absent."""
    with chromium() as launched:
        yield launched


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skip", action="append", default=[], metavar="MARKER", help="fail where such a test is skipped"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    kept = [name for name in item.config.getoption("--no-skip") if item.get_closest_marker(name)]
    if report.skipped and kept and isinstance(report.longrepr, tuple):
        report.outcome, report.longrepr = "failed", f"--no-skip {kept[0]}, but it is skipped: {report.longrepr[2]}"
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The last lines say what was skipped, and how to get what these tests need."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple)]
    for line in skip_lines(reasons):
        terminalreporter.write_line(line, yellow=True)

"""A newcomer sees what was skipped and how to get it; where a test must not be skipped, a skip is a failure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from places import ROOT
from skips import skip_lines

TESTS = """
import pytest

@pytest.mark.browser
def test_browser():
    pytest.skip("neither chromium nor google-chrome is installed")

def test_jar():
    pytest.skip("needs models-cache/meteor/meteor-1.5.jar")

def test_other():
    pytest.skip("a reason of its own")
"""


def run_tests(folder: Path, *options: str) -> tuple[int, list[str]]:
    (folder / "test_some.py").write_text(TESTS)
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = browser\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout.splitlines()


def test_the_last_lines_say_what_was_skipped(tmp_path: Path) -> None:
    code, lines = run_tests(tmp_path)
    assert code == 0
    said = [line for line in lines if "skipped for want of" in line]
    assert "1 test skipped for want of Chromium: apt-get install chromium" in said
    assert any("METEOR 1.5 jar: unpack" in line for line in said)
    assert "1 test skipped for want of something else: a reason of its own" in said


def test_a_skip_that_must_not_be_is_a_failure(tmp_path: Path) -> None:
    code, lines = run_tests(tmp_path, "--no-skip", "browser")
    assert code == 1
    assert any(re.search(r"1 failed, 2 skipped", line) for line in lines), lines
    assert any("--no-skip browser, but it is skipped: Skipped: neither chromium" in line for line in lines)


def test_equal_needs_are_one_line() -> None:
    reasons = ["Skipped: needs a.jsonl of ../shared/data", "Skipped: needs dialogues of ../shared/data", "needs Java"]
    first, second = skip_lines(reasons)
    assert first.startswith("2 tests skipped for want of the judged data sets")
    assert second == "1 test skipped for want of Java: apt-get install default-jre-headless"


def test_ci_lets_no_browser_test_be_skipped() -> None:
    assert "--no-skip browser" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")

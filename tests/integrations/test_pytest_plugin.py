"""The pytest plug-in, in a pytest of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from places import ROOT
from rejoinder.adapters.reply_checks import ReplyChecks, assert_not_worse

BETTER, WORSE = "tea with milk please", "milk tea"

TESTS = """
def test_same(reply_checks):
    comparison = reply_checks.assert_not_worse("old.jsonl", "same.jsonl", metric="rouge-l", margin=0.1)
    assert comparison.margin == 0.1

def test_worse(reply_checks):
    reply_checks.assert_not_worse("old.jsonl", "new.jsonl", metric="rouge-l", margin=0.1)

def test_scores(reply_checks):
    first = reply_checks.score("old.jsonl", "rouge-l")
    assert first is reply_checks.score("old.jsonl", "rouge-l")
"""

NOT_IMPORTED = """
import sys

def test_nothing_was_imported():
    assert not {"numpy", "polars", "scipy", "onnxruntime"} & sys.modules.keys()
"""


def write_replies(folder: Path) -> None:
    for name, response in (("old", BETTER), ("same", BETTER), ("new", WORSE)):
        rows = [
            {"context": [f"q{n}"], "response": response + " now" * (n % 3), "references": [BETTER]} for n in range(12)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def run_pytest(folder: Path, tests: str, *options: str) -> tuple[int, str]:
    (folder / "test_replies.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "rejoinder.adapters.pytest_plugin", *options],
        cwd=folder,
        # Where the package is installed, its entry point would register the plug-in a second time.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_worse_candidate_fails_with_its_interval_and_the_report_is_written(tmp_path: Path) -> None:
    write_replies(tmp_path)
    code, out = run_pytest(tmp_path, TESTS, "--rejoinder-report", "report.html")
    assert code == 1
    assert "1 failed, 2 passed" in out
    assert "AssertionError: rouge-l: old is better than new by 0." in out
    assert "reply_checks.py" not in out  # the failure is shown in the test, not in our code
    assert "rejoinder report: report.html" in out
    page = (tmp_path / "report.html").read_text()
    for text in ("old and same: passed", "old and new: failed", "Scores of old.jsonl", "rouge-l: old is better than"):
        assert text in page


def test_bad_input_is_told_in_one_line(tmp_path: Path) -> None:
    code, out = run_pytest(tmp_path, "def test_x(reply_checks):\n    reply_checks.score('missing.jsonl')\n")
    assert code == 1
    assert [line for line in out.splitlines() if line.startswith("E ")] == [
        "E       rejoinder.errors.DataError: missing.jsonl: no such file"
    ]
    assert "source.py" not in out


def test_the_plug_in_imports_nothing_until_it_is_used(tmp_path: Path) -> None:
    code, out = run_pytest(tmp_path, NOT_IMPORTED, "--rejoinder-report", "report.html")
    assert code == 0, out
    assert "no test used the fixture reply_checks" in out
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("target", ["report.txt", "missing/report.html"])
def test_a_report_that_cannot_be_written_is_refused_before_any_test(target: str, tmp_path: Path) -> None:
    code, out = run_pytest(tmp_path, NOT_IMPORTED, "--rejoinder-report", target)
    assert code == 4
    assert out.strip() == f"ERROR: --rejoinder-report: expected a .html file in a folder that exists, not {target!r}"


def test_the_entry_point_names_the_plug_in() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    plugin = import_module(project["entry-points"]["pytest11"]["rejoinder"])
    assert callable(plugin.pytest_addoption)


def test_each_pair_is_scored_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_replies(tmp_path)
    monkeypatch.chdir(tmp_path)
    checks = ReplyChecks()
    wide = checks.assert_not_worse("old.jsonl", "same.jsonl", "rouge-l", margin=0.5)
    narrow = checks.assert_not_worse("old.jsonl", "same.jsonl", "rouge-l", margin=0.2)
    assert (wide.margin, narrow.margin) == (0.5, 0.2)
    assert narrow.table is wide.table
    assert checks.score("old.jsonl", ["rouge-l"]) is checks.score("old.jsonl", ["rouge-l"])
    assert checks.score("old.jsonl", ["rouge-l"]) is not checks.score("old.jsonl", ["bleu-2"])


def test_examples_in_memory() -> None:
    def replies(response: str) -> list[dict[str, object]]:
        return [{"context": [f"q{n}"], "response": response, "references": [BETTER, f"{n}"]} for n in range(8)]

    with pytest.raises(AssertionError, match=r"A is better than B|not shown that B is no worse than A"):
        assert_not_worse(replies(BETTER), replies(WORSE), "rouge-l", margin=0.1)
    assert_not_worse(replies(WORSE), replies(BETTER), "rouge-l", margin=0.1)

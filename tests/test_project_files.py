"""Files outside the package are up to date: the README's output, make's targets, the changelog's names."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import rejoinder
from places import ROOT


@pytest.fixture(scope="module")
def readme() -> Any:
    """The script that runs the README's commands."""
    spec = importlib.util.spec_from_file_location("readme", ROOT / ".ci" / "readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_after(commands: str, shown: str) -> str:
    return f"```sh\n{commands}\n```\n\n```text\n{shown}\n```\n"


def test_text_that_the_commands_print_is_let_through(readme: Any) -> None:
    assert readme.check(text_after("echo '  one two'\necho three", "one two\nthr...\none ...")) == 2


@pytest.mark.parametrize("shown", ["one", "one two three", "two...", "three\nfour"])
def test_text_that_the_commands_do_not_print_is_told(shown: str, readme: Any) -> None:
    with pytest.raises(SystemExit, match="shows what its commands do not print: "):
        readme.check(text_after("echo one two\necho three", shown))


def test_text_belongs_to_the_block_before_it(readme: Any) -> None:
    with pytest.raises(SystemExit, match="do not print: one"):
        readme.check("```sh\necho one\n```\n" + text_after("echo two", "one"))


def test_a_command_that_fails_is_told(readme: Any) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        readme.check("```sh\nfalse\n```\n")
    with pytest.raises(SystemExit, match="holds no commands"):
        readme.check("nothing")


def test_every_phony_target_has_a_rule() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert set(phony.split()) <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def test_the_changelog_names_what_python_has() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (names,) = re.findall(r"Python API ([^.]*)\.", changelog)
    former = {"meta_evaluate", "distill"}  # as the first version called them
    with pytest.warns(FutureWarning):
        assert all(getattr(rejoinder, name) for name in former)
    assert set(re.findall(r"`(\w+)`", names)) - former <= set(rejoinder.__all__)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_only_what_the_demo_writes_is_ignored(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    for name, ignored in {
        "report.html": 0,
        "trust.html": 0,
        "scores.jsonl": 0,
        "docs/report.html": 1,
        "src/scores.py": 1,
    }.items():
        ran = subprocess.run(["git", "check-ignore", "--quiet", name], cwd=tmp_path, check=False)
        assert ran.returncode == ignored, name

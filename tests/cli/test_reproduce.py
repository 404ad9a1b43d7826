"""`rejoinder reproduce` prints the command that makes the page in a checkout."""

from __future__ import annotations

import shlex

import pytest

from papers.__main__ import build_parser
from running import Run


@pytest.mark.parametrize(
    "arguments",
    [
        ["adem-table-5", "--data", "my data", "-o", "page.md", "--set", "sets=humod", "--set", "contexts=12"],
        ["--data", "data", "--sections", "left_out", "amounts", "--models", "m", "--cache", "c", "--quiet"],
        ["--list"],
        [],
    ],
)
def test_the_other_command_has_the_same_arguments(arguments: list[str], run: Run) -> None:
    ran = run("reproduce", *arguments)
    assert (ran.code, ran.err) == (0, "")
    assert shlex.split(ran.out.splitlines()[-1]) == ["python", "-m", "papers", *arguments]
    build_parser().parse_args(arguments)


def test_a_wrong_option_is_an_error_of_the_call(run: Run) -> None:
    ran = run("reproduce", "adem-table-5", "--dat", "data", "--lst")
    assert ran.code == 2
    assert "did you mean --list" in ran.err

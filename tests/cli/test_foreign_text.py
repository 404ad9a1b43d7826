"""Nothing that came with the data steers the terminal: system names, dimensions, file names, keys."""

from __future__ import annotations

import pytest

from conftest import Run, WriteLines

EVIL = "bot\x1b[2J\u202eevil\nrejoinder: done"


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_names_of_systems_are_shown_escaped(run: Run, write_lines: WriteLines, more: tuple[str, ...]) -> None:
    records = [{"id": str(n), "response": f"reply {n}", "system": EVIL} for n in range(3)]
    ran = run("score", write_lines(records), "-m", "length", *more)
    assert ran.code == 0, ran.err
    for text in (ran.out, ran.err):
        assert not any(sign in text for sign in "\x1b\u202e")
        assert "\nrejoinder: done" not in text
    assert "\\u001b[2J\\u202eevil\\nrejoinder" in ran.out


def test_errors_are_one_line_without_control_characters(run: Run) -> None:
    ran = run("score", f"{EVIL}.jsonl", "-m", f"bl{EVIL}")
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert not any(sign in ran.err for sign in "\x1b\u202e")

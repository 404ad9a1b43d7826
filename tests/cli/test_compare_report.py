"""`compare --report` writes the page of the comparison, with or without texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("texts", [True, False])
def test_the_report_has_the_verdict_and_the_texts(run: Any, demo: Path, tmp_path: Path, texts: bool) -> None:
    options = [
        "-m",
        "bleu-2",
        "-m",
        "length",
        "--by",
        "turns",
        "--report",
        "r.html",
        *([] if texts else ["--no-texts"]),
    ]
    ran = run("compare", demo, *options)
    assert ran.code == 0, ran.err
    assert ran.err.endswith("report: r.html\n")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Which of the 4 systems is best?" in page
    assert "By turns</h2>" in page
    assert ("Four spoonfuls" in page) == texts


def test_a_report_that_cannot_be_written_is_refused_first(run: Any, demo: Path) -> None:
    ran = run("compare", demo, "-m", "length", "--report", "r.txt")
    assert (ran.code, ran.out) == (2, "")
    assert "expected .html" in ran.err

"""A page without anything to show is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.__main__ import main


@pytest.mark.parametrize(
    ("page", "setting", "problem"),
    [
        ("rater-figures", "sets=", "expected at least one"),
        ("rater-figures", "sets=humd", "did you mean humod?"),
        ("metric-figures", "sets=,", "expected at least one"),
        ("metric-figures", "sets=grade_dailydialg", "did you mean grade_dailydialog or "),
        ("ruber-figures", "encoders=", "expected at least one"),
        ("ruber-transfer", "encoders=", "expected at least one"),
    ],
)
def test_a_page_needs_something_to_show(
    page: str, setting: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--data", str(tmp_path), "-o", str(tmp_path / "page.md"), "--set", setting]
    assert main([page, *arguments]) == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())

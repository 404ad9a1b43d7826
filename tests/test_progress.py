"""Progress in a log: an estimate after the first seconds, then a line every 30 seconds."""

from __future__ import annotations

import pytest

from rejoinder.progress import LogLines, duration


def test_lines_come_every_thirty_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with LogLines("scoring", 1000, "replies", clock=lambda: now[0]) as lines:
        for second in range(1, 101):
            now[0] = float(second)
            lines.update(10)
    assert capsys.readouterr().err.splitlines() == [
        "scoring: 50 of 1,000 replies (5%), about 2 min left",
        "scoring: 350 of 1,000 replies (35%), about 65 s left",
        "scoring: 650 of 1,000 replies (65%), about 35 s left",
        "scoring: 950 of 1,000 replies (95%), about 5 s left",
    ]


def test_short_work_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with LogLines("scoring", 3, "replies") as lines:
        for _ in range(3):
            lines.update(1)
    assert capsys.readouterr().err == ""


def test_durations() -> None:
    assert [duration(seconds) for seconds in (5, 89, 90, 5000, 9000)] == ["5 s", "89 s", "2 min", "83 min", "2.5 h"]

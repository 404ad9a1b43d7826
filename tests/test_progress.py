"""Progress in a log: an estimate after the first seconds, then a line every 30 seconds."""

from __future__ import annotations

import threading

import pytest

from rejoinder import progress as progress_module
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


def test_a_step_that_takes_long_does_not_look_like_a_standstill(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress_module, "BETWEEN_LINES", 0.01)
    printed = threading.Event()
    monkeypatch.setattr(LogLines, "write", lambda *_, **__: printed.set())
    now = [0.0]
    with LogLines("scoring", 3, "replies", clock=lambda: now[0]):
        now[0] = 60.0
        assert printed.wait(timeout=60)


def test_the_first_line_says_that_nothing_is_done_yet() -> None:
    assert LogLines("scoring", 3, "replies")._line(60.0) == "scoring: the first replies are not done after 60 s"

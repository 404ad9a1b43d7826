"""Progress in a log: an estimate after the first seconds, then a line every 30 seconds."""

from __future__ import annotations

import math
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from rejoinder import progress
from rejoinder.progress import Announcing, LogLines, bar, duration, moved_inside, reported


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
    monkeypatch.setattr(progress, "BETWEEN_LINES", 0.01)
    printed = threading.Event()
    monkeypatch.setattr(LogLines, "write", lambda *_, **__: printed.set())
    now = [0.0]
    with LogLines("scoring", 3, "replies", clock=lambda: now[0]):
        now[0] = 60.0
        assert printed.wait(timeout=60)


def test_the_first_line_says_that_nothing_is_done_yet() -> None:
    assert LogLines("scoring", 3, "replies")._line(60.0) == "scoring: the first replies are not done after 60 s"


def test_a_resumed_run_is_as_fast_as_its_own_part(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with LogLines("scoring", 1000, "replies", clock=lambda: now[0], done=900) as lines:
        now[0] = 10.0
        lines.update(10)
    assert capsys.readouterr().err == "scoring: 910 of 1,000 replies (91%), about 2 min left\n"


class Clock:
    """Time that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


BAR: dict[str, Any] = {
    "__enter__": lambda: None,
    "__exit__": lambda *_: None,
    "update": lambda _: None,
    "write": lambda *_, **__: None,
}
"""A bar that shows nothing."""


def announced(steps: int, seconds: float, limit: float = math.inf) -> list[str]:
    """What a bar says whose first step takes a minute, and each of the others so many seconds."""
    clock, said = Clock(), list[str]()
    moving = SimpleNamespace(**{**BAR, "write": lambda line, **_: said.append(line)})
    with Announcing(moving, "training", steps, ("fewer --epochs", "--minutes N"), limit, clock) as bar_moved:
        for step in range(steps):
            clock.now += 60.0 if step == 0 else seconds
            bar_moved.update(1)
    return said


def test_long_work_says_once_how_long_it_will_take_and_what_would_be_faster() -> None:
    assert announced(steps=1201, seconds=2.0) == [
        "note: training will take about 41 min; faster: fewer --epochs, --minutes N"
    ]
    assert announced(steps=1201, seconds=2.0, limit=600.0) == [
        "note: training will take about 10 min; faster: fewer --epochs, --minutes N"
    ]
    assert announced(steps=1201, seconds=0.001) == [], "it was done before the rate was known"


def test_steps_that_are_nothing_say_nothing() -> None:
    clock = Clock()
    with Announcing(SimpleNamespace(**BAR), "work", 3, ("less",), clock=clock) as moving:
        moving.update(1)
        clock.now = 60.0
        moving.update(0)


def test_only_long_work_with_faster_ways_is_announced() -> None:
    assert isinstance(bar("work", total=3, unit="steps", faster=("less",)), Announcing)
    others: list[dict[str, Any]] = [{"total": 3}, {"total": 3, "quiet": True}, {"total": None}]
    for settings, ways in zip(others, ((), ("less",), ("less",)), strict=True):
        assert not isinstance(bar("work", unit="steps", faster=ways, **settings), Announcing)


def test_work_inside_a_batch_moves_the_bar() -> None:
    moved: list[int] = []
    moving = SimpleNamespace(update=moved.append)
    with moved_inside(moving, 10):
        for _ in reported(range(4), 4):
            pass
        assert moved == [2, 3, 2, 3], "each quarter is 2.5 items"
        for _ in reported(range(4), 4):
            pass
        assert sum(moved) == 10, "a second pass over the same items moves nothing"
    assert sum(moved) == 10
    assert list(reported(range(4), 4)) == [0, 1, 2, 3], "nobody follows"


def test_work_that_reports_nothing_moves_the_bar_at_its_end() -> None:
    moved: list[int] = []
    with moved_inside(SimpleNamespace(update=moved.append), 10):
        assert moved == []
    assert moved == [10]

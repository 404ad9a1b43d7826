"""The history of releases, as text, JSON and HTML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rejoinder.comparing.history import CAUTION, History
from rejoinder.comparing.release import Release
from rejoinder.errors import CallError
from rejoinder.scoring.table import ScoreTable

if TYPE_CHECKING:
    from running import Run


def release(name: str, mean: float, day: int, signature: str = "m|v:1", n: int = 40) -> Release:
    """A release whose scores are around a mean."""
    scores = mean + 0.3 * np.sin(np.arange(n) * (1 + 0.1 * day))
    table = ScoreTable({"m": scores}, {"m": signature}, (name,), np.zeros(n, np.int32), [str(i) for i in range(n)])
    keys = [f"c{i}" for i in range(n)]
    return Release(name, f"2026-01-{day:02}T10:00:00.000+00:00", table, keys, [""] * n)


RELEASES = [
    release("1.0", 2.0, 1),
    release("1.1", 2.0, 2),
    release("1.2", 3.0, 3),
    release("1.3", 2.5, 4),
    release("2.0", 4.0, 5, "m|v:2"),
]


def test_each_release_is_compared_with_the_one_before() -> None:
    history = History.of(RELEASES)
    assert [entry.outcome for entry in history.scores["m"]] == ["", "not significant", "better", "worse", ""]
    assert [entry.broken for entry in history.scores["m"]] == [False, False, False, False, True]
    assert history.verdict == "2.0 and 1.3 cannot be compared: they were scored with different signatures."
    assert History.of(RELEASES[:4]).verdict.startswith("m: 1.2 is better than 1.3 by 0.499")
    assert History.of(RELEASES[:1]).verdict.startswith("1.0 is the first release")
    assert (history.notes, History.of(RELEASES[:2]).notes) == ((CAUTION,), ())


def test_json_has_the_same_numbers() -> None:
    history = History.of(RELEASES)
    told = history.to_dict()
    for entry, plain in zip(history.scores["m"], told["metrics"]["m"], strict=True):
        assert (plain["release"], plain["mean"], plain["n"]) == (entry.release.name, entry.summary.mean, 40)
        assert plain["low"] < plain["mean"] < plain["high"]
        assert (plain["change"] is None) == (plain["release"] in {"1.0", "2.0"})
    assert told["metrics"]["m"][2]["change"]["better"] == "1.2"


def test_the_plot_is_on_one_scale() -> None:
    lines = [line for line in History.of(RELEASES).text(200).splitlines() if "●" in line]
    dots = [line.index("●") for line in lines]
    assert len(dots) == 5
    assert dots[3] > dots[1]
    assert max(dots) == dots[4]
    assert all("├" in line or "┤" in line for line in lines)


def test_a_metric_that_some_releases_lack_and_few_replies() -> None:
    tiny = release("0.9", 1.0, 1, n=1)
    history = History.of([tiny, *RELEASES[:2]])
    assert history.scores["m"][1].outcome == "too few replies"
    assert history.to_dict()["metrics"]["m"][0]["low"] is None
    with pytest.raises(CallError, match="unknown metric of these releases: 'x'"):
        History.of(RELEASES, ["x"])
    with pytest.raises(CallError, match="no release is recorded"):
        History.of([])


def test_the_report(run: Run, demo: Path) -> None:
    replies = Path("good.jsonl")
    replies.write_text("".join(line + "\n" for line in demo.read_text().splitlines() if '"system": "good"' in line))
    for name in ("a", "b"):
        run("history", "runs", "--add", replies, "--name", name, "-m", "length")
    ran = run("history", "runs", "--report", "history.html", "--json")
    assert ran.code == 0
    assert [entry["outcome"] for entry in ran.json["metrics"]["length"]] == ["", "identical"]
    page = Path("history.html").read_text()
    assert "How good is each release?" in page
    assert page.count("<svg") >= 1

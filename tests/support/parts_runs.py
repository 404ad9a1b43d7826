"""Runs into folders of parts, on Ray or part by part in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rejoinder.data.source import Source, survey
from rejoinder.data.spans import SpanFinder
from rejoinder.options import OnError
from rejoinder.scoring.parts import PartsJob
from rejoinder.scoring.ray import RayCluster, RayRun
from rejoinder.scoring.run import LocalRun
from rejoinder.scoring.score import choose_metrics

WORDS = "some words go round and round until the end of a long day comes at last".split()
PART = 20


def rows(count: int = 90) -> list[dict[str, Any]]:
    """Replies of two systems to the same contexts, which continue each other."""
    turns = [" ".join(WORDS[n % 7 : n % 7 + 4]) + f" {n}" for n in range(count)]
    return [
        {
            "id": str(n // 2),
            "system": "AB"[n % 2],
            "context": turns[n // 10 * 10 : n // 2 * 2 + 1],
            "response": " ".join(WORDS[n % 5 : n % 13]),
            "references": ["some words go and come"] if n % 3 else [],
            "topic": "xyz"[n // 2 % 3],
        }
        for n in range(count)
    ]


def written(folder: Path, given: Sequence[Any] | None = None, name: str = "replies.jsonl") -> Path:
    """Replies as a file; text is written as it is."""
    given = rows() if given is None else given
    path = folder / name
    if path.suffix == ".parquet":
        pl.DataFrame(given).write_parquet(path)
    else:
        path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in given))
    return path


def runs(
    path: Path, metrics: Any, *, by: Sequence[str] = (), on_error: OnError = "raise", jobs: int | None = None
) -> tuple[LocalRun, RayRun]:
    """The same run on this machine and in parts."""
    source = Source(path, on_error=on_error)
    source.given = source.fields = source.given.__class__(source.given.names, source.given.separator, tuple(by))
    finder = SpanFinder(source, PART // 2)
    seen = survey(source, visitor=finder)
    chosen = choose_metrics(metrics).served_by(seen, source.name)
    settings: Mapping[str, Any] = {
        "seen": seen,
        "metrics": chosen.metrics,
        "name": source.name,
        "resamples": 50,
        "quiet": True,
        "by": tuple(by),
        "jobs": jobs,
    }
    ray_run = RayRun(source, **settings, spans=finder.found(PART), skip_failed=on_error == "skip")
    return LocalRun(source, **settings), ray_run


class InTurn:
    """Stands for a cluster: does the parts in this process, the last one first."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.done: list[tuple[str, int]] = []

    def parts_done(self, job: PartsJob, task: str, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
        for number in reversed(numbers):
            if self.most is not None and len(self.done) >= self.most:
                raise KeyboardInterrupt
            job.check_attempts(number)
            getattr(job, task)(number)
            self.done.append((task, number))
            yield number, ""


@pytest.fixture
def in_turn(monkeypatch: pytest.MonkeyPatch) -> InTurn:
    """Runs in parts need no Ray."""
    cluster = InTurn()

    @contextmanager
    def joined(_: int | None) -> Iterator[InTurn]:
        yield cluster

    monkeypatch.setattr(RayCluster, "joined", joined)
    monkeypatch.setattr("rejoinder.scoring.run.BATCH", PART)  # scores depend on the batch in the last bits
    return cluster


def rows_of(folder: Path) -> pl.DataFrame:
    """The scores of all parts, in order."""
    parts = sorted(folder.glob("part-*.parquet"))
    return pl.concat([pl.read_parquet(part) for part in parts]).select("id", "system", "scores")

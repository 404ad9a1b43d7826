"""Metrics that take their time, fail or kill their process, importable by worker processes."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rejoinder.metrics.batch import Batch
from rejoinder.metrics.overlap import Length
from rejoinder.types import Scores


@dataclass(frozen=True, kw_only=True)
class SlowLength(Length):
    """Sleeps before each batch."""

    name: ClassVar[str] = "slow-length"
    pause: float = 0.1

    def score_batch(self, batch: Batch) -> Scores:
        time.sleep(self.pause)
        return super().score_batch(batch)


@dataclass(frozen=True, kw_only=True)
class FailingLength(Length):
    """Raises an error at a reply that contains a word."""

    name: ClassVar[str] = "failing-length"
    word: str = "fail"

    def score_batch(self, batch: Batch) -> Scores:
        if any(self.word in example.response.split() for example in batch.examples):
            raise ValueError(f"the word {self.word}")
        return super().score_batch(batch)


@dataclass(frozen=True, kw_only=True)
class DyingLength(Length):
    """Kills its process at a reply that contains a word: once per file that does not exist, or each time without."""

    name: ClassVar[str] = "dying-length"
    word: str = "die"
    once: str = ""

    def score_batch(self, batch: Batch) -> Scores:
        met = any(self.word in example.response.split() for example in batch.examples)
        if met and not (self.once and Path(self.once).exists()):
            if self.once:
                Path(self.once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().score_batch(batch)


@dataclass(frozen=True, kw_only=True)
class PrivateCounter(Length):
    """Counts in a way that cannot be shared among processes."""

    name: ClassVar[str] = "private-counter"

    def counter(self) -> _Private:
        return _Private()


class _Private:
    def add(self, batch: Batch, rows: object) -> None:
        pass

    def value(self) -> float:
        return 0.0


@dataclass(frozen=True, kw_only=True)
class OneProcessLength(Length):
    """Must not be shared."""

    name: ClassVar[str] = "one-process-length"
    one_process: ClassVar[bool] = True

"""Seconds that a piece of work takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Taken:
    """Seconds by the clock and of the processor."""

    clock: float
    cpu: float

    def rate(self, count: int, what: str) -> str:
        """How many of something were done per second."""
        return f"{count / self.clock:,.0f} {what} per second, {count / self.cpu:,.0f} per CPU second"


def timed(work: Callable[[], object]) -> Taken:
    """What a call took."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return Taken(time.perf_counter() - clock, time.process_time() - cpu)

"""Progress on standard error: on a terminal a bar with rate and remaining time, elsewhere a line every 30 seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO, TypeVar

FIRST_LINE = 5.0
"""Seconds after which a log says how long the work will take."""
BETWEEN_LINES = 30.0

T = TypeVar("T")


def progress(
    items: Iterable[T], doing: str, *, total: int | None = None, unit: str = "it", quiet: bool = False
) -> Iterator[T]:
    """The same items, with a bar that advances as they are consumed."""
    with bar(doing, total=total, unit=unit, quiet=quiet) as moving:
        for item in items:
            yield item
            moving.update(1)


def bar(doing: str, *, total: int | None, unit: str, quiet: bool = False) -> Any:
    """A bar that the caller advances: `with bar(...) as moving: moving.update(10)`."""
    from tqdm import tqdm

    if not quiet and not sys.stderr.isatty():
        return LogLines(doing, total, unit)
    return tqdm(desc=doing, total=total, unit=f" {unit}", unit_scale=True, disable=quiet, leave=False)


@dataclass
class LogLines:
    """Progress for a log: how long the work will take once that is known, then a line every 30 seconds.

    Work that is done within the first seconds prints nothing.
    """

    doing: str
    total: int | None
    unit: str
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    facts: str = ""
    """What else is known, such as the loss."""

    def __enter__(self) -> LogLines:
        self._start = self.clock()
        self._next = self._start + FIRST_LINE
        self._over = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def update(self, count: int) -> None:
        """Count what was done since the last call."""
        self.done += count
        self.say_where()

    def say_where(self) -> None:
        """Print a line if it is time for one and the work is not done."""
        with self._lock:
            now = self.clock()
            if now >= self._next and not self._over.is_set() and (self.total is None or self.done < self.total):
                self._next = now + BETWEEN_LINES
                self.write(self._line(now - self._start), file=sys.stderr)

    def _beat(self) -> None:
        """Print lines also while a single step takes long."""
        while not self._over.wait(BETWEEN_LINES):
            self.say_where()

    def set_postfix(self, *, refresh: bool = True, **facts: object) -> None:  # noqa: ARG002 - as a bar has it
        """Keep further facts for the next line."""
        self.facts = "".join(f", {name} {value}" for name, value in facts.items())

    def write(self, line: str, *, file: TextIO) -> None:
        """Print a line that is no progress."""
        print(line, file=file)

    def _line(self, seconds: float) -> str:
        if not self.done:
            return f"{self.doing}: the first {self.unit} are not done after {duration(seconds)}{self.facts}"
        if not self.total:
            return f"{self.doing}: {self.done:,} {self.unit}{self.facts}"
        left = seconds * (self.total - self.done) / self.done
        share = f"{self.done:,} of {self.total:,} {self.unit} ({self.done / self.total:.0%})"
        return f"{self.doing}: {share}, about {duration(left)} left{self.facts}"


def duration(seconds: float) -> str:
    """'40 s', '12 min', '3.5 h'."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def beside_bars() -> Any:
    """A context in which lines can be printed on standard error without breaking a bar that is shown."""
    from tqdm import tqdm

    return tqdm.external_write_mode(file=sys.stderr)

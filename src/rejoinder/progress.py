"""Progress on standard error: on a terminal a bar with rate and remaining time, elsewhere a line every 30 seconds.

Work that will take long also says so once its rate is known, with what would be faster.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TextIO, TypeVar

FIRST_LINE = 5.0
"""Seconds after which it is known how long the work will take."""
BETWEEN_LINES = 30.0
LONG = 20.0
"""Seconds from which work says how long it will take, and what would be faster."""

T = TypeVar("T")


def progress(
    items: Iterable[T],
    doing: str,
    *,
    total: int | None = None,
    unit: str = "it",
    quiet: bool = False,
    faster: Sequence[str] = (),
) -> Iterator[T]:
    """The same items, with a bar that advances as they are consumed."""
    with bar(doing, total=total, unit=unit, quiet=quiet, faster=faster) as moving:
        for item in items:
            yield item
            moving.update(1)


def bar(
    doing: str,
    *,
    total: int | None,
    unit: str,
    quiet: bool = False,
    done: int = 0,
    faster: Sequence[str] = (),
    limit: float = math.inf,
) -> Any:
    """A bar that the caller advances: `with bar(...) as moving: moving.update(10)`.

    `done` is what an earlier run did. With `faster`, ways to be done sooner, long work says once how long it will take
    and what these are; `limit` is the number of seconds that it takes at most.
    """
    from tqdm import tqdm

    if quiet or sys.stderr.isatty():
        moving: Any = tqdm(
            desc=doing, total=total, unit=f" {unit}", unit_scale=True, disable=quiet, leave=False, initial=done
        )
    else:
        moving = LogLines(doing, total, unit, done=done, first=BETWEEN_LINES if faster else FIRST_LINE)
    return moving if quiet or not faster or not total else Announcing(moving, doing, total - done, tuple(faster), limit)


@dataclass
class Announcing:
    """A bar that says once, when the rate is known, how long the work will take and what would be faster."""

    moving: Any
    doing: str
    total: int
    """What there is to do in this run."""
    faster: tuple[str, ...]
    limit: float = math.inf
    clock: Callable[[], float] = time.monotonic

    def __enter__(self) -> Announcing:
        self.moving.__enter__()
        self._done, self._first, self._said = 0, (0, 0.0), False
        self._start = self.clock()
        return self

    def __exit__(self, *exception: object) -> None:
        self.moving.__exit__(*exception)

    def update(self, count: int) -> None:
        """Count what was done since the last call."""
        self.moving.update(count)
        self._done += count
        if self._said or not count:
            return
        now = self.clock()
        if not self._first[0]:
            # The first step also loads and allocates: the rate is that of the later ones.
            self._first = (self._done, now)
        elif now - self._first[1] >= FIRST_LINE:
            self._said = True
            rate = (now - self._first[1]) / (self._done - self._first[0])
            seconds = min(now - self._start + rate * (self.total - self._done), self.limit)
            if seconds >= LONG:
                line = f"note: {self.doing} will take about {duration(seconds)}; faster: {', '.join(self.faster)}"
                self.moving.write(line, file=sys.stderr)

    def set_postfix(self, **facts: object) -> None:
        """Show further facts."""
        self.moving.set_postfix(**facts)

    def write(self, line: str, *, file: TextIO) -> None:
        """Print a line that is no progress."""
        self.moving.write(line, file=file)


_LISTENER: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)


@contextmanager
def following(listener: Callable[[float], None]) -> Iterator[None]:
    """While the block runs, `listener` is called with each share of its work that is done; together at most 1."""
    left = 1.0

    def heard(share: float) -> None:
        nonlocal left
        share = min(share, left)
        left -= share
        listener(share)

    token = _LISTENER.set(heard)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def reported(items: Iterable[T], count: int) -> Iterator[T]:
    """The same items, `count` of equal work; whoever follows the work learns when each is done."""
    for item in items:
        yield item
        listener = _LISTENER.get()
        if listener is not None:
            listener(1 / count)


@dataclass
class Ahead:
    """Moves a bar by items of which only a part of the work is known to be done, until all of them are."""

    moving: Any
    work: float = 0.0
    moved: int = 0

    def add(self, items: float) -> None:
        """Count work that amounts to so many items."""
        self.work += items
        whole = int(self.work)
        if whole > self.moved:
            self.moving.update(whole - self.moved)
            self.moved = whole

    def finish(self, items: int) -> None:
        """Count the items that were worked on together as done."""
        self.moving.update(items - self.moved)
        self.work, self.moved = 0.0, 0


@contextmanager
def moved_inside(moving: Any, items: int) -> Iterator[None]:
    """Moves a bar by items that the block works on together, as its work reports what is done."""
    ahead = Ahead(moving)
    with following(lambda share: ahead.add(share * items)):
        yield
    ahead.finish(items)


@contextmanager
def bar_inside(doing: str, items: int, unit: str, *, quiet: bool, faster: Sequence[str] = ()) -> Iterator[None]:
    """A bar over items that the block works on together."""
    with bar(doing, total=items, unit=unit, quiet=quiet, faster=faster) as moving, moved_inside(moving, items):
        yield


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
    first: float = FIRST_LINE
    """Seconds until the first line."""
    facts: str = ""
    """What else is known, such as the loss."""

    def __post_init__(self) -> None:
        self._before = self.done

    def __enter__(self) -> LogLines:
        self._start = self.clock()
        self._next = self._start + self.first
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
        if self.done == self._before:
            return f"{self.doing}: the first {self.unit} are not done after {duration(seconds)}{self.facts}"
        if not self.total:
            return f"{self.doing}: {self.done:,} {self.unit}{self.facts}"
        left = seconds * (self.total - self.done) / (self.done - self._before)
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

"""A progress bar with rate and remaining time, on standard error; nothing where quiet or not on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

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

    hidden = quiet or not sys.stderr.isatty()
    return tqdm(desc=doing, total=total, unit=f" {unit}", unit_scale=True, disable=hidden, leave=False)


def beside_bars() -> Any:
    """A context in which lines can be printed on standard error without breaking a bar that is shown."""
    from tqdm import tqdm

    return tqdm.external_write_mode(file=sys.stderr)

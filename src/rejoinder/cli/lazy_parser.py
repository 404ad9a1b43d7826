"""A parser that gets its options when it is used, so that a command imports nothing for verbs that were not called."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn


class LazyParser(argparse.ArgumentParser):
    """The parser of a verb, whose options `fill` adds at first use."""

    def __init__(
        self, *args: Any, fill: Callable[[argparse.ArgumentParser], None] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._fill = fill

    def filled(self) -> LazyParser:
        """The same parser, with its options."""
        if self._fill is not None:
            fill, self._fill = self._fill, None
            fill(self)
        return self

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse with all options."""
        self.filled()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, which may quote what was given, and exit with code 2."""
        from rejoinder.text.terminal import one_line

        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: error: {one_line(message)}\n")


def sentence(purpose: str) -> str:
    """A purpose as a sentence: lower case in the list of verbs, capitalised in the verb's own help."""
    return purpose[0].upper() + purpose[1:] + "."

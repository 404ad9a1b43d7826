"""A parser that gets its options when it is used, so that a command imports nothing for verbs that were not called."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn


class LazyParser(argparse.ArgumentParser):
    """The parser of a verb, whose options `fill` adds at first use."""

    def __init__(
        self, *args: Any, fill: Callable[[argparse.ArgumentParser], None] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._fill = fill
        self.below: Callable[[], str] | None = None
        if fill is not None and self.description:  # a purpose has lower case in the list of verbs
            self.description = f"{self.description[0].upper()}{self.description[1:]}."

    def filled(self) -> LazyParser:
        """The same parser, with its options."""
        if self._fill is not None:
            fill, self._fill = self._fill, None
            fill(self)
        return self

    def format_help(self) -> str:
        """The help, with what `below` says at its end."""
        if self.below is not None:
            self.epilog = self.below()
        return super().format_help()

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse with all options."""
        self.filled()
        return super().parse_known_args(args, namespace)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parse everything; an argument that is left over is an error, with the options that are spelled like it."""
        found, extra = self.parse_known_args(args, namespace)
        if extra:
            verb = self._verbs.get(getattr(found, "verb", ""), self)
            near = difflib.get_close_matches(extra[0].partition("=")[0], verb._option_string_actions)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            verb.error(f"unrecognized arguments: {' '.join(extra)}{hint}")
        return found

    @property
    def _verbs(self) -> Mapping[str, LazyParser]:
        """Verb -> its parser."""
        below = [action.choices for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        return below[0] if below else {}

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise an error for a value that is none of the choices; for a verb, with those that are spelled like it."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            near = difflib.get_close_matches(str(value), action.choices)
            hint = f"did you mean {' or '.join(near)}?" if near else f"expected {', '.join(action.choices)}"
            self.error(f"unknown {str(action.metavar).lower()} {value!r}; {hint}")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        """Print the message, which may quote what was given, and exit with code 2."""
        from rejoinder.errors import without_secrets
        from rejoinder.show.text import one_line

        self.exit(2, f"{self.prog}: {one_line(without_secrets(message))} (`{self.prog} --help` explains)\n")

"""What a command prints: results on standard output; notes, checks and errors on standard error."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rejoinder.folders.outputs import Output

CHECK_FAILED = 3
"""The exit code where the work was done, and a check that was asked for failed."""
NOT_DECIDED = 4
"""The exit code where no check failed, but one could not be decided: its metric cannot judge the replies."""

_MOST_LISTED = 20


def say(message: str, arguments: argparse.Namespace) -> None:
    """Print a note on standard error, unless quiet."""
    from rejoinder.show.text import one_line

    if not arguments.quiet:
        put(one_line(message), file=sys.stderr)


def put(result: object, file: TextIO | None = None) -> None:
    """Print a result or a note; control characters that came with the data are shown as escapes."""
    from rejoinder.show.text import terminal_safe

    print(terminal_safe(str(result), newlines=True), file=file)


def terminal_width() -> int:
    """The width of the terminal, which tables and sentences fit into; 80 where the output goes elsewhere."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80


def print_json(values: Mapping[str, Any]) -> None:
    """Print one object on standard output."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    put(json.dumps(values, indent=2, ensure_ascii=not utf8, allow_nan=False))


def show(result: Any, arguments: argparse.Namespace) -> None:
    """Print a result on standard output, as text or as JSON, and its notes on standard error.

    A result with a `text` method is fitted into the terminal.
    """
    if arguments.json:
        print_json(result.to_dict())
    else:
        put(result.text(terminal_width()) if hasattr(result, "text") else result)
    say_notes(result, arguments)


def say_notes(result: Any, arguments: argparse.Namespace) -> None:
    """Print the notes of a result on standard error."""
    for note in result.notes:
        say(f"note: {note}", arguments)


def say_skipped(skipped: Sequence[str], arguments: argparse.Namespace) -> None:
    """Print how many examples were left out, and the first of them."""
    if not skipped:
        return
    say(f"left out {len(skipped)} unreadable {'example' if len(skipped) == 1 else 'examples'}:", arguments)
    for error in skipped[:_MOST_LISTED]:
        say(f"  {error}", arguments)
    if len(skipped) > _MOST_LISTED:
        say(f"  ... and {len(skipped) - _MOST_LISTED} more", arguments)


def check_failed(reasons: Sequence[str], undecided: Sequence[str] = ()) -> int:
    """The exit code of checks; why each failed or is not decided is printed, also where notes are not wanted."""
    from rejoinder.show.text import one_line

    for told, sentences in (("check failed", reasons), ("check not decided", undecided)):
        for sentence in sentences:
            print(f"rejoinder: {told}: {one_line(sentence)}", file=sys.stderr)
    return CHECK_FAILED if reasons else NOT_DECIDED if undecided else 0


_WRITTEN = {"output", "report", "write_arpa"}
"""Options that name files to write."""


def files_read(arguments: argparse.Namespace) -> list[Any]:
    """All files that the options name, except those to write."""
    from rejoinder.data.opening import files_of
    from rejoinder.folders.outputs import named_files

    given = [value for name, value in vars(arguments).items() if name not in _WRITTEN]
    texts = [text for value in given for text in _as_list(value) if isinstance(text, str)]
    replies = _as_list(getattr(arguments, "replies", None) or [])  # may be folders and patterns
    return [*texts, *(file for name in replies for file in files_of(name, name) or []), *named_files(*given)]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def report_outputs(path: str | None) -> list[Output]:
    """The report as an output to reserve, where one was asked for."""
    from rejoinder.folders.outputs import Output, output_path

    return [] if path is None else [Output(output_path(path), (".html",))]

"""One tree of exceptions. What a user can put right is reported on one line, without a stack trace.

RejoinderError             exit code 1: the work failed
├── WorkerError            exit code 1: a process that did part of the work ended, or a part failed; resuming may help
├── CallError              exit code 2: the call was wrong (unknown name, bad parameter, needs not met)
│   ├── UnknownNameError   no such metric, parameter, field; suggests similar names
│   ├── NeedsError         the metric needs something that the data lack
│   └── MissingExtraError  an optional dependency is not installed; gives the command that installs it
├── DataError              exit code 2: the input was wrong; file, line, field and what was expected
└── LeakageError           exit code 2: an evaluator would be tested on contexts that it was trained on
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

LONGEST_SHOWN = 80
"""Characters of a value that a message shows."""
LONGEST_MESSAGE = 2000
"""Characters. A longer message is cut in the middle: file names, names and values in it may be of any length."""
_MOST_LISTED = 50  # names
_LONGEST_FILE_NAME = 250
_URL = re.compile(r"""\b([a-z][a-z0-9+.-]{1,30}:/{1,2})([^\s'"<>]+)""", re.IGNORECASE)
_SECRET_PARTS = re.compile(r"^.*@|(?<=[?#]).+")


class RejoinderError(Exception):
    """Any error that this package raises on purpose."""

    exit_code = 1

    def __init__(self, message: object = "") -> None:
        super().__init__(cut(without_secrets(str(message)), LONGEST_MESSAGE))


class WorkerError(RejoinderError):
    """A process that did part of the work ended before it was done; an interrupted run can be resumed."""


class CallError(RejoinderError):
    """The call was wrong: an unknown name, a bad parameter, options that do not go together."""

    exit_code = 2


class UnknownNameError(CallError):
    """A name that does not exist, with similar ones that do."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        known = sorted(known)
        by_folded_name: dict[str, list[str]] = {}
        for candidate in known:
            # Comparing names of thousands of characters would take minutes.
            by_folded_name.setdefault(candidate[:LONGEST_SHOWN].casefold(), []).append(candidate)
        given = name[:LONGEST_SHOWN].casefold() if isinstance(name, str) else ""
        matches = difflib.get_close_matches(given, by_folded_name, n=3, cutoff=0.5)
        near = [candidate for match in matches for candidate in by_folded_name[match]]
        if near:
            hint = f"did you mean {listed(near, ' or ')}?"
        else:
            hint = f"known: {listed(known)}" if known else "there are none"
        super().__init__(f"unknown {kind} {shortened(name)}; {hint}")


class NeedsError(CallError):
    """A metric needs something (references, context) that the data do not have."""


class MissingExtraError(CallError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install '.[{extra}]' in a checkout of rejoinder")


class LeakageError(RejoinderError):
    """Training and test data share contexts."""

    exit_code = 2


class DataError(RejoinderError):
    """Input that cannot be read; says where, and what was expected."""

    exit_code = 2

    def __init__(self, problem: str, *, file: str = "", line: int = 0, field: str = "") -> None:
        self.problem, self.file, self.line, self.field = problem, file, line, field
        place = ":".join(part for part in (cut(file, _LONGEST_FILE_NAME), str(line) if line else "") if part)
        parts = (place, f"field {shortened(field)}" if field else "", problem)
        super().__init__(": ".join(part for part in parts if part))


def shortened(value: object, longest: int = LONGEST_SHOWN) -> str:
    """The value's `repr`, cut to a length that fits a message."""
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # a number of too many digits, lists nested too deeply
        shown = f"<{type(value).__name__}>"
    return shown if len(shown) <= longest else f"{shown[:longest]}..."


def without_secrets(text: str) -> str:
    """The text with stars in place of names, passwords and parameters in URLs, at the same length."""
    return _URL.sub(lambda url: url[1] + _SECRET_PARTS.sub(lambda part: "*" * len(part[0]), url[2]), text)


def listed(names: Iterable[object], separator: str = ", ") -> str:
    """Names from outside for a message: "a, b and 7 more"; "" for none."""
    each = [cut(str(name), LONGEST_SHOWN) for name in names]
    more = f" and {len(each) - _MOST_LISTED:,} more" if len(each) > _MOST_LISTED else ""
    return separator.join(each[:_MOST_LISTED]) + more


def cut(text: str, longest: int) -> str:
    """The text, without its middle if it has more than `longest` characters."""
    if len(text) <= longest:
        return text
    tail = (longest - 3) // 4
    return f"{text[: longest - 3 - tail]}...{text[len(text) - tail :]}"

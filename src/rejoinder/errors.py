"""One tree of exceptions. What a user can put right is reported on one line, without a stack trace.

RejoinderError             exit code 1: the work failed
├── CallError              exit code 2: the call was wrong (unknown name, bad parameter, needs not met)
│   ├── UnknownNameError   no such metric, parameter, field; suggests similar names
│   ├── NeedsError         the metric needs something that the data lack
│   └── MissingExtraError  an optional dependency is not installed; gives the command that installs it
├── DataError              exit code 2: the input was wrong; file, line, field and what was expected
└── LeakageError           exit code 2: an evaluator would be tested on contexts that it was trained on
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST_MESSAGE = 2000
"""Characters. A longer message is cut in the middle: file names, names and values in it may be of any length."""
_MOST_LISTED = 50  # names
_LONGEST_NAME = 60  # characters


def shortened(text: str, longest: int) -> str:
    """The text, with its middle left out if it has more than `longest` characters."""
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 4
    return f"{text[: longest - 1 - tail]}…{text[len(text) - tail :]}"


def quoted(text: object, longest: int = _LONGEST_NAME) -> str:
    """A name or value from outside for a message: in quotes, control characters escaped, shortened."""
    return repr(shortened(str(text), longest))


def listed(names: Iterable[object]) -> str:
    """Names from outside for a message: "a, b and 7 more"; "" for none."""
    each = [shortened(str(name), _LONGEST_NAME) for name in names]
    more = f" and {len(each) - _MOST_LISTED:,} more" if len(each) > _MOST_LISTED else ""
    return ", ".join(each[:_MOST_LISTED]) + more


class RejoinderError(Exception):
    """Anything that this package raises on purpose."""

    exit_code = 1

    def __init__(self, message: object = "") -> None:
        super().__init__(shortened(str(message), LONGEST_MESSAGE))


class CallError(RejoinderError):
    """The call cannot be carried out as it was written."""

    exit_code = 2


class UnknownNameError(CallError):
    """A name that nothing bears, with those that look like it."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        spelt: dict[str, list[str]] = {}
        for one in known:
            # Comparing names of thousands of characters would take minutes.
            spelt.setdefault(shortened(one, _LONGEST_NAME).casefold(), []).append(one)
        matches = difflib.get_close_matches(shortened(name, _LONGEST_NAME).casefold(), spelt, n=3, cutoff=0.5)
        near = [one for match in matches for one in spelt[match]]
        if near:
            hint = f"did you mean {' or '.join(shortened(one, _LONGEST_NAME) for one in near)}?"
        else:
            hint = f"known: {listed(known)}" if known else "there are none"
        super().__init__(f"unknown {kind} {quoted(name)}; {hint}")


class NeedsError(CallError):
    """A metric needs something (references, context) that the data do not have."""


class MissingExtraError(CallError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'rejoinder[{extra}]'")


class LeakageError(RejoinderError):
    """Training and test data share contexts."""

    exit_code = 2


class DataError(RejoinderError):
    """Input that cannot be read; says where, and what was expected."""

    exit_code = 2

    def __init__(self, problem: str, *, file: str = "", line: int = 0, field: str = "") -> None:
        self.problem, self.file, self.line, self.field = problem, file, line, field
        place = ":".join(part for part in (file, str(line) if line else "") if part)
        parts = (place, f"field {quoted(field)}" if field else "", problem)
        super().__init__(": ".join(part for part in parts if part))

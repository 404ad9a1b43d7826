"""Foreign text made safe to print.

System names, dimensions, labels, field names and file names come from outside, and a terminal obeys the control
characters in them: they could clear the screen, overwrite a line, or reverse the direction of the text. Everything that
a command prints goes through this module (tests/cli/test_foreign_text.py).
"""

from __future__ import annotations

import json
import unicodedata

from rejoinder.errors import LONGEST_MESSAGE, cut

# Control characters, format characters (bidi marks, zero-width and tag characters), lone surrogates, and the two
# separators that end a line.
_ESCAPED_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # harmless, and part of emoji and of Persian and Indian spelling


def terminal_safe(text: str, *, newlines: bool = False) -> str:
    r"""The text with control characters, bidi marks and line breaks shown as escapes: \n, \u001b, \u202e.

    `newlines` keeps line breaks, for output that has been laid out in lines. The escapes are those of JSON, so JSON
    that is made safe is still the same JSON.
    """
    if text.isprintable():
        return text
    return "".join(_escaped(character) if _is_unsafe(character, newlines) else character for character in text)


def one_line(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """The text on one line that is safe to print, without its middle if it is too long to be read."""
    return terminal_safe(cut(" ".join(text.splitlines()), longest))


def _is_unsafe(character: str, newlines: bool) -> bool:
    if character == "\n":
        return not newlines
    return unicodedata.category(character) in _ESCAPED_CATEGORIES and character not in _JOINERS


def _escaped(character: str) -> str:
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]

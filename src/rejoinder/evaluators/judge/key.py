"""The key of an endpoint: where it comes from, which addresses are refused because they hold one, and its removal from
every text that a server sends.

The key is read from an environment variable and sent in one header. An address may hold no secret, because it is part
of signatures, reports and messages. A server may repeat the key in any field of an answer, so that answers are parsed
by `KeyCleaner`, before anything else reads, keeps or shows them.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator
from itertools import accumulate
from typing import Any
from urllib.parse import unquote, urlsplit

from rejoinder.errors import CallError

SHORTEST_CLEANED = 8
"""Characters of a key. A shorter one, such as `x`, `none` or `sk-`, is made up for a local server, and removing it
would change ordinary words."""
DEEPEST = 50
"""Levels of an answer's JSON; a deeper one cannot be used."""
REMOVED = "[key]"

_QUERY = re.compile(r"(api-version=[0-9a-z.-]{1,40})?", re.IGNORECASE)
"""Azure's endpoints need the version; every other parameter is refused, because any name may stand for a secret."""
_VARIABLE = re.compile("[A-Z_][A-Z0-9_]*")
_HEADER = re.compile("[A-Za-z][A-Za-z0-9-]*")


def check_key(variable: str, header: str) -> None:
    """Raise a CallError unless these can be names of an environment variable and of a header; they are not shown."""
    if not _VARIABLE.fullmatch(variable) and variable not in os.environ:
        raise CallError(
            "judge: key_variable must be the name of an environment variable, such as OPENAI_API_KEY, and not the key"
        )
    if not _HEADER.fullmatch(header):
        raise CallError("judge: key_header must be the name of a header, such as Authorization or api-key")


def check_url(url: str, key_variable: str) -> None:
    """Raise a CallError unless this is the address of an endpoint without a secret; the address is not shown."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = None
    printable = url.isprintable() and " " not in url
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname or not printable:
        raise CallError("judge: url must be the address of an endpoint, such as http://localhost:8080/v1")
    path = unquote(parts.path)
    named = "@" in parts.netloc or parts.fragment or not _QUERY.fullmatch(parts.query) or re.search("[?&;=]", path)
    if named or KeyCleaner(os.environ.get(key_variable, "").strip()).text(url) != url:
        raise CallError(
            "judge: url must not hold a password, a key or other parameters (only api-version is accepted): set the "
            f"environment variable {key_variable} to the key, and it is sent in a header (key_variable names another "
            "variable, key_header another header)"
        )


def key_of(variable: str) -> str:
    """The key in an environment variable; "" where it is not set."""
    key = os.environ.get(variable, "").strip()
    if re.search(r"[^\x21-\x7e]", key):
        raise CallError(
            f"judge: the key in the environment variable {variable} cannot be sent: expected letters, digits and "
            "punctuation without spaces or line breaks"
        )
    return key


class KeyCleaner:
    """Removes a key from texts and JSON of a server, in the forms that programs write it in."""

    def __init__(self, key: str) -> None:
        cleaned = len(key) >= SHORTEST_CLEANED
        self._shortest = len(key)
        self._pattern = re.compile("|".join([_escaped(key), *_in_base64(key)]) if cleaned else r"(?!)")

    def text(self, text: str) -> str:
        """The text without the key."""
        return text if len(text) < self._shortest else self._pattern.sub(REMOVED, text)

    def parsed(self, content: str | bytes) -> Any:
        """JSON without the key in any name or value; a ValueError for what is no JSON, or too deep."""
        try:
            whole = [json.loads(content)]
        except RecursionError:
            raise ValueError("nested too deeply") from None
        level: list[Any] = [whole]
        for _ in range(DEEPEST + 1):
            level = [inner for container in level for inner in self._clean(container)]
            if not level:
                return whole[0]
        raise ValueError("nested too deeply")

    def _clean(self, container: Any) -> list[Any]:
        """The containers within an object or a list, whose own names and values are cleaned in place.

        Log-probabilities make an answer long, but its texts short: those too short for the key are passed over.
        """
        if type(container) is dict:
            for name in [one for one in container if len(one) >= self._shortest]:
                container[self.text(name)] = container.pop(name)
        else:
            self._clean_spread(container)
        inner = []
        for place, value in container.items() if type(container) is dict else enumerate(container):
            kind = type(value)
            if kind is dict or kind is list:
                inner.append(value)
            elif kind is str and len(value) >= self._shortest:
                container[place] = self.text(value)
            elif kind is int and value >= 10 ** (SHORTEST_CLEANED - 1) and self.text(str(value)) != str(value):
                container[place] = REMOVED
        return inner

    def _clean_spread(self, values: list[Any]) -> None:
        """Remove the key from a list over which it is spread: of bytes, or of an answer's tokens."""
        if len(values) >= self._shortest and all(type(one) is int and 0 <= one < 256 for one in values):
            if self._pattern.search(bytes(values).decode("latin-1")):
                values.clear()
        elif values and all(type(one) is dict and type(one.get("token")) is str for one in values):
            self._clean_tokens(values)

    def _clean_tokens(self, entries: list[dict[str, Any]]) -> None:
        """Leave only their place of the tokens that together hold the key."""
        text = "".join(entry["token"] for entry in entries)
        if self.text(text) == text:
            return
        ends = list(accumulate(len(entry["token"]) for entry in entries))
        for match in self._pattern.finditer(text):
            for place, end in enumerate(ends):
                if match.start() < end and (ends[place - 1] if place else 0) < match.end():
                    entries[place] = {"token": REMOVED}


def _escaped(key: str) -> str:
    """A pattern of the key, whose characters may be escaped as in JSON (also in JSON within JSON), URLs and HTML."""
    # Eight backslashes escape a character four times. Without a limit, a long run of them would take hours.
    return "".join(
        rf"(?:\\{{{len(part)},{8 * len(part)}}}|(?i:%5c){{{len(part)}}})"
        if part[0] == "\\"
        else rf"(?:\\{{0,8}}{re.escape(part)}|(?i:%{ord(part):02x}|\\{{1,8}}u{ord(part):04x}|{_entities(part)}))"
        for part in re.findall(r"\\+|.", key)
    )


def _entities(character: str) -> str:
    """A pattern of a character as HTML spells it."""
    named = "&(?:quot|amp|lt|gt|apos);" if character in "\"&<>'" else ""
    each = {f"&#0?{ord(character)};", f"&#x0?{ord(character):x};", named}
    return "|".join(sorted(each - {""}))


def _in_base64(key: str) -> Iterator[str]:
    """Patterns of the key in base64; after a user's name, as in Basic authentication, it starts anywhere in 3 bytes."""
    for offset in range(3):
        encoded = b64encode(bytes(offset) + key.encode()).decode().rstrip("=")
        # The first characters, and the last one, also depend on what is around the key.
        inner = encoded[(0, 2, 3)[offset] : len(encoded) - ((offset + len(key)) % 3 > 0)]
        yield re.escape(inner)
        yield re.escape(inner.replace("+", "-").replace("/", "_"))

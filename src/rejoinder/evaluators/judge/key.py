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
from html import escape
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
            return self._cleaned(json.loads(content), 0)
        except RecursionError:
            raise ValueError("nested too deeply") from None

    def _cleaned(self, value: Any, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self._cleaned(inner, depth + 1) for name, inner in value.items()}
        if isinstance(value, list):
            return self._cleaned_list(value, depth)
        # Only integers: a number of another form is not how a key of digits is repeated.
        return REMOVED if type(value) is int and self.text(str(value)) != str(value) else value

    def _cleaned_list(self, values: list[Any], depth: int) -> list[Any]:
        """The list without the key, which may also be spread over tokens, or be spelled as bytes."""
        if values and all(type(one) is int and 0 <= one < 256 for one in values):
            return [] if self._pattern.search(bytes(values).decode("latin-1")) else values
        if values and all(isinstance(one, dict) and isinstance(one.get("token"), str) for one in values):
            values = self._without_tokens(values)
        return [self._cleaned(one, depth + 1) for one in values]

    def _without_tokens(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The tokens of an answer; of those that together hold the key, only the place is left."""
        ends = list(accumulate(len(entry["token"]) for entry in entries))
        text, found = "".join(entry["token"] for entry in entries), list(entries)
        for match in self._pattern.finditer(text):
            for place, end in enumerate(ends):
                if end - len(entries[place]["token"]) < match.end() and match.start() < end:
                    found[place] = {"token": REMOVED}
        return found


def _escaped(key: str) -> str:
    """A pattern of the key, whose characters may be escaped as in JSON (also in JSON within JSON), URLs and HTML."""
    each = []
    for character in key:
        code = ord(character)
        entity = "|".join({rf"#x0*{code:x};", rf"#0*{code};", re.escape(escape(character).removeprefix("&"))})
        each.append(rf"(?:\\*{re.escape(character)}|%(?i:{code:02x})|\\+(?i:u{code:04x})|&(?i:{entity}))")
    return "".join(each)


def _in_base64(key: str) -> Iterator[str]:
    """Patterns of the key in base64; after a user's name, as in Basic authentication, it starts anywhere in 3 bytes."""
    for offset in range(3):
        encoded = b64encode(bytes(offset) + key.encode()).decode().rstrip("=")
        # The first characters, and the last one, also depend on what is around the key.
        inner = encoded[(0, 2, 3)[offset] : len(encoded) - ((offset + len(key)) % 3 > 0)]
        yield re.escape(inner)
        yield re.escape(inner.replace("+", "-").replace("/", "_"))

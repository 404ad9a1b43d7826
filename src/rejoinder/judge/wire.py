"""One HTTP request to an OpenAI-compatible endpoint: key, limits, retries, and errors reported in one line."""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
from base64 import b64encode
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from rejoinder.errors import CallError, RejoinderError

if TYPE_CHECKING:
    import httpx2

    from rejoinder.judge.cost import Charge

# One HTTP request to an OpenAI-compatible endpoint: limits, retries, and errors reported in one line.
#
# Every text of a server passes through here, and leaves without the key (`key`). A redirect is refused, because the key
# would travel with it.


LARGEST_ANSWER = 4 << 20
"""Bytes of an answer that are read; a longer one cannot be used."""
_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504}
_LONGEST_WAIT = 120.0
_LONGEST_MESSAGE = 300


class JudgeError(RejoinderError):
    """The endpoint does not answer, or its answer cannot be used."""


class RefusedError(JudgeError):
    """The endpoint refused the request: asking again would not help."""

    exit_code = 2

    def __init__(self, status: int, host: str, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(f"{host} refused the request ({status}): {message}")


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """The address of an endpoint, and its rate limits."""

    url: str
    key_variable: str = "OPENAI_API_KEY"
    key_header: str = "Authorization"
    concurrency: int = 8
    requests_per_minute: float = 0.0
    """0: no limit."""
    tokens_per_minute: float = 0.0
    timeout: float = 120.0
    retries: int = 6

    @property
    def address(self) -> str:
        """What is posted to."""
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        path = path if path.endswith("/chat/completions") else f"{path}/chat/completions"
        return parts._replace(path=path).geturl()

    @property
    def host(self) -> str:
        """Who receives the texts."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


@dataclass(frozen=True)
class _Try:
    """What came of sending a request once."""

    problem: str = ""
    answer: dict[str, Any] | None = None
    wait: float | None = None
    """Seconds to wait before the next try; None: our own choice."""
    lost: bool = False
    """Whether the endpoint may have answered, and charged for it, although there is no answer that can be used."""


@dataclass
class Wire:
    """Posts requests; may be used from several threads."""

    endpoint: Endpoint
    pace: Pace = field(init=False)

    def __post_init__(self) -> None:
        import httpx2

        self.pace = Pace(self.endpoint.requests_per_minute, self.endpoint.tokens_per_minute)
        key = key_of(self.endpoint.key_variable)
        self.cleaner = KeyCleaner(key)
        bearer = self.endpoint.key_header.lower() == "authorization"
        headers = {self.endpoint.key_header: f"Bearer {key}" if bearer else key} if key else {}
        try:
            self._client = httpx2.Client(
                headers=headers,
                timeout=self.endpoint.timeout,
                follow_redirects=False,
                limits=httpx2.Limits(max_connections=self.endpoint.concurrency),
            )
        except (ValueError, ImportError, httpx2.InvalidURL) as error:  # proxies that environment variables name
            raise CallError(
                f"judge: the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used ({error})"
            ) from None

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    def post(self, body: Mapping[str, Any], charge: Charge) -> dict[str, Any]:
        """The endpoint's answer; every try is reserved and counted by `charge`."""
        problem = ""
        for attempt in range(self.endpoint.retries + 1):
            self.pace.wait(charge.tokens)
            found = self._once(body, charge)
            if found.answer is not None:
                return found.answer
            problem = found.problem
            if attempt < self.endpoint.retries:
                backoff = min(60.0, 0.5 * 2.0**attempt) * random.uniform(0.5, 1.5)
                time.sleep(min(_LONGEST_WAIT, found.wait if found.wait is not None else backoff))
        raise JudgeError(
            f"{self.endpoint.host} gave no usable answer in {self.endpoint.retries + 1} tries ({problem}); what was "
            "answered so far is kept, so that the same command resumes"
        )

    def _once(self, body: Mapping[str, Any], charge: Charge) -> _Try:
        """What came of one try, whose cost is reserved before it is sent, and counted afterwards."""
        charge.reserve()
        found = _Try()
        try:
            found = self._sent(body)
        finally:
            charge.settle(found.answer, lost=found.lost)
        return found

    def _sent(self, body: Mapping[str, Any]) -> _Try:
        import httpx2

        try:
            with self._client.stream("POST", self.endpoint.address, json=body) as response:
                content = self._content(response)
                status, headers = response.status_code, response.headers
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError) as error:
            return _Try(type(error).__name__)
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            return _Try(type(error).__name__, lost=True)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise JudgeError(self._shown(f"{self.endpoint.host}: {error}")) from None
        if 300 <= status < 400:
            raise RefusedError(status, self.endpoint.host, "it redirects elsewhere, where the key must not go")
        if status in _AGAIN:
            return _Try(f"status {status}", wait=_retry_after(headers))
        if status >= 400:
            raise RefusedError(status, self.endpoint.host, self._shown(self._message(content)))
        if len(content) > LARGEST_ANSWER:
            return _Try("an answer of more than 4 MiB", lost=True)
        try:
            answer = self.cleaner.parsed(content)
        except ValueError:
            return _Try("an answer that is not JSON, or nested too deeply", lost=True)
        if not isinstance(answer, dict):
            return _Try("an answer that is not a JSON object", lost=True)
        return _Try(answer=answer)

    def _content(self, response: httpx2.Response) -> bytes:
        """The body, up to a byte above the largest that is read."""
        parts, size = [], 0
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > LARGEST_ANSWER:
                break
        return b"".join(parts)

    def _message(self, content: bytes) -> str:
        """What the server says is wrong."""
        try:
            found = self.cleaner.parsed(content)
        except ValueError:
            return content.decode("utf-8", "replace").replace("\0", "")  # of UTF-16, between the letters of a key
        error = found.get("error", found) if isinstance(found, dict) else found
        message = error.get("message", error) if isinstance(error, dict) else error
        return message if isinstance(message, str) else json.dumps(found, ensure_ascii=False)

    def _shown(self, text: str) -> str:
        """A text from the server without the key, in one short line."""
        shown = " ".join(self.cleaner.text(text).split())
        return shown if len(shown) <= _LONGEST_MESSAGE else f"{shown[:_LONGEST_MESSAGE]}..."


@dataclass
class Pace:
    """Keeps requests and tokens within an endpoint's limits per minute."""

    requests: float
    tokens: float
    _sent: deque[tuple[float, int]] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, tokens: int) -> None:
        """Wait until a request of `tokens` tokens may be sent."""
        while (seconds := self._reserve(tokens)) > 0:
            time.sleep(seconds)

    def _reserve(self, tokens: int) -> float:
        """0 where it may be sent now, and is counted; else how long to wait before asking again."""
        if not self.requests and not self.tokens:
            return 0.0
        with self._lock:
            now = time.monotonic()
            while self._sent and now - self._sent[0][0] >= 60:
                self._sent.popleft()
            used = sum(count for _, count in self._sent)
            many = self.requests and len(self._sent) >= self.requests
            large = self.tokens and self._sent and used + tokens > self.tokens
            if many or large:
                return max(0.01, 60 - (now - self._sent[0][0]))
            self._sent.append((now, tokens))
            return 0.0


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks us to wait: a number, or a date."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds else None  # NaN is not a valid waiting time


# The key of an endpoint: where it comes from, which addresses are refused because they hold one, and its removal
# from every text that a server sends.
#
# The key is read from an environment variable and sent in one header. An address may hold no secret, because it is part
# of signatures, reports and messages. A server may repeat the key in any field of an answer, so that answers are parsed
# by `KeyCleaner`, before anything else reads, keeps or shows them.


SHORTEST_CLEANED = 8
"""Characters of a key. A shorter one, such as `x`, `none` or `sk-`, is made up for a local server, and removing it
would change ordinary words."""
DEEPEST = 50
"""Levels of an answer's JSON; a deeper one cannot be used."""
REMOVED = "[key]"

_QUERY = re.compile(r"(api-version=(\d{4}-\d\d-\d\d(-preview)?|v\d{1,2}|preview|latest))?", re.IGNORECASE | re.ASCII)
"""Azure's endpoints need the version; every other parameter is refused, because any name may stand for a secret, and so
is what is no version."""
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

"""One HTTP request to an OpenAI-compatible endpoint: limits, retries, and errors reported in one line.

The key comes from an environment variable, is sent in one header, and appears nowhere else: not in a message, a file
or a log. A redirect is refused, because the key would travel with it.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rejoinder.errors import CallError, RejoinderError

if TYPE_CHECKING:
    import httpx2

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
    concurrency: int = 8
    requests_per_minute: float = 0.0
    """0: no limit."""
    tokens_per_minute: float = 0.0
    timeout: float = 120.0
    retries: int = 6

    @property
    def address(self) -> str:
        """What is posted to."""
        base = self.url.rstrip("/")
        return base if base.endswith("/chat/completions") else f"{base}/chat/completions"

    @property
    def host(self) -> str:
        """Who receives the texts."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


def check_url(url: str) -> None:
    """Raise a CallError unless this is the address of an endpoint."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise CallError(f"judge: url must be the address of an endpoint, such as http://localhost:8080/v1, not {url!r}")
    if parts.username or parts.password:
        raise CallError("judge: url must not hold a password: give the key in an environment variable")


@dataclass
class Wire:
    """Posts requests; may be used from several threads."""

    endpoint: Endpoint
    pace: Pace = field(init=False)

    def __post_init__(self) -> None:
        import httpx2

        self.pace = Pace(self.endpoint.requests_per_minute, self.endpoint.tokens_per_minute)
        self._key = os.environ.get(self.endpoint.key_variable, "")
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = httpx2.Client(
            headers=headers,
            timeout=self.endpoint.timeout,
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=self.endpoint.concurrency),
        )

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    def post(self, body: Mapping[str, Any], tokens: int) -> dict[str, Any]:
        """The endpoint's answer to a request of about `tokens` tokens."""
        problem = ""
        for attempt in range(self.endpoint.retries + 1):
            self.pace.wait(tokens)
            wait, problem, answer = self._once(body)
            if answer is not None:
                return answer
            if attempt < self.endpoint.retries:
                backoff = min(60.0, 0.5 * 2.0**attempt) * random.uniform(0.5, 1.5)
                time.sleep(min(_LONGEST_WAIT, wait if wait is not None else backoff))
        raise JudgeError(
            f"{self.endpoint.host} gave no usable answer in {self.endpoint.retries + 1} tries ({problem}); what was "
            "answered so far is kept, so that the same command resumes"
        )

    def _once(self, body: Mapping[str, Any]) -> tuple[float | None, str, dict[str, Any] | None]:
        """How long to wait (None: our own choice), the problem, and the answer if there is one."""
        import httpx2

        try:
            with self._client.stream("POST", self.endpoint.address, json=body) as response:
                content = self._content(response)
                status, headers = response.status_code, response.headers
        except httpx2.TransportError as error:
            return None, type(error).__name__, None
        except httpx2.HTTPError as error:
            raise JudgeError(self._clean(f"{self.endpoint.host}: {error}")) from None
        if 300 <= status < 400:
            raise RefusedError(status, self.endpoint.host, "it redirects elsewhere, where the key must not go")
        if status in _AGAIN:
            return _retry_after(headers), f"status {status}", None
        if status >= 400:
            raise RefusedError(status, self.endpoint.host, self._clean(_message(content)))
        if len(content) > LARGEST_ANSWER:
            return None, "an answer of more than 4 MiB", None
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            return None, "an answer that is not JSON", None
        return (None, "", answer) if isinstance(answer, dict) else (None, "an answer that is not a JSON object", None)

    def _content(self, response: httpx2.Response) -> bytes:
        """The body, up to a byte above the largest that is read."""
        parts, size = [], 0
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > LARGEST_ANSWER:
                break
        return b"".join(parts)

    def _clean(self, text: str) -> str:
        """A text from the server without the key, in one short line."""
        shown = " ".join(text.split())
        if self._key:
            shown = shown.replace(self._key, "[key]")
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


def _message(content: bytes) -> str:
    """What the server says is wrong."""
    text = content[:4096].decode("utf-8", "replace")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return text
    error = found.get("error", found) if isinstance(found, dict) else found
    message = error.get("message", error) if isinstance(error, dict) else error
    return message if isinstance(message, str) else text

"""One HTTP request to an OpenAI-compatible endpoint: limits, retries, and errors reported in one line.

Every text of a server passes through here, and leaves without the key (`key`). A redirect is refused, because the key
would travel with it.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rejoinder.errors import RejoinderError
from rejoinder.evaluators.judge.key import KeyCleaner, key_of

if TYPE_CHECKING:
    import httpx2

    from rejoinder.evaluators.judge.cost import Charge

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
        self._client = httpx2.Client(
            headers=headers,
            timeout=self.endpoint.timeout,
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=self.endpoint.concurrency),
        )

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
            return content.decode("utf-8", "replace")
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

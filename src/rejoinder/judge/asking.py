"""Many questions to one endpoint: cached answers are reused, other questions are sent concurrently.

The capabilities of an endpoint are detected once, from its first answer, and stored: there is no list of models here.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from rejoinder.errors import CallError
from rejoinder.judge.cost import AskingPlan, Budget, Charge, CostLimitError, Meter, Prices, estimate_note
from rejoinder.judge.prompt import PromptMessage, TokenUsage, has_logprobs, token_usage
from rejoinder.judge.wire import Endpoint, RefusedError, Wire
from rejoinder.progress import bar

EndpointAnswer = dict[str, Any]
T = TypeVar("T")

_BYTES = 3
"""Bytes per token, for estimates before sending: SmolLM2 needs 3.6 for our requests in English, so this is on the safe
side; characters would be far off for Chinese."""


@dataclass(frozen=True)
class Abilities:
    """The parameters that an endpoint accepts, and whether it returns log-probabilities."""

    logprobs: bool = True
    alternatives: int = 20
    """The largest `top_logprobs` that it accepts."""
    max_tokens: str = "max_tokens"
    """The name of the token limit; newer OpenAI models use another."""
    unwanted: tuple[str, ...] = ()
    """Other parameters that it refuses."""


@dataclass(frozen=True)
class JudgeQuestion:
    """One question; asked several times where the endpoint gives no log-probabilities."""

    messages: tuple[PromptMessage, ...]
    max_tokens: int
    response_format: Mapping[str, Any] | None = None
    first_sample: int = 0
    """The number of the first sample; another number asks the same again, past the cache."""

    @property
    def read(self) -> int:
        """About how many tokens are read."""
        return sum(len(message["content"].encode("utf-8", "replace")) for message in self.messages) // _BYTES

    def usage(self, answer: EndpointAnswer) -> TokenUsage:
        """The tokens of an answer to this question, once."""
        return token_usage(answer, self.read, self.max_tokens)


@dataclass
class Asker:
    """Asks one model at one endpoint; connections and cache are open only during a call."""

    model: str
    endpoint: Endpoint
    cache: Path
    meter: Meter
    samples: int = 5
    """Answers per question where there are no log-probabilities."""
    budgets: list[Budget] = field(default_factory=list)
    """Limits on the cost: of this judge alone, and of all judges of a run together."""
    quiet: bool = False

    def ask(
        self, questions: Sequence[JudgeQuestion], read: Callable[[EndpointAnswer], T], doing: str = "judging"
    ) -> list[list[T]]:
        """What `read` makes of the answers to each question: one, or one per sample; in the questions' order.

        Only the results are kept in memory, because an answer with its log-probabilities has thousands of bytes.
        """
        if not questions:
            return []
        with closing(Wire(self.endpoint)) as wire, closing(AnswerCache(self.cache, wire.cleaner.parsed)) as cache:
            session = _Session(self, wire, cache)
            abilities = session.abilities(questions[0])
            keys = [self._keys(question, abilities) for question in questions]
            wanted = {key: (number, sample) for number, row in enumerate(keys) for sample, key in enumerate(row)}

            def answer(key: str, moving: Any) -> T:
                number, sample = wanted[key]
                question = questions[number]
                body = self.body(question, abilities, question.first_sample + sample)
                return read(session.sent(key, body, question, moving))

            found = session.cached(wanted, read)
            missing = [key for key in wanted if key not in found]
            with bar(doing, total=len(missing), unit="requests", quiet=self.quiet) as moving:
                try:
                    session.in_threads(lambda key: found.update({key: answer(key, moving)}), missing)
                except CostLimitError as error:  # what was under way has been counted since
                    raise CostLimitError(error.budget, error.next_cost) from None
        return [[found[key] for key in row] for row in keys]

    def planned(self, questions: Sequence[JudgeQuestion]) -> AskingPlan:
        """What asking would send; nothing is sent, and no file is made."""
        if not self.cache.is_file():
            return self._planned(questions, None, lambda _: False)
        with closing(AnswerCache(self.cache)) as cache:
            known = cache.abilities(self.endpoint.url, self.model)
            return self._planned(questions, known, lambda key: cache.find(key) is not None)

    def tokens_spent(self, questions: Sequence[JudgeQuestion]) -> tuple[TokenUsage, int]:
        """The tokens of the answers in the cache, and how many of the questions have answers."""
        spent, answered = TokenUsage(), 0
        with closing(AnswerCache(self.cache)) as cache:
            known = cache.abilities(self.endpoint.url, self.model)
            abilities = Abilities() if known is None else _abilities(known)
            for question in questions:
                found = [cache.find(key) for key in self._keys(question, abilities)]
                spent = sum((question.usage(answer) for answer in found if answer is not None), spent)
                answered += any(answer is not None for answer in found)
        return spent, answered

    def _planned(
        self, questions: Sequence[JudgeQuestion], known: Mapping[str, Any] | None, in_cache: Callable[[str], bool]
    ) -> AskingPlan:
        abilities = Abilities() if known is None else _abilities(known)
        asked = {key: question for question in questions for key in self._keys(question, abilities)}
        missing = [question for key, question in asked.items() if not in_cache(key)]
        read, written = sum(question.read for question in missing), sum(question.max_tokens for question in missing)
        # Without log-probabilities, the first question is asked once more, to find that out.
        more = len(missing) * (self.samples - 1) + 1 if known is None and missing else 0
        cost = self.meter.prices.cost(read, written)
        return AskingPlan(len(missing), len(asked) - len(missing), read, written, cost, more)

    def _keys(self, question: JudgeQuestion, abilities: Abilities) -> list[str]:
        """The key of each sample's request."""
        first = question.first_sample
        samples = range(first, first + (1 if abilities.logprobs else self.samples))
        return [self.key(self.body(question, abilities, sample), sample) for sample in samples]

    def body(self, question: JudgeQuestion, abilities: Abilities, sample: int) -> dict[str, Any]:
        """The request as the endpoint accepts it."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(question.messages),
            "temperature": 1.0,
            "seed": sample,
            abilities.max_tokens: question.max_tokens,
        }
        if abilities.logprobs:
            body |= {"logprobs": True, "top_logprobs": abilities.alternatives}
        if question.response_format is not None:
            body["response_format"] = question.response_format
        return {key: value for key, value in body.items() if key not in abilities.unwanted}

    def key(self, body: Mapping[str, Any], sample: int) -> str:
        """What the answer is found by in the cache."""
        return request_key(self.endpoint.url, body, sample)


@dataclass
class _Session:
    """One round of questions."""

    asker: Asker
    wire: Wire
    cache: AnswerCache

    def cached(self, keys: Mapping[str, object], read: Callable[[EndpointAnswer], T]) -> dict[str, T]:
        """The answers that the cache holds."""
        found = {key: read(known) for key in keys if (known := self.cache.find(key)) is not None}
        self.asker.meter.cached += len(found)
        return found

    def in_threads(self, work: Callable[[str], None], keys: Sequence[str]) -> None:
        """Run all; the first error cancels what has not started, and is raised."""
        waiting, threads = deque(keys), min(self.asker.endpoint.concurrency, len(keys))

        def worker() -> None:
            while (key := _taken(waiting)) is not None:
                work(key)

        with ThreadPoolExecutor(max(1, threads), thread_name_prefix="judge") as pool:
            try:
                running: list[Future[None]] = [pool.submit(worker) for _ in range(threads)]
                wait(running, return_when=FIRST_EXCEPTION)
            finally:
                waiting.clear()
            for future in running:
                future.result()

    def sent(self, key: str, body: dict[str, Any], question: JudgeQuestion, moving: Any) -> EndpointAnswer:
        """The endpoint's answer, kept in the cache."""
        meter = self.asker.meter
        answer = self._posted(body, question)
        self.cache.keep(key, self.asker.model, answer, question.usage(answer))
        moving.update(1)
        if meter.prices != Prices():
            estimated = " estimated" if estimate_note([meter]) else ""
            moving.set_postfix(cost=f"{meter.cost:.4g}{estimated}", refresh=False)
        return answer

    def _posted(self, body: dict[str, Any], question: JudgeQuestion) -> EndpointAnswer:
        """The endpoint's answer; its cost is counted."""
        asker = self.asker
        return self.wire.post(body, Charge(asker.meter, asker.budgets, question.read, question.max_tokens))

    def abilities(self, question: JudgeQuestion) -> Abilities:
        """The stored capabilities of the endpoint, or those shown by its answer to this question."""
        url, model = self.asker.endpoint.url, self.asker.model
        known = self.cache.abilities(url, model)
        if known is not None:
            return _abilities(known)
        abilities = Abilities()
        while True:
            sample = question.first_sample
            body = self.asker.body(question, abilities, sample)
            try:
                answer = self._posted(body, question)
            except RefusedError as error:
                adapted = _without(abilities, error)
                if adapted == abilities:
                    raise
                abilities = adapted
                continue
            if abilities.logprobs and not has_logprobs(answer):
                abilities = replace(abilities, logprobs=False)
            else:
                self.cache.keep(self.asker.key(body, sample), model, answer, question.usage(answer))
                self.asker.meter.cached -= 1  # it is found there at once, but was sent in this run
            self.cache.learn(url, model, asdict(abilities))
            return abilities


def _taken(waiting: deque[str]) -> str | None:
    """The next key; None where none is left. Safe with several threads."""
    try:
        return waiting.popleft()
    except IndexError:
        return None


def _without(abilities: Abilities, error: RefusedError) -> Abilities:
    """The capabilities to try after a refusal that names a parameter; unchanged if it names none."""
    if error.status not in {400, 404, 422}:
        return abilities
    said = error.message.lower()
    if "logprob" in said:
        fewer = abilities.alternatives > 5 and "top_logprobs" in said
        return replace(abilities, alternatives=5) if fewer else replace(abilities, logprobs=False)
    if "max_tokens" in said and abilities.max_tokens == "max_tokens":
        return replace(abilities, max_tokens="max_completion_tokens")
    for name in ("temperature", "seed", "response_format"):
        if name in said and name not in abilities.unwanted:
            return replace(abilities, unwanted=(*abilities.unwanted, name))
    return abilities


def _abilities(known: Mapping[str, Any]) -> Abilities:
    return Abilities(**{**known, "unwanted": tuple(known.get("unwanted", ()))})


# Every answer of a judge, kept in SQLite: a second run costs nothing, and an interrupted one resumes.
#
# An answer is found by a hash of the address, the whole request and the number of the sample. Neither the request nor
# the key of the endpoint is stored: answers arrive without it (`key`), and those that an earlier version stored are
# read without it.


_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, response TEXT NOT NULL, read INTEGER NOT NULL, written INTEGER NOT NULL,
    made TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE IF NOT EXISTS endpoints (url TEXT, model TEXT, abilities TEXT NOT NULL, PRIMARY KEY (url, model));
"""


def default_path() -> Path:
    """The default location of answers: the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return Path(base or Path.home() / ".cache") / "rejoinder" / "judge.sqlite"


class AnswerCache:
    """Answers by request; may be used from several threads, and by several processes at once."""

    def __init__(self, path: Path, parse: Callable[[str], Any] = json.loads) -> None:
        self.path, self._parse = path, parse
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, check_same_thread=False, timeout=60, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise CallError(f"{path} cannot hold a judge's answers ({error})") from error

    def find(self, key: str) -> dict[str, Any] | None:
        """The stored response to a request."""
        row = self._run("SELECT response FROM answers WHERE key = ?", key)
        if row is None:
            return None
        try:
            found = self._parse(row[0])
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def keep(self, key: str, model: str, response: Mapping[str, Any], usage: TokenUsage) -> None:
        """Store a response; it is on disk when this returns."""
        self._run(
            "INSERT OR REPLACE INTO answers (key, model, response, read, written) VALUES (?, ?, ?, ?, ?)",
            key,
            model,
            json.dumps(response),
            usage.read,
            usage.written,
        )

    def abilities(self, url: str, model: str) -> dict[str, Any] | None:
        """The stored capabilities of an endpoint."""
        row = self._run("SELECT abilities FROM endpoints WHERE url = ? AND model = ?", url, model)
        return None if row is None else json.loads(row[0])

    def learn(self, url: str, model: str, abilities: Mapping[str, Any]) -> None:
        """Store the capabilities of an endpoint."""
        self._run("INSERT OR REPLACE INTO endpoints VALUES (?, ?, ?)", url, model, json.dumps(abilities))

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._database.close()

    def _run(self, statement: str, *values: object) -> Any:
        with self._lock:
            try:
                return self._database.execute(statement, values).fetchone()
            except sqlite3.Error as error:
                raise CallError(f"{self.path} cannot hold a judge's answers ({error})") from error


def request_key(url: str, body: Mapping[str, Any], sample: int) -> str:
    """The hash that an answer is stored under."""
    text = json.dumps([url, body, sample], sort_keys=True, ensure_ascii=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()

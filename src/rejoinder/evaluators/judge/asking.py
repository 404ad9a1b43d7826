"""Many questions to one endpoint: cached answers are reused, other questions are sent concurrently.

The capabilities of an endpoint are detected once, from its first answer, and stored: there is no list of models here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rejoinder.evaluators.judge.answers import has_logprobs, tokens_of
from rejoinder.evaluators.judge.cache import AnswerCache, request_key
from rejoinder.evaluators.judge.prompt import Message
from rejoinder.evaluators.judge.wire import Endpoint, JudgeError, RefusedError, Wire
from rejoinder.progress import bar

Answer = dict[str, Any]

_CHARACTERS = 4
"""Characters per English token, for estimates before sending."""


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
class Question:
    """One question; asked several times where the endpoint gives no log-probabilities."""

    messages: tuple[Message, ...]
    max_tokens: int
    response_format: Mapping[str, Any] | None = None

    @property
    def tokens(self) -> int:
        """About how many tokens are read and written."""
        return sum(len(message["content"]) for message in self.messages) // _CHARACTERS + self.max_tokens


@dataclass(frozen=True)
class Prices:
    """Prices per million tokens, in any currency."""

    read: float = 0.0
    written: float = 0.0

    def cost(self, read: int, written: int) -> float:
        """The cost of these tokens."""
        return (read * self.read + written * self.written) / 1e6


@dataclass
class Meter:
    """Requests, tokens and cost of what was sent; cached answers do not count."""

    prices: Prices
    requests: int = 0
    cached: int = 0
    read: int = 0
    written: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, tokens: tuple[int, int]) -> None:
        """Count one answer."""
        with self._lock:
            self.requests += 1
            self.read += tokens[0]
            self.written += tokens[1]

    @property
    def cost(self) -> float:
        """So far."""
        return self.prices.cost(self.read, self.written)


@dataclass
class Asker:
    """Asks one model at one endpoint; connections and cache are open only during a call."""

    model: str
    endpoint: Endpoint
    cache: Path
    meter: Meter
    samples: int = 5
    """Answers per question where there are no log-probabilities."""
    max_cost: float | None = None
    quiet: bool = False

    def ask(self, questions: Sequence[Question], doing: str = "judging") -> list[list[Answer]]:
        """The answers to each question: one, or one per sample; in the questions' order."""
        if not questions:
            return []
        with closing(Wire(self.endpoint)) as wire, closing(AnswerCache(self.cache)) as cache:
            return _Session(self, wire, cache).ask(questions, doing)

    def planned(self, questions: Sequence[Question]) -> tuple[int, int, int]:
        """How many requests would be sent, how many are in the cache, and about how many tokens; nothing is sent."""
        with closing(Wire(self.endpoint)) as wire, closing(AnswerCache(self.cache)) as cache:
            return _Session(self, wire, cache).planned(questions)


@dataclass
class _Session:
    """One round of questions."""

    asker: Asker
    wire: Wire
    cache: AnswerCache

    def ask(self, questions: Sequence[Question], doing: str) -> list[list[Answer]]:
        """The answers to each question."""
        abilities = self._abilities(questions[0])
        count = 1 if abilities.logprobs else self.asker.samples
        bodies = [[self._body(question, abilities, sample) for sample in range(count)] for question in questions]
        keys = [[self._key(body, sample) for sample, body in enumerate(row)] for row in bodies]
        jobs = {
            key: (body, question)
            for question, row, row_keys in zip(questions, bodies, keys, strict=True)
            for body, key in zip(row, row_keys, strict=True)
        }
        found = self._answers(jobs, doing)
        return [[found[key] for key in row] for row in keys]

    def planned(self, questions: Sequence[Question]) -> tuple[int, int, int]:
        """How many requests would be sent, how many are in the cache, and about how many tokens."""
        known = self.cache.abilities(self.asker.endpoint.url, self.asker.model)
        abilities = Abilities() if known is None else _abilities(known)
        sent = cached = tokens = 0
        for question in questions:
            for sample in range(1 if abilities.logprobs else self.asker.samples):
                if self.cache.find(self._key(self._body(question, abilities, sample), sample)) is None:
                    sent, tokens = sent + 1, tokens + question.tokens
                else:
                    cached += 1
        return sent, cached, tokens

    def _answers(self, jobs: Mapping[str, tuple[dict[str, Any], Question]], doing: str) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        for key in jobs:
            known = self.cache.find(key)
            if known is not None:
                found[key] = known
        self.asker.meter.cached += len(found)
        missing = [key for key in jobs if key not in found]
        with bar(doing, total=len(missing), unit="requests", quiet=self.asker.quiet) as moving:
            self._in_threads(lambda key: found.update({key: self._sent(key, *jobs[key], moving)}), missing)
        return found

    def _in_threads(self, work: Callable[[str], None], keys: Sequence[str]) -> None:
        """Run all; the first error cancels what has not started, and is raised."""
        pool = ThreadPoolExecutor(self.asker.endpoint.concurrency, thread_name_prefix="judge")
        try:
            running: list[Future[None]] = [pool.submit(work, key) for key in keys]
            wait(running, return_when=FIRST_EXCEPTION)
            for future in running:
                if future.done() and not future.cancelled() and (error := future.exception()) is not None:
                    raise error
        finally:
            pool.shutdown(cancel_futures=True)

    def _sent(self, key: str, body: dict[str, Any], question: Question, moving: Any) -> Answer:
        most, meter = self.asker.max_cost, self.asker.meter
        if most is not None and meter.cost + meter.prices.cost(question.tokens, question.max_tokens) > most:
            raise JudgeError(
                f"stopped before the cost would exceed {most:g}: {meter.cost:.4g} so far; what was answered is kept, "
                "so that the same command with a higher limit resumes"
            )
        answer = self.wire.post(body, question.tokens)
        tokens = tokens_of(answer)
        self.cache.keep(key, self.asker.model, answer, tokens)
        meter.add(tokens)
        moving.update(1)
        if meter.prices != Prices():
            moving.set_postfix(cost=f"{meter.cost:.4g}", refresh=False)
        return answer

    def _abilities(self, question: Question) -> Abilities:
        """The stored capabilities of the endpoint, or those shown by its answer to this question."""
        url = self.asker.endpoint.url
        known = self.cache.abilities(url, self.asker.model)
        if known is not None:
            return _abilities(known)
        abilities = Abilities()
        while True:
            body = self._body(question, abilities, 0)
            try:
                answer = self.wire.post(body, question.tokens)
            except RefusedError as error:
                adapted = _without(abilities, error)
                if adapted == abilities:
                    raise
                abilities = adapted
                continue
            self.asker.meter.add(tokens_of(answer))
            if abilities.logprobs and not has_logprobs(answer):
                abilities = replace(abilities, logprobs=False)
            else:
                self.cache.keep(self._key(body, 0), self.asker.model, answer, tokens_of(answer))
            self.cache.learn(url, self.asker.model, asdict(abilities))
            return abilities

    def _body(self, question: Question, abilities: Abilities, sample: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.asker.model,
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

    def _key(self, body: Mapping[str, Any], sample: int) -> str:
        return request_key(self.asker.endpoint.url, body, sample)


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

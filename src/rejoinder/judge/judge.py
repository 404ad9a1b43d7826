"""The metrics `judge` and `jury`: one score from 1 to 5 per reply, by one language model or by several."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rejoinder._version import __version__
from rejoinder.data.contexts import TrainedContexts
from rejoinder.errors import CallError
from rejoinder.evaluators.calibration import HIGHEST, LOWEST
from rejoinder.folders.sources import require_extra
from rejoinder.judge.asking import Asker, EndpointAnswer, JudgeQuestion, default_path
from rejoinder.judge.cost import AskingPlan, Budget, Meter, Prices, estimate_note
from rejoinder.judge.prompt import (
    JudgeAnswer,
    Rubric,
    Shot,
    TokenUsage,
    draw_shots,
    load_rubric,
    mean_verdict,
    messages,
    verdict_of,
)
from rejoinder.judge.wire import Endpoint, check_key, check_url
from rejoinder.metrics.base import Metric, Watcher
from rejoinder.metrics.batch import Batch
from rejoinder.registry import load
from rejoinder.show.text import one_line
from rejoinder.types import Example, Scores

# A language model as a metric: one score from 1 to 5 per reply, asked over an OpenAI-compatible endpoint.
#
# rejoinder score replies.jsonl -m 'judge(model=NAME, url="http://localhost:8080/v1")'


_DIGIT_TOKENS = 4
"""Of an answer: some models write white space before the digit."""
_REASON_TOKENS = 160
_SCHEMA: Mapping[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "judgement",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}, "reason": {"type": "string"}},
            "required": ["score", "reason"],
            "additionalProperties": False,
        },
    },
}


@dataclass(frozen=True, kw_only=True)
class Judge(Metric):
    """The mean over the digits 1 to 5, weighted by the probability that the model gives each."""

    name: ClassVar[str] = "judge"
    measures: ClassVar[str] = "rating of a reply by a language model, from 1 to 5, by a rubric"
    citation: ClassVar[str] = "Liu et al. 2023, G-Eval"
    range: ClassVar[tuple[float, float]] = (LOWEST, HIGHEST)
    one_process: ClassVar[bool] = True

    model: str
    """The model's name at the endpoint."""
    url: str
    """The address of an OpenAI-compatible endpoint, such as http://localhost:8080/v1."""
    rubric: str = "overall"
    """What is judged: a name (overall, relevance, specificity, ...) or the path of a TOML file."""
    references: bool = False
    """Show the references to the judge too."""
    judged: str = ""
    """A file of judged replies, from which worked examples are drawn."""
    dimension: str | None = None
    """The ratings of `judged` that the worked examples show; the only one, or the overall one, unless given."""
    shots: int = 4
    """Worked examples per request, where `judged` is given."""
    samples: int = 5
    """Answers per reply, where the endpoint gives no log-probabilities."""
    reason: bool = False
    """Ask for a reason after the score."""
    key_variable: str = "OPENAI_API_KEY"
    """The environment variable that holds the endpoint's key."""
    key_header: str = "Authorization"
    """The header that the key is sent in; Azure's is api-key."""
    concurrency: int = 8
    """Requests at the same time."""
    requests_per_minute: float = 0.0
    """0: no limit."""
    tokens_per_minute: float = 0.0
    """0: no limit."""
    timeout: float = 120.0
    """Seconds to wait for an answer."""
    retries: int = 6
    """Retries if the endpoint fails or is busy."""
    price_read: float = 0.0
    """Price per million tokens of requests, for the running cost."""
    price_written: float = 0.0
    """Price per million tokens of answers."""
    max_cost: float | None = None
    """Stop before the cost exceeds this."""
    cache: str = ""
    """The SQLite file for answers; by default in the user's cache folder."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_key(self.key_variable, self.key_header)
        check_url(self.url, self.key_variable)
        for name in ("samples", "concurrency"):
            if getattr(self, name) < 1:
                raise CallError(f"{self.name}: {name} must be at least 1, not {getattr(self, name)}")
        for name in ("shots", "retries", "requests_per_minute", "tokens_per_minute", "price_read", "price_written"):
            if not getattr(self, name) >= 0:
                raise CallError(f"{self.name}: {name} must be at least 0, not {getattr(self, name)}")
        if not self.timeout > 0 or (self.max_cost is not None and not self.max_cost > 0):
            raise CallError(f"{self.name}: timeout and max_cost must be above 0")
        if self.max_cost is not None and not self.price_read and not self.price_written:
            raise CallError(f"{self.name}: max_cost needs price_read or price_written, what a million tokens cost")
        _ = self.rubric_read

    @property
    def needs(self) -> frozenset[str]:
        """Contexts; references where the rubric or the caller wants them."""
        return frozenset({"context", "references"} if self.shows_references else {"context"})

    @property
    def cannot_score(self) -> str:
        """The reason why a reply cannot be scored."""
        return f"no {' or no '.join(sorted(self.needs))}, or an answer that could not be used"

    @property
    def shows_references(self) -> bool:
        """Whether the judge sees the references."""
        return self.references or "references" in self.rubric_read.needs

    @cached_property
    def rubric_read(self) -> Rubric:
        """What is judged."""
        return load_rubric(self.rubric)

    @cached_property
    def worked(self) -> tuple[Shot, ...]:
        """Judged replies to draw worked examples from."""
        if not self.judged or not self.shots:
            return ()
        return draw_shots(Path(self.judged), self.dimension)

    @property
    def trained_contexts(self) -> TrainedContexts:
        """The contexts that worked examples come from."""
        return TrainedContexts.of([shot.example for shot in self.worked])

    @cached_property
    def asker(self) -> Asker:
        """Who asks the endpoint."""
        require_extra("judge", "an LLM judge")
        endpoint = Endpoint(
            url=self.url,
            key_variable=self.key_variable,
            key_header=self.key_header,
            concurrency=self.concurrency,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            timeout=self.timeout,
            retries=self.retries,
        )
        cache = Path(self.cache) if self.cache else default_path()
        meter = Meter(Prices(self.price_read, self.price_written))
        budgets = [] if self.max_cost is None else [Budget(self.max_cost, [meter])]
        return Asker(self.model, endpoint, cache, meter, self.samples, budgets)

    def score_batch(self, batch: Batch) -> Scores:
        """One score per example; 1 for an empty reply, NaN if the judge's answer cannot be used."""
        return np.array([verdict.score for verdict in self.verdicts(batch)], np.float64)

    def reasons(self, batch: Batch) -> Sequence[str]:
        """The judge's justification of each score; empty if none was asked for."""
        return [verdict.reason for verdict in self.verdicts(batch)] if self.reason else ()

    def verdicts(self, batch: Batch) -> list[JudgeAnswer]:
        """The judge's answer for each example; asked once per batch."""
        return batch.keep(("judge", self), lambda: self._ask(batch))

    def planned(self, examples: Sequence[Example]) -> AskingPlan:
        """What scoring would send."""
        return self.asker.planned([self.question(example) for example in examples if self.is_asked(example)])

    def asked_again(self, examples: Sequence[Example], sample: int) -> Scores:
        """The scores by other samples of the same requests, numbered from `sample`; the cache has its own entries."""
        name_host(self.asker.endpoint.host)
        questions = [replace(self.question(example), first_sample=sample) for example in examples]
        answers = self.asker.ask(questions, self._verdict, "repeating")
        return np.array([mean_verdict(found).score for found in answers], np.float64)

    def tokens_spent(self, examples: Sequence[Example]) -> tuple[TokenUsage, int]:
        """The tokens of the answers about these examples in the cache, and how many examples have answers."""
        return self.asker.tokens_spent([self.question(example) for example in examples if self.is_asked(example)])

    def watcher(self) -> _Unscored:
        """A counter of replies that could not be scored, by reason."""
        return _Unscored(self)

    def notes(self) -> list[str]:
        """How much was sent so far, and what it cost."""
        meter = self.asker.meter
        cost = f", cost {meter.cost:.4g}" if meter.prices != Prices() else ""
        tokens = f"{meter.usage.read} tokens read and {meter.usage.written} written"
        spent = f"{tokens}{cost}{estimate_note([meter])}"
        return [f"{meter.requests} requests sent, {meter.cached} answers from the cache; {spent}"]

    @property
    def signature(self) -> str:
        """Everything that determines the score; rate limits, prices and the cache do not."""
        rubric = f"{self.rubric_read.name}@{self.rubric_read.digest}"
        parts = [self.name, f"model:{self.model}", f"url:{self.url}", f"rubric:{rubric}", f"samples:{self.samples}"]
        if self.shows_references:
            parts.append("references:true")
        if self.reason:
            parts.append("reason:true")
        if self.worked:
            shown = json.dumps([[shot.example.context, shot.example.response, shot.score] for shot in self.worked])
            parts.append(f"shots:{self.shots}@{blake2b(shown.encode(), digest_size=4).hexdigest()}")
        return "|".join([*parts, f"v:{__version__}"])

    def _ask(self, batch: Batch) -> list[JudgeAnswer]:
        lowest = JudgeAnswer(LOWEST)
        verdicts = [lowest if blank else JudgeAnswer(np.nan) for blank in batch.blank.tolist()]
        rows = [row for row, example in enumerate(batch.examples) if self.is_asked(example)]
        if not rows:
            return verdicts
        name_host(self.asker.endpoint.host)
        answers = self.asker.ask([self.question(batch.examples[row]) for row in rows], self._verdict)
        for row, found in zip(rows, answers, strict=True):
            verdicts[row] = mean_verdict(found)
        return verdicts

    def _verdict(self, answer: EndpointAnswer) -> JudgeAnswer:
        return verdict_of(answer, reason=self.reason)

    def question(self, example: Example) -> JudgeQuestion:
        """The question about one example."""
        shots = [shot for shot in self.worked if shot.example.context != example.context][: self.shots]
        asked = messages(self.rubric_read, example, references=self.shows_references, reason=self.reason, shots=shots)
        if self.reason:
            return JudgeQuestion(tuple(asked), _REASON_TOKENS, _SCHEMA)
        return JudgeQuestion(tuple(asked), _DIGIT_TOKENS)

    def is_asked(self, example: Example) -> bool:
        """Whether the model is asked about it: not about an empty reply, or one that lacks what the rubric needs."""
        return bool(example.response.strip()) and all(getattr(example, need) for need in self.needs)


class _Unscored:
    """Counts unusable answers by problem."""

    def __init__(self, judge: Judge) -> None:
        self._judge, self._problems, self._systems = judge, Counter[str](), set[str]()

    def add(self, batch: Batch) -> None:
        """Take a batch into account."""
        self._problems.update(verdict.problem for verdict in self._judge.verdicts(batch) if verdict.problem)
        self._systems.update(example.system for example in batch.examples)

    def notes(self) -> list[str]:
        """The problems with their counts, and the cost."""
        notes = [f"{count} answers could not be used: {problem}" for problem, count in self._problems.most_common(5)]
        return [*notes, *self._judge.notes(), *family_notes(self._judge.model, self._systems)]


_NAMED: set[str] = set()


def name_host(host: str) -> None:
    """Print once, before the first request, where the texts are sent."""
    if host not in _NAMED:
        _NAMED.add(host)
        print(one_line(f"judge: contexts and replies are sent to {host}"), file=sys.stderr)


# Several judges as one: the mean of their scores, and how much they disagree.


@dataclass(frozen=True, kw_only=True)
class Jury(Metric):
    """The mean score of several judges; a reply that one of them does not score is judged by the others."""

    name: ClassVar[str] = "jury"
    measures: ClassVar[str] = "what several language models say of a reply, on average, from 1 to 5"
    citation: ClassVar[str] = "Verga et al. 2024, Replacing Judges with Juries"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    cannot_score: ClassVar[str] = "no context, or no answer that could be used"
    range: ClassVar[tuple[float, float]] = (LOWEST, HIGHEST)
    one_process: ClassVar[bool] = True

    members: tuple[str, ...]
    """Judges, such as 'judge(model=NAME, url=ADDRESS)'."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        members: object = self.members  # a mistake that types do not stop: one name in place of several
        if isinstance(members, str) or len(self.members) < 2:
            raise CallError(f"{self.name}: members must be a list of at least two judges, not {self.members!r}")
        _ = self.judges

    @cached_property
    def judges(self) -> tuple[Judge, ...]:
        """The members."""
        found = tuple(load(member) if isinstance(member, str) else member for member in self.members)
        for member, judge in zip(self.members, found, strict=True):
            if not isinstance(judge, Judge):
                raise CallError(f"{self.name}: {member} is not a judge: expected judge(model=..., url=...)")
        return found

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The members."""
        return self.judges

    def reasons(self, batch: Batch) -> Sequence[str]:
        """The justifications of all judges that were asked for one, each after the name of its model."""
        given = [(judge.model, reasons) for judge in self.judges if (reasons := judge.reasons(batch))]
        rows = range(len(batch)) if given else ()
        return ["\n".join(f"{model}: {reasons[row]}" for model, reasons in given if reasons[row]) for row in rows]

    def score_batch(self, batch: Batch) -> Scores:
        """The mean over the judges with a usable answer; NaN if none has one."""
        return mean_known([judge.score_batch(batch) for judge in self.judges])

    def watcher(self) -> Watcher:
        """Measures how much the judges disagree, and collects the notes of each."""
        return _Disagreement(self)

    @property
    def signature(self) -> str:
        """The judges' signatures."""
        return f"{self.name}({'; '.join(judge.signature for judge in self.judges)})"


class _Disagreement:
    def __init__(self, jury: Jury) -> None:
        self._jury = jury
        self._watchers = [judge.watcher() for judge in jury.judges]
        self._spreads: list[Scores] = []

    def add(self, batch: Batch) -> None:
        """Take a batch into account."""
        columns = np.array([judge.score_batch(batch) for judge in self._jury.judges])
        known = ~np.isnan(columns).any(axis=0)
        self._spreads.append(columns[:, known].std(axis=0, ddof=1))
        for watcher in self._watchers:
            watcher.add(batch)

    def notes(self) -> list[str]:
        """The mean standard deviation over judges, then the notes of each judge."""
        spreads = np.concatenate(self._spreads) if self._spreads else np.empty(0)
        notes = []
        if len(spreads):
            notes.append(f"the judges' scores of a reply have a standard deviation of {spreads.mean():.2f} on average")
        for judge, watcher in zip(self._jury.judges, self._watchers, strict=True):
            notes += [f"{judge.model}: {note}" for note in watcher.notes()]
        return notes


def mean_known(columns: Sequence[Scores]) -> Scores:
    """The mean of the numbers that are known; NaN where none is."""
    table = np.array(columns)
    known = ~np.isnan(table)
    total = np.where(known, table, 0.0).sum(axis=0)
    counted = known.sum(axis=0)
    mean: Scores = np.divide(total, counted, out=np.full(table.shape[1], np.nan), where=counted > 0)
    return mean


# Whether a judge and the systems that it judges seem to be of one model family, by their names.
#
# Language models score their own texts higher than people do (Panickssery et al. 2024, "LLM evaluators recognize and
# favor their own generations").


_WORD = re.compile("[a-z]{3,}")
_COMMON = frozenset("model chat bot base large small medium mini instruct api new old the system baseline test".split())
"""Words that name no family."""


def family_of(model: str) -> str:
    """The first word of a model's name, without its owner: llama of meta-llama/Llama-3.1-8B; "" if there is none."""
    return next((word for word in _words(model.rpartition("/")[2]) if word not in _COMMON), "")


def family_notes(model: str, systems: Iterable[str]) -> list[str]:
    """A warning for the systems whose name contains the family of the judge's model."""
    family = family_of(model)
    alike = sorted({system for system in systems if family and family in _words(system)})
    if not alike:
        return []
    return [
        f"{model} and the judged {', '.join(alike)} seem to be of one family, {family}: models tend to favour replies "
        "of their own family; add a judge of another one"
    ]


def _words(name: str) -> list[str]:
    """Runs of at least three letters."""
    return _WORD.findall(name.lower())


# What the judges among some metrics would send, and the most that they may cost together.


def judges_in(metrics: Iterable[Metric]) -> list[Judge]:
    """The judges among the metrics and within them (jury, ensemble), each once."""
    found: dict[int, Judge] = {}
    for metric in metrics:
        if isinstance(metric, Judge):
            found[id(metric)] = metric
        found |= {id(judge): judge for judge in judges_in(metric.parts)}
    return list(found.values())


def limit_cost(judges: Sequence[Judge], most: float) -> None:
    """Make all judges stop before they have cost more than this together; a CallError without judges or prices."""
    if not judges:
        raise CallError("a limit on the cost is for judges: none of the metrics is one")
    if not most > 0:
        raise CallError(f"the limit on the cost must be above 0, not {most:g}")
    for judge in judges:
        if judge.asker.meter.prices == Prices():
            raise CallError(f"a limit on the cost needs price_read or price_written of the judge {judge.model}")
    budget = Budget(most, [judge.asker.meter for judge in judges])
    for judge in judges:
        judge.asker.budgets.append(budget)


def planned(judges: Sequence[Judge], examples: Sequence[Example]) -> dict[str, AskingPlan]:
    """What each judge would send to score the examples; nothing is sent."""
    plans: dict[str, AskingPlan] = {}
    for judge in judges:
        label = f"{judge.model} at {judge.asker.endpoint.host}"
        plans[label] = AskingPlan.total([plans.get(label, AskingPlan()), judge.planned(examples)])
    return plans

"""A study: questions about replies, read from a TOML file, and the template of a new one."""

from __future__ import annotations

import dataclasses
import json
import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from rejoinder.errors import CallError, DataError, UnknownNameError
from rejoinder.people.sample import DESIGNS

# A study: questions about replies, the number of items per rater, and attention checks. Read from a TOML file.
#
# title = "Which chatbot is better?"
# examples = "replies.jsonl"
# raters_per_item = 3
# items_per_rater = 40
#
# [[questions]]
# name = "overall"
# text = "How good is this reply?"
# low = 1
# high = 5


ItemKind = Literal["scale", "pair", "write"]
_MOST_POINTS = 11


@dataclass(frozen=True, kw_only=True)
class WorkedExample:
    """An example for raters: a reply, the answer that it should get, and why."""

    context: tuple[str, ...]
    response: str
    answer: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question to raters."""

    name: str
    text: str
    kind: ItemKind = "scale"
    """scale: a number for a reply; pair: which of two replies is better; write: the rater writes a reply."""
    low: int = 1
    high: int = 5
    labels: tuple[str, ...] = ()
    """What the points of the scale mean: one text per point, or two for both ends."""
    ties: bool = True
    """Whether "about the same" may be chosen, for pairs."""
    page: int = 1
    """Questions with a lower number are answered first, on a separate page."""
    shortest: int = 10
    """Characters that a written reply must have."""
    examples: tuple[WorkedExample, ...] = ()

    @property
    def points(self) -> tuple[int, ...]:
        """The numbers of the scale."""
        return tuple(range(self.low, self.high + 1))

    def label(self, point: int) -> str:
        """The meaning of a point; "" if the study gives none."""
        if len(self.labels) == len(self.points):
            return self.labels[point - self.low]
        ends = {self.low: 0, self.high: -1}
        return self.labels[ends[point]] if len(self.labels) == 2 and point in ends else ""

    def problem(self, answer: str) -> str:
        """Why an answer is invalid; "" if it is valid."""
        if self.kind == "scale":
            return "" if answer in {str(point) for point in self.points} else "choose one of the answers"
        if self.kind == "pair":
            return "" if answer in {"A", "B", *(["tie"] if self.ties else [])} else "choose one of the answers"
        short = self.shortest - len(answer.strip())
        return f"write {short} more characters" if short > 0 else ""


@dataclass(frozen=True, kw_only=True)
class AttentionChecks:
    """Attention checks; raters who fail are shown to the organisers, but never excluded by the program."""

    garbled: float = 0.05
    """The share of additional items whose words are shuffled: they should get the lowest score."""
    repeated: float = 0.05
    """The share of items that come again later."""
    fastest: float = 1.5
    """Seconds below which an answer was too quick to have read the item."""
    same: int = 12
    """Equal answers in a row that look like straight-lining."""


@dataclass(frozen=True, kw_only=True)
class Comprehension:
    """A question about the instructions, asked before the first item; wrong answers are counted, not punished."""

    text: str
    choices: tuple[str, ...]
    right: str
    """The choice that is right."""


@dataclass(frozen=True, kw_only=True)
class QueueSettings:
    """Which replies are worth rating: chosen with known probabilities, in waves that learn from the ratings so far."""

    labels: int
    """How many replies are rated in all, divided equally among the systems."""
    scores: str = ""
    """A score file of the replies, relative to the study; without it, replies are chosen at random."""
    design: str = ""
    """random, stratified or active; by default the last one that the scores suffice for."""
    predictor: str = ""
    """The metric of the score file that is used; by default the first."""
    waves: int = 4
    """Into how many parts the replies are divided at random; later parts learn from the ratings of earlier ones."""


@dataclass(frozen=True, kw_only=True)
class CompletionCodes:
    """Completion codes of a crowd-sourcing platform, by outcome."""

    done: str = ""
    declined: str = ""
    """For those who do not consent."""
    nothing_left: str = ""
    """For those who join when no items are left."""
    link: str = ""
    """Where raters return to, with {code} for the code: https://app.prolific.com/submissions/complete?cc={code}"""


@dataclass(frozen=True, kw_only=True)
class Study:
    """Everything that determines what raters see."""

    title: str
    examples: str
    """The file of replies to judge, relative to the study's own."""
    questions: tuple[Question, ...]
    instructions: str = "Read the conversation, then answer the questions about the reply."
    consent: str = ""
    """What raters agree to before they begin; nothing is asked where it is empty."""
    contexts: int = 0
    """Contexts that are used, chosen at random; 0 for all."""
    raters_per_item: int = 3
    items_per_rater: int = 40
    shared_items: int = 5
    """Items that every rater gets, from which agreement is measured."""
    return_after_minutes: float = 60.0
    """Unanswered items of a rater who was idle for this long are given to others."""
    seed: int = 0
    checks: AttentionChecks = field(default_factory=AttentionChecks)
    codes: CompletionCodes = field(default_factory=CompletionCodes)
    comprehension: tuple[Comprehension, ...] = ()
    queue: QueueSettings | None = None
    """How replies are chosen, where not all of them are rated."""
    folder: Path = Path()
    """The folder of the study's file."""

    @property
    def kind(self) -> ItemKind:
        """What is shown: single replies, pairs of replies, or contexts to reply to."""
        return self.questions[0].kind

    @cached_property
    def pages(self) -> list[tuple[Question, ...]]:
        """Questions in the order of their pages."""
        numbers = sorted({question.page for question in self.questions})
        return [tuple(question for question in self.questions if question.page == number) for number in numbers]

    def question(self, name: str) -> Question:
        """By its name."""
        return next(question for question in self.questions if question.name == name)


def read_study(path: Path) -> Study:
    """The study that a TOML file describes; DataError with the field where it describes none."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CallError(f"{path}: {error.strerror}: expected a study, a TOML file") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not valid TOML ({error})", file=str(path)) from error
    reader = _StudyReader(str(path))
    asked = reader.tables(found.pop("questions", []), "questions")
    questions = tuple(_question(reader, table, number) for number, table in enumerate(asked, 1))
    understood = reader.tables(found.pop("comprehension", []), "comprehension")
    parts = {
        name: reader.whole(cls, reader.table(found.pop(name), name), name)
        for name, cls in (("checks", AttentionChecks), ("codes", CompletionCodes), ("queue", QueueSettings))
        if name in found
    }
    given = reader.fields(
        Study, found, "", without={"questions", "comprehension", "folder", "checks", "codes", "queue"}
    )
    study: Study = reader.made(
        Study,
        "",
        **given,
        **parts,
        questions=questions,
        comprehension=tuple(reader.whole(Comprehension, one, "comprehension") for one in understood),
        folder=path.parent,
    )
    _check(study, str(path))
    return study


def _question(reader: _StudyReader, table: dict[str, Any], number: int) -> Question:
    where = f"questions[{number}]"
    worked = tuple(
        reader.whole(WorkedExample, one, f"{where}.examples")
        for one in reader.tables(table.pop("examples", []), f"{where}.examples")
    )
    question: Question = reader.made(
        Question, where, **reader.fields(Question, table, where, without={"examples"}), examples=worked
    )
    if question.kind not in get_args(ItemKind):
        raise reader.wrong(f"{where}.kind", f"expected one of {', '.join(get_args(ItemKind))}, found {question.kind!r}")
    if not 0 < question.high - question.low < _MOST_POINTS:
        raise reader.wrong(f"{where}.high", f"expected more than low and at most {_MOST_POINTS} points")
    if question.labels and len(question.labels) not in {2, len(question.points)}:
        raise reader.wrong(
            f"{where}.labels", f"expected one text per point ({len(question.points)}), or two for the ends"
        )
    return question


def _check(study: Study, file: str) -> None:
    wrong = _StudyReader(file).wrong
    if not study.questions:
        raise wrong("questions", "expected at least one [[questions]]")
    names = [question.name for question in study.questions]
    if len(set(names)) < len(names):
        raise wrong("questions", "expected different names")
    if len({question.kind for question in study.questions}) > 1:
        raise wrong("questions", "expected questions of one kind: scale, pair or write")
    for name in ("raters_per_item", "items_per_rater"):
        if getattr(study, name) < 1:
            raise wrong(name, "expected at least 1")
    if study.contexts < 0:
        raise wrong("contexts", "expected 0 for all contexts, or their number")
    if not 0 <= study.shared_items <= study.items_per_rater:
        raise wrong("shared_items", "expected from 0 to items_per_rater")
    if not study.return_after_minutes > 0:
        raise wrong("return_after_minutes", "expected more than 0")
    for name in ("garbled", "repeated"):
        if not 0 <= getattr(study.checks, name) <= 0.5:
            raise wrong(f"checks.{name}", "expected a share from 0 to 0.5")
    for one in study.comprehension:
        if len(one.choices) < 2 or one.right not in one.choices:
            raise wrong("comprehension", "expected two or more choices, and a right one that is among them")
    if study.codes.link and not study.codes.link.startswith("https://"):
        raise wrong("codes.link", "expected an address that begins with https://")
    _check_queue(study, wrong)


def _check_queue(study: Study, wrong: Callable[[str, str], DataError]) -> None:
    if study.queue is None:
        return
    if study.kind != "scale":
        raise wrong("queue", "expected questions of kind scale: other studies use all replies")
    if study.contexts:
        raise wrong("contexts", "expected 0 in a study with a queue, which chooses among all replies")
    if study.queue.design not in {"", *DESIGNS}:
        raise wrong("queue.design", f"expected one of {', '.join(DESIGNS)}, found {study.queue.design!r}")
    for name in ("labels", "waves"):
        if getattr(study.queue, name) < 1:
            raise wrong(f"queue.{name}", "expected at least 1")


@dataclass(frozen=True)
class _StudyReader:
    """Turns plain TOML values into dataclasses, and reports errors in them."""

    file: str

    def wrong(self, where: str, problem: str) -> DataError:
        return DataError(problem, file=self.file, field=where)

    def table(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong(where, "expected a table")
        return value

    def tables(self, value: Any, where: str) -> list[dict[str, Any]]:
        if not isinstance(value, list):
            raise self.wrong(where, "expected a list of tables")
        return [self.table(one, where) for one in value]

    def fields(
        self, cls: type[Any], found: dict[str, Any], where: str, without: set[str] | None = None
    ) -> dict[str, Any]:
        """The values of a table that a class has fields for, checked by their types."""
        known = {one.name: one for one in dataclasses.fields(cls) if one.name not in (without or set())}
        for key in found:
            if key not in known:
                raise UnknownNameError(f"key in {self.file}:", f"{where}.{key}".lstrip("."), known)
        return {
            key: self._value(str(known[key].type), value, f"{where}.{key}".lstrip(".")) for key, value in found.items()
        }

    def whole(self, cls: type[Any], table: dict[str, Any], where: str) -> Any:
        """A table whose every value is a field."""
        return self.made(cls, where, **self.fields(cls, table, where))

    def made(self, cls: type[Any], where: str, **values: Any) -> Any:
        for one in dataclasses.fields(cls):
            needed = one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
            if needed and one.name not in values:
                raise self.wrong(f"{where}.{one.name}".lstrip("."), "is missing")
        return cls(**values)

    def _value(self, kind: str, value: Any, where: str) -> Any:
        if kind.startswith("tuple[str"):
            if isinstance(value, list) and all(isinstance(one, str) for one in value):
                return tuple(value)
            raise self.wrong(where, "expected a list of texts")
        if not isinstance(value, _TYPES[kind]) or (kind != "bool" and isinstance(value, bool)):
            raise self.wrong(where, f"expected {_WORDS[kind]}, found {value!r}"[:200])
        if isinstance(value, float) and not math.isfinite(value):
            raise self.wrong(where, "expected a number")
        return value


_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "ItemKind": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
}
_WORDS = {"str": "a text", "ItemKind": "a text", "int": "a whole number", "float": "a number", "bool": "true or false"}


# The template of a study: `rejoinder annotate new replies.jsonl` writes it, to be edited by hand.


_STUDY = """\
title = "How good are these replies?"
examples = {examples}
# Contexts that are used, chosen at random; 0 for all.
contexts = {contexts}
raters_per_item = {raters_per_item}
items_per_rater = {items_per_rater}
shared_items = {shared_items}
seed = 0

instructions = \"\"\"
You will read short conversations, each with one reply. Judge the reply, not the conversation before it.

There are no right or wrong answers: we want to know what you think.\"\"\"

consent = \"\"\"
Your ratings are stored with a random number instead of your name, and may be published. You may stop at any time.\"\"\"

# Hidden checks. Whoever fails them is listed on the organisers' page; nobody is rejected automatically.
[checks]
garbled = 0.05
repeated = 0.05

# Completion codes of Prolific or Mechanical Turk, if you use one of them, and where raters return to with the code.
[codes]
done = ""
declined = ""
nothing_left = ""
link = ""  # such as https://app.prolific.com/submissions/complete?cc={{code}}

# To rate only the replies that are worth most: how many, and the file that `rejoinder score --intervals -o` wrote.
# They are chosen with known probabilities, which `export` writes and `compare --labels` uses.
# [queue]
# labels = 200
# scores = "scores.jsonl"

# A question about the instructions, asked before the first reply.
# [[comprehension]]
# text = "What do you judge?"
# choices = ["the whole conversation", "the reply alone"]
# right = "the reply alone"

# The overall score comes first, on a page of its own, so that the other questions do not influence it.
[[questions]]
name = "overall"
text = "How good is this reply, all in all?"
low = 1
high = 5
labels = ["very bad", "bad", "acceptable", "good", "very good"]

[[questions]]
name = "relevance"
text = "How well does the reply fit the conversation?"
page = 2
low = 1
high = 5
labels = ["not at all", "perfectly"]
"""


def study_text(examples: Path, count: int, *, contexts: int = 0, raters_per_item: int = 3) -> str:
    """The TOML of a study of `count` replies, of which those to `contexts` contexts are used (0: all)."""
    items = max(1, min(40, count))
    path = json.dumps(str(examples), ensure_ascii=False)  # a TOML string is written like a JSON string
    return _STUDY.format(
        examples=path,
        contexts=contexts,
        raters_per_item=raters_per_item,
        items_per_rater=items,
        shared_items=min(5, items),
    )

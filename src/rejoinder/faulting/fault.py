"""What a fault is: its evidence in a reply, what it needs, and how well it is found; and all faults by name.

A fault is a class with a name, a sentence for people, and a method `find`, which gives the evidence or None. Other
packages add theirs through the entry-point group `rejoinder.faults` (name -> class). A fault that is learned gives a
probability with its evidence; whoever finds faults asks `is_found`, which compares it with the fault's threshold.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Any, ClassVar

from rejoinder.data.records import REPLY_ROLES, TURN_ROLES
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.folders.schema import json_value
from rejoinder.registered import FAULTS
from rejoinder.stats.intervals import Interval
from rejoinder.text.language import UNKNOWN_LANGUAGE, language
from rejoinder.types import Example

NEEDS = {
    "context": "what the user said",
    "own turns": "an earlier turn of the same speaker",
    "other replies": "other replies of the same system",
}
"""What a fault may need beside the reply, in words."""

PREVALENCE = 0.05
"""The share of faulty replies at which precision is stated."""
LEAST_PRECISION = 0.8
"""The precision from which a fault is looked for by default."""

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_ENGLISH = frozenset(
    "the you that and it's don't for they are what know think would with just about really how there this your "
    "my i'm i've i'll you're that's if she could should want been because yes some when from of is but like "
    "love not very thanks yeah sounds great too nice haven't doesn't can't didn't isn't where why who which "
    "much any his her their our were only".split()
)
"""Words that are common in English and in no other language: one in a short text, two in a longer one, tell English."""
_SHORT_TEXT = 12


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a fault shows."""

    start: int = 0
    end: int = 0
    """The part of the reply that shows it; empty where the whole reply is meant."""
    turn: int | None = None
    """The place in the context of the earlier turn that the reply repeats, contradicts, ..."""
    note: str = ""
    """What else a person needs to see it: "the user writes English"."""
    probability: float = 1.0
    """How probable the fault is; 1 for rules."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "start": self.start,
            "end": self.end,
            "turn": self.turn,
            "note": self.note,
            "probability": self.probability,
        }


class Reply:
    """A reply with what several faults look at, each part computed once, when it is needed."""

    def __init__(self, example: Example) -> None:
        self.example = example
        self.text = example.response

    @cached_property
    def lower(self) -> str:
        """The reply in lower case."""
        return self.text.lower()

    @cached_property
    def words(self) -> list[str]:
        """Its words in lower case, without punctuation."""
        return spoken_words(self.lower)

    @cached_property
    def user_turns(self) -> tuple[int, ...]:
        """The places of the user's turns in the context, the last one first."""
        return self._turns[0]

    @cached_property
    def own_turns(self) -> tuple[int, ...]:
        """The places of earlier turns of who gives the reply, the last one first."""
        return self._turns[1]

    @cached_property
    def _turns(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        count, speakers = len(self.example.context), self.example.speakers
        if len(speakers) != count:
            return tuple(range(count - 1, -1, -2)), tuple(range(count - 2, -1, -2))
        if set(speakers) <= TURN_ROLES:
            own = {place for place, speaker in enumerate(speakers) if speaker in REPLY_ROLES}
        else:  # of two speakers, the one who did not speak last replies
            own = {place for place, speaker in enumerate(speakers) if speaker != speakers[-1]}
        backwards = range(count - 1, -1, -1)
        return tuple(at for at in backwards if at not in own), tuple(at for at in backwards if at in own)

    @cached_property
    def asked(self) -> str:
        """What the user said last, in lower case; "" without a context."""
        return self.example.context[self.user_turns[0]].lower() if self.user_turns else ""

    @cached_property
    def language(self) -> str:
        """The code of the reply's language, or "unknown"."""
        return "en" if _is_plainly_english(self.lower, self.words) else language(self.text)

    @cached_property
    def user_language(self) -> str:
        """The code of the language that the user writes; of several turns where the last one is too short."""
        if not self.user_turns:
            return UNKNOWN_LANGUAGE
        last = self.example.context[self.user_turns[0]]
        if _is_plainly_english(self.asked, spoken_words(self.asked)):
            return "en"
        found = language(last)
        if found == UNKNOWN_LANGUAGE and len(self.example.context) > 1:
            found = language(" ".join(self.example.context[at] for at in self.user_turns[:5]))
            if found == UNKNOWN_LANGUAGE:
                found = language(" ".join(self.example.context[-5:]))
        return found

    def span(self, found: re.Match[str], note: str = "") -> Evidence:
        """The evidence of a pattern that was found in the reply."""
        start, end = found.span()
        while start < end and self.text[start].isspace():
            start += 1
        while end > start and self.text[end - 1].isspace():
            end -= 1
        return Evidence(start, end, note=note)

    @property
    def whole(self) -> tuple[int, int]:
        """Where the reply begins and ends, without white space around it."""
        start = len(self.text) - len(self.text.lstrip())
        return start, max(start, len(self.text.rstrip()))


def spoken_words(lower: str) -> list[str]:
    """The words of a text, without punctuation."""
    return _WORD.findall(lower)


def _is_plainly_english(lower: str, words: Sequence[str]) -> bool:
    """Whether a text is English without a closer look, which takes time."""
    if not lower.isascii() or _ENGLISH.isdisjoint(words):
        return False
    return len(words) <= _SHORT_TEXT or len(_ENGLISH.intersection(words)) >= 2


@dataclass(frozen=True)
class Fault(ABC):
    """Something that is wrong with a reply."""

    name: ClassVar[str]
    sentence: ClassVar[str]
    """What is wrong, in words that follow "the reply": "repeats what the user said"."""
    decides: ClassVar[str]
    """How it is decided."""
    misses: ClassVar[str]
    """What it cannot see."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """What it needs beside the reply, of NEEDS."""
    threshold: ClassVar[float] = 0.5
    """The probability from which it counts."""

    @abstractmethod
    def find(self, reply: Reply) -> Evidence | None:
        """The evidence of the fault; None where nothing suggests it."""

    def find_all(self, replies: Sequence[Reply]) -> list[Evidence | None]:
        """The evidence for each of some replies: what a model decides in batches does this in its own way."""
        return [self.find(reply) for reply in replies]

    def observed(self, _examples: Iterable[Example]) -> Fault:
        """The fault, ready to be found; one that needs other replies has read all examples."""
        return self

    def is_found(self, evidence: Evidence | None) -> bool:
        """Whether the evidence is enough."""
        return evidence is not None and evidence.probability >= self.threshold

    def can_judge(self, reply: Reply) -> bool:
        """Whether the reply has what the fault needs."""
        if "own turns" in self.needs:
            return bool(reply.own_turns)
        return bool(reply.example.context) if "context" in self.needs else True


# What is known of each fault: measured by benchmarks/faults.py on replies that it was not made on.


@dataclass(frozen=True, slots=True)
class FaultCard:
    """What a fault is, how it is decided, how often that is right, and what it cannot see."""

    name: str
    sentence: str
    decides: str
    misses: str
    needs: tuple[str, ...] = ()
    threshold: float = 0.5
    recall: Interval | None = None
    """The share of faulty replies in which it is found; None for faults that were not measured."""
    false_alarms: Interval | None = None
    """The share of people's replies in which it is found."""
    precision: Interval | None = None
    """The share of findings that are right, where 5 % of the replies have the fault."""
    by_default: bool = False
    """Whether it is looked for without being asked for: where the precision is at least .8."""

    @property
    def measured(self) -> bool:
        """Whether its error rates are known."""
        return self.precision is not None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        shares = {
            key: None if one is None else {"estimate": one.estimate, "low": one.low, "high": one.high}
            for key, one in (
                ("recall", self.recall),
                ("false_alarms", self.false_alarms),
                ("precision", self.precision),
            )
        }
        return {
            "name": self.name,
            "sentence": self.sentence,
            "decides": self.decides,
            "misses": self.misses,
            "needs": list(self.needs),
            "threshold": self.threshold,
            **shares,
            "by_default": self.by_default,
        }


@cache
def _measured() -> dict[str, Any]:
    text = files("rejoinder").joinpath("resources/faults.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json_value(text)["faults"]
    return found


def card(name: str) -> FaultCard:
    """What is known of a fault."""
    fault = fault_class(name)
    about: Mapping[str, Any] = _measured().get(name, {}) if name in FAULTS else getattr(fault, "measured", {})
    shares = {key: Interval(*about[key]) for key in ("recall", "false_alarms", "precision") if key in about}
    precision = shares.get("precision")
    return FaultCard(
        name,
        fault.sentence,
        fault.decides,
        fault.misses,
        tuple(sorted(fault.needs)),
        fault.threshold,
        **shares,
        by_default=precision is not None and precision.estimate >= LEAST_PRECISION,
    )


# All faults by name.


@cache
def fault_names() -> dict[str, str]:
    """Every name -> where its class is, plug-ins included (our own names take precedence)."""
    plugged = {point.name: f"{point.module}:{point.attr}" for point in entry_points(group="rejoinder.faults")}
    return {**FAULTS, **{name: place for name, place in plugged.items() if name not in FAULTS}}


def fault_class(name: str) -> type[Fault]:
    """The class behind a name."""
    known = fault_names()
    if name not in known:
        raise UnknownNameError("fault", name, known)
    module, _, attribute = known[name].partition(":")
    try:
        found: type[Fault] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise CallError(f"{known[name]} cannot be imported ({error})") from error
    return found


def chosen_faults(names: Iterable[str] = (), *, everything: bool = False) -> list[Fault]:
    """The faults of these names; without names those that are on by default, or all of them."""
    wanted = [*dict.fromkeys(names)]
    if not wanted:
        wanted = [name for name in fault_names() if everything or card(name).by_default]
    return [fault_class(name)() for name in wanted]


@dataclass(frozen=True)
class FaultFinder:
    """Finds some faults in replies."""

    faults: Sequence[Fault]

    @classmethod
    def of(cls, faults: Sequence[Fault], examples: Iterable[Example]) -> FaultFinder:
        """One that has read the examples, where a fault needs other replies."""
        reads = any("other replies" in fault.needs for fault in faults)
        return cls([fault.observed(examples) for fault in faults] if reads else faults)

    def find(self, examples: Sequence[Example]) -> list[dict[str, Evidence]]:
        """For each example, the faults that were found, with their evidence."""
        replies = [Reply(example) for example in examples]
        found: list[dict[str, Evidence]] = [{} for _ in replies]
        for fault in self.faults:
            for row, evidence in enumerate(fault.find_all(replies)):
                if evidence is not None and fault.is_found(evidence):
                    found[row][fault.name] = evidence
        return found

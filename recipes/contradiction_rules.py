"""Contradictions made by rule: a reply that contradicts an earlier turn, and the same reply corrected.

Three kinds of material, all in turns of real dialogues:

facts     a fact is said in a turn of its own, in one of several wordings; later, a reply says it again in other words,
          or says it with another value. In half of the rows the other value was said in the context too, of somebody
          else, so that neither a new word in the reply nor a repeated one gives the contradiction away
anchors   a number, day, month, season, relative or name that a true reply shares with an earlier turn is changed, in
          the reply or in the turns: then the reply as it was is the one that contradicts
polarity  a statement of an earlier turn is said again, by the same person or by the other, as it was or negated; what
          was negative becomes positive

Which of the two values is true of a row is drawn at random, so that the two halves of all rows have the same words.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rejoinder.data.negatives import Place
from rejoinder.types import Dialogue

Rng = np.random.Generator
T = TypeVar("T")


class MinimalPair(NamedTuple):
    """Two replies to one context."""

    context: tuple[str, ...]
    correct: str
    contradicting: str
    kind: str


WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("contradiction_facts.toml").read_text("utf-8"))
POOLS: dict[str, list[str]] = WORDS["pools"]
TURNS: dict[str, list[str]] = WORDS["turns"]


class Fact(NamedTuple):
    """How a fact with one open value is said."""

    kind: str
    values: str
    """The pool of its values."""
    said: Sequence[str]
    """By the person whom it is about."""
    again: Sequence[str]
    """By the same person, later."""
    asked: Sequence[str]
    """What the other asks before it is said again."""
    back: Sequence[str]
    """By the other person."""
    elsewhere: Sequence[str]
    """The other value, of somebody else."""


FACTS = [Fact(**fact) for fact in WORDS["facts"]]
_CAPITALS = {"I", *(value for pool in POOLS.values() for value in pool if value[0].isupper())}


def facts(fillers: Sequence[str], rng: Rng) -> Iterator[MinimalPair]:
    """Facts said twice, without end; `fillers` are turns of dialogues that may stand between."""
    while True:
        if rng.random() < 0.2:
            yield _role(rng)
            continue
        fact = FACTS[rng.integers(len(FACTS))]
        value, other = (POOLS[fact.values][place] for place in rng.choice(len(POOLS[fact.values]), 2, replace=False))
        said = _filled(_drawn(fact.said, rng), value)
        if rng.random() < 0.5:
            both = [said, _filled(_drawn(fact.elsewhere, rng), other)]
            said = " ".join(both if rng.random() < 0.5 else both[::-1])
        own = rng.random() < 0.5
        between = [_drawn(TURNS["acknowledged"], rng) if rng.random() < 0.5 else _drawn(fillers, rng) for _ in range(3)]
        if own:
            asked = _drawn(fact.asked, rng)
            context = [said, asked] if rng.random() < 0.6 else [said, between[0], between[1], asked]
            again = _drawn(fact.again, rng)
        else:
            context = [said] if rng.random() < 0.6 else [said, between[0], between[1]]
            again = _drawn(fact.back, rng)
        before = [between[2]] if rng.random() < 0.3 else []
        opening = _drawn(TURNS["openings"], rng)
        correct, wrong = (_opened(opening, _filled(again, each)) for each in (value, other))
        yield MinimalPair((*before, *context), correct, wrong, fact.kind)


def _role(rng: Rng) -> MinimalPair:
    first, second = (POOLS["names"][place] for place in rng.choice(len(POOLS["names"]), 2, replace=False))
    did, other = _drawn(WORDS["roles"]["pairs"], rng)
    if rng.random() < 0.5:
        did, other = other, did
    said = _drawn(WORDS["roles"]["said"], rng)
    form = _drawn(WORDS["roles"]["again"], rng)
    context = [said.format(a=first, b=second, x=did, y=other)]
    if rng.random() < 0.4:
        context += [_drawn(TURNS["acknowledged"], rng), "Yes, that's how it was."]
    correct, wrong = (form.format(a=each, x=did) for each in (first, second))
    return MinimalPair(tuple(context), correct, wrong, "name")


_GROUPS = (
    ("number", POOLS["numbers"][1:]),
    ("time", POOLS["days"]),
    ("time", POOLS["months"]),
    ("time", POOLS["seasons"]),
    ("person", POOLS["relatives"][:6]),
    ("place", POOLS["cities"]),
)
"""Kind -> words of which one takes another's place."""
_DIGITS = re.compile(r"(?<![\w.,:$-])(\d{1,4})(?![\w:%-]|[.,]\d)")


def anchors(places: Sequence[Place], rng: Rng) -> Iterator[MinimalPair]:
    """True replies that share a number, a time, a relative or a place with an earlier turn."""
    for place in places:
        context = place.context[-4:]
        text = " ".join(context)
        found: list[tuple[str, str, str]] = []
        for kind, values in _GROUPS:
            for value in values:
                if value != "May" and _has(place.response, value) and _has(text, value):
                    others = [each for each in values if each != value and not _has(place.response, each)]
                    found.append((kind, value, _drawn(others, rng)))
        for number in set(_DIGITS.findall(place.response)) & set(_DIGITS.findall(text)):
            changed = max(1, int(number) + int(rng.choice([-3, -2, -1, 1, 2, 3, 10])))
            if str(changed) != number:
                found.append(("number", number, str(changed)))
        if found:
            kind, value, other = found[rng.integers(len(found))]
            changed_reply = _replaced(place.response, value, other)
            if rng.random() < 0.5:
                yield MinimalPair(context, place.response, changed_reply, kind)
            else:
                turns = tuple(_replaced(turn, value, other) for turn in context)
                yield MinimalPair(turns, changed_reply, place.response, kind)


_STATEMENT = re.compile(
    r"(?:^|(?<=[.!?] )|(?<=, ))(I (?:don't |do not |never |can't |cannot |didn't |'ve never |have never |"
    r"really |also )*"
    r"(?:like|love|enjoy|want|need|have|own|play|watch|read|listen|eat|drink|know|think|believe|remember|understand|use|"
    r"drive|cook|work|live|follow|prefer|care|go|speak|agree|can|am|was)\b[^.!?,;]{6,60})[.!]",
)
_AFFIRMED = (
    (re.compile(r"^I (?:don't|do not) (?!have to|know if|think)(\w+)"), r"I \1"),
    (re.compile(r"^I (?:can't|cannot) (\w+)"), r"I can \1"),
    (re.compile(r"^I(?:'ve| have) never (\w+)"), r"I have \1"),
    (re.compile(r"^I never (\w+)"), r"I often \1"),
    (re.compile(r"^I didn't (\w+)"), r"I did \1"),
    (re.compile(r"^I(?:'m| am) not (\w+)"), r"I am \1"),
    (re.compile(r"^I (?:wasn't|was not) (\w+)"), r"I was \1"),
)
_NEGATED = (
    (re.compile(r"^I (?:really |also )?(like|love|enjoy|want|need|own|play|watch|read|listen|eat|drink|know|believe|"
                r"remember|understand|use|drive|cook|work|live|follow|prefer|care|go|speak|agree)\b"), r"I don't \1"),
    (re.compile(r"^I have (?=a |an |two |three |some |many )"), r"I don't have "),
    (re.compile(r"^I can (?!not)(\w+)"), r"I can't \1"),
    (re.compile(r"^I am (?!not)(\w+)"), r"I am not \1"),
    (re.compile(r"^I was (?!not)(\w+)"), r"I was not \1"),
)  # fmt: skip
_SECOND = (
    (re.compile(r"\bI am\b"), "you are"),
    (re.compile(r"\bI was\b"), "you were"),
    (re.compile(r"\bI\b"), "you"),
    (re.compile(r"\bmy\b"), "your"),
    (re.compile(r"\bme\b"), "you"),
    (re.compile(r"\bmyself\b"), "yourself"),
)


def polarity(dialogues: Sequence[Dialogue], rng: Rng) -> Iterator[MinimalPair]:
    """Statements of dialogues, said again as they were or with the opposite polarity; half of them are negative."""
    found: tuple[list[MinimalPair], list[MinimalPair]] = [], []
    for dialogue in dialogues:
        for turn, text in enumerate(dialogue.turns[:-3]):
            statements = _STATEMENT.findall(text)
            if statements and " you " not in f" {statements[0]} ":
                negative, opposite = _opposite(statements[0].strip())
                if opposite is not None:
                    found[negative].append(_said_again(dialogue, turn, statements[0].strip(), opposite, rng))
    for both in zip(*found, strict=False):
        yield from both


def _said_again(dialogue: Dialogue, turn: int, said: str, opposite: str, rng: Rng) -> MinimalPair:
    """A statement of a turn, said again by the same person or by the other, within the four turns after it."""
    if rng.random() < 0.5:
        end, opening = turn + 1 + int(rng.choice([1, 3])), _drawn(TURNS["again_first_person"], rng)
    else:
        end, opening = turn + 1 + int(rng.choice([0, 2])), _drawn(TURNS["again_second_person"], rng)
        said, opposite = _second(said), _second(opposite)
    correct, wrong = (_capital(opening.format(each)) for each in (said, opposite))
    return MinimalPair(dialogue.turns[max(0, end - 4) : end], correct, wrong, "polarity")


def _opposite(said: str) -> tuple[bool, str | None]:
    """Whether a statement is negative, and its opposite if one can be made."""
    affirmed = _first(said, _AFFIRMED)
    return (True, affirmed) if affirmed is not None else (False, _first(said, _NEGATED))


def _first(text: str, rules: Sequence[tuple[re.Pattern[str], str]]) -> str | None:
    for pattern, new in rules:
        if pattern.search(text):
            return pattern.sub(new, text, count=1)
    return None


def _second(text: str) -> str:
    for pattern, new in _SECOND:
        text = pattern.sub(new, text)
    return text


def _has(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE if word[0].islower() else 0) is not None


def _replaced(text: str, word: str, other: str) -> str:
    flags = re.IGNORECASE if word[0].islower() else 0
    capital = other[:1].upper() + other[1:]
    return re.sub(
        rf"\b{re.escape(word)}\b", lambda found: capital if found[0][0].isupper() else other, text, flags=flags
    )


def _filled(text: str, value: str) -> str:
    return _capital(text.replace("{}", value))


def _opened(opening: str, text: str) -> str:
    """The text after an opening; a first word that is no name is written small after a comma."""
    if opening.endswith(", ") and text.split()[0].strip(",.'s?") not in _CAPITALS:
        text = text[0].lower() + text[1:]
    return opening + text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _drawn(values: Sequence[T], rng: Rng) -> T:
    return values[int(rng.integers(len(values)))]

"""What every registered fault must do, ours and plugged-in ones alike."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile_texts import HOSTILE
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.faulting import fault as registry
from rejoinder.faulting.fault import (
    LEAST_PRECISION,
    NEEDS,
    Evidence,
    Fault,
    FaultFinder,
    Reply,
    card,
    chosen_faults,
    fault_names,
)
from rejoinder.registered import FAULTS
from rejoinder.types import Example

MORE_HOSTILE = [
    *HOSTILE,
    "a" * 20_000,
    "a " * 5000,
    "\u0130" * 50,
    "ß" * 40,
    "1" * 5000,
    "1-" * 3000,
    "[" * 5000,
    "a@" * 3000,
    "User:" * 500,
    "\n" * 5000,
    "```" * 999,
    "- " * 999,
    "(" * 99,
    "@@@$$$***",
    "4111 " * 500,
    "AB12 " * 300,
    "\U0001f600" * 100,
    "x@y." * 999,
    "sorry i can't " * 400,
    "you are a " * 400,
    "as an ai " * 300,
    "you: " * 400,
    "{'a" * 400,
    "..." * 100,
    "\ud800",
    "a\ud800b",
]

FAULTY = {
    "empty": Example("1", ("Hi!",), " \u200b"),
    "cut-off": Example("1", ("How?",), "First open the lid, then take the"),
    "loop": Example("1", ("How?",), "I like it a lot a lot a lot a lot a lot a lot."),
    "repeats-user": Example("1", ("My cat has eaten my breakfast.",), "My cat has eaten my breakfast!"),
    "repeats-itself": Example(
        "1", ("Tea?", "I had two cups of tea already.", "Cake?"), "I had two cups of tea already."
    ),
    "other-language": Example(
        "1", ("What should we cook for dinner tonight?",), "Wir könnten heute Abend Nudeln kochen."
    ),
    "markup": Example("1", ("Who is it?",), "Hello {{first_name}}, it is me."),
    "speaks-for-user": Example("1", ("Who is it?",), "It is me.\nUser: Come in!"),
    "refusal": Example("1", ("What should we cook?",), "As an AI language model, I don't eat."),
    "contact-data": Example("1", ("Who is it?",), "It's me, write to ann.brown@mail-server.org."),
    "offensive": Example("1", ("Who is it?",), "None of your business, asshole."),
}


@pytest.fixture(params=sorted(fault_names()))
def fault(request: pytest.FixtureRequest) -> Fault:
    (found,) = chosen_faults([request.param])
    return found


def found_in(fault: Fault, examples: list[Example]) -> list[Evidence | None]:
    return [found.get(fault.name) for found in FaultFinder.of([fault], examples).find(examples)]


def corpus() -> list[Example]:
    """Hostile replies and faulty ones, some of them several times."""
    rows = [
        Example(f"{i}-{j}", (context,), reply, system="s")
        for i, reply in enumerate(MORE_HOSTILE[::3])
        for j, context in enumerate(MORE_HOSTILE[::7])
    ]
    rows += [Example(f"f{at}", one.context, one.response, system="t") for at, one in enumerate(FAULTY.values())]
    return rows + [Example(f"c{at}", (f"question {at}",), "Please tell me more.", system="u") for at in range(5)]


def test_a_fault_says_what_it_is(fault: Fault) -> None:
    told = card(fault.name)
    assert told.sentence == fault.sentence
    assert fault.sentence
    assert not fault.sentence.endswith(".")
    assert fault.decides.endswith(".")
    assert fault.misses.endswith(".")
    assert fault.needs <= NEEDS.keys()
    assert 0 < fault.threshold <= 1
    json.dumps(told.to_dict())


@pytest.mark.parametrize("name", FAULTS)
def test_our_rules_are_measured(name: str) -> None:
    told = card(name)
    assert told.measured
    assert told.precision is not None
    assert told.by_default == (told.precision.estimate >= LEAST_PRECISION)


def test_hostile_text_never_raises_and_evidence_lies_in_the_text(fault: Fault) -> None:
    rows = [
        Example("1", (a, b, c), reply)
        for reply in MORE_HOSTILE
        for a, b, c in [MORE_HOSTILE[:3], MORE_HOSTILE[-3:], ("hi", "yes", "why?")]
    ]
    rows += [Example("2", context, text) for text in MORE_HOSTILE for context in ((), (text,))]
    rows += corpus()
    for example, evidence in zip(rows, found_in(fault, rows), strict=True):
        if evidence is not None:
            assert 0 <= evidence.start <= evidence.end <= len(example.response)
            assert evidence.turn is None or 0 <= evidence.turn < len(example.context)
            assert fault.threshold <= evidence.probability <= 1


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(st.text(max_size=60), min_size=3, max_size=5))
def test_any_text_can_be_judged(texts: list[str]) -> None:
    example = Example("1", tuple(texts[1:]), texts[0])
    for found in FaultFinder.of(chosen_faults(FAULTS), [example]).find([example]):
        for evidence in found.values():
            assert 0 <= evidence.start <= evidence.end <= len(example.response)


def test_order_does_not_matter(fault: Fault) -> None:
    rows = corpus()
    shuffled = random.Random(0).sample(rows, len(rows))
    found = dict(zip([one.id for one in rows], found_in(fault, rows), strict=True))
    assert dict(zip([one.id for one in shuffled], found_in(fault, shuffled), strict=True)) == found


def test_a_reply_is_judged_alone_as_in_company(fault: Fault) -> None:
    rows = corpus()
    ready = fault.observed(rows)
    together = ready.find_all([Reply(one) for one in rows])
    assert [ready.find_all([Reply(one)])[0] for one in rows] == together


def test_without_a_context_nothing_is_said_of_it(fault: Fault) -> None:
    if fault.needs:
        rows = [Example(name, (), one.response) for name, one in FAULTY.items()]
        assert found_in(fault, rows) == [None] * len(rows)
        assert not fault.can_judge(Reply(rows[0]))


@pytest.mark.parametrize("name", FAULTY)
def test_each_rule_finds_its_fault_and_shows_where(name: str) -> None:
    (evidence,) = found_in(chosen_faults([name])[0], [FAULTY[name]])
    assert evidence is not None
    others = {
        found
        for other, one in FAULTY.items()
        if other != name
        for found in [found_in(chosen_faults([name])[0], [one])[0]]
    }
    assert others == {None}


def test_one_reply_to_several_contexts_is_canned() -> None:
    rows = [
        Example(str(at), (f"question {at}",), "I see, go on." if at % 4 else f"answer {at}", system="a")
        for at in range(40)
    ]
    rows += [Example(f"b{at}", (f"question {at}",), "I see, go on.", system="b") for at in range(2)]
    rows += [Example(f"c{at}", ("the same question",), "I see, go on.", system="c") for at in range(9)]
    found = found_in(chosen_faults(["canned"])[0], rows)
    assert [evidence is not None for evidence in found] == [bool(at % 4) for at in range(40)] + [False] * 11
    assert found[1] is not None
    assert found[1].note == "given to 30 of 40 contexts"


def test_the_speakers_say_whose_turns_are_whose() -> None:
    said = "I have two cats and a dog."
    turns = ("Hello!", said, "And you?")
    reply = Reply(Example("1", turns, said, speakers=("user", "user", "user")))
    assert (reply.user_turns, reply.own_turns) == ((2, 1, 0), ())
    assert Reply(Example("1", turns, said, speakers=("user", "assistant", "user"))).own_turns == (1,)
    assert Reply(Example("1", turns, said, speakers=("Ann", "Bob", "Ann"))).own_turns == (1,)
    assert Reply(Example("1", turns, said)).own_turns == (1,)


class Shouting(Fault):
    """In capital letters."""

    name: ClassVar[str] = "shouting"
    sentence: ClassVar[str] = "is in capital letters"
    decides: ClassVar[str] = "All letters are capital ones."
    misses: ClassVar[str] = "Exclamation marks."
    threshold: ClassVar[float] = 0.7

    def find(self, reply: Reply) -> Evidence | None:
        """The whole reply; short ones are less sure."""
        sure = 0.9 if len(reply.text) > 5 else 0.6
        return Evidence(0, len(reply.text), probability=sure) if reply.text.isupper() else None


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = [
        EntryPoint("shouting", f"{__name__}:Shouting", "rejoinder.faults"),
        EntryPoint("empty", "nowhere:Nothing", "rejoinder.faults"),
        EntryPoint("absent", "nowhere:Nothing", "rejoinder.faults"),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda **_: points)
    fault_names.cache_clear()
    yield
    fault_names.cache_clear()


@pytest.mark.usefixtures("plugged")
def test_other_packages_add_faults() -> None:
    assert set(fault_names()) == {*FAULTS, "shouting", "absent"}
    assert fault_names()["empty"] == FAULTS["empty"]
    found = found_in(chosen_faults(["shouting"])[0], [Example("1", (), text) for text in ("GO AWAY", "Go away", "GO")])
    assert [evidence is not None for evidence in found] == [True, False, False]  # one is below the threshold
    assert not card("shouting").by_default
    with pytest.raises(CallError, match=r"nowhere:Nothing cannot be imported"):
        chosen_faults(["absent"])


def test_an_unknown_fault_is_an_error_with_the_near_names() -> None:
    with pytest.raises(UnknownNameError, match="repeats-user"):
        chosen_faults(["repeats-usr"])


def test_defaults_are_those_that_are_precise_enough() -> None:
    names = {fault.name for fault in chosen_faults()}
    assert names == {name for name in fault_names() if card(name).by_default}
    everything: Any = {fault.name for fault in chosen_faults(everything=True)}
    assert names <= everything == set(fault_names())

"""Contradictions made by rule: the halves differ in what was said before, and in nothing that a word list finds."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
from recipes.contradiction_rules import FACTS, POOLS, MinimalPair, anchors, facts, polarity

from rejoinder.data.negatives import places_of
from rejoinder.text.words import words_of
from rejoinder.types import Dialogue

RNG = np.random.default_rng


def test_a_fact_is_said_before_it_is_said_again() -> None:
    values = {value for pool in POOLS.values() for value in pool}
    for pair in islice(facts(["Hello there."], RNG(0)), 300):
        if pair.kind == "name" and "{" not in pair.correct and len(pair.context) in (1, 3):
            continue  # two persons, each in the context
        changed = [value for value in values if value.lower() in pair.correct.lower()]
        assert changed, pair
        said = " ".join(pair.context).lower()
        assert any(value.lower() in said for value in changed), pair
        assert pair.correct != pair.contradicting


def test_values_do_not_tell_correct_from_contradicting() -> None:
    """Each value is in the correct half as often as in the other one."""
    counts = np.zeros(2)
    for pair in islice(facts(["Hello there."], RNG(1)), 4000):
        for half, text in enumerate((pair.correct, pair.contradicting)):
            counts[half] += "seven" in words_of(text)
    assert counts.min() > 50
    assert abs(np.diff(counts)[0]) < 4 * np.sqrt(counts.sum())


def test_the_other_value_is_often_in_the_context() -> None:
    pairs = list(islice(facts(["Hello there."], RNG(2)), 500))
    said = [set(words_of(" ".join(pair.context))) for pair in pairs]
    new = [set(words_of(pair.contradicting)) - set(words_of(pair.correct)) for pair in pairs]
    share = np.mean([bool(each) and each <= before for each, before in zip(new, said, strict=True)])
    assert 0.4 < share < 0.8


def test_every_fact_has_one_open_value() -> None:
    for fact in FACTS:
        assert fact.values in POOLS
        for text in (*fact.said, *fact.again, *fact.back, *fact.elsewhere):
            assert text.count("{}") == 1, text
        assert all("{}" not in text for text in fact.asked)


def test_anchors_change_what_a_reply_shares_with_a_turn() -> None:
    dialogue = Dialogue("", ("We leave on Monday at 9.", "Okay, so on Monday. I will bring my 2 bags.", "Fine."))
    seen = Counter[bool]()
    for seed in range(20):
        [pair] = anchors(places_of([dialogue]), RNG(seed))
        assert pair.kind == "time"
        as_it_was = pair.correct == dialogue.turns[1]
        seen[as_it_was] += 1
        assert "Monday" in (pair.correct if as_it_was else pair.contradicting)
        assert ("Monday" in pair.context[0]) == as_it_was
        assert "2 bags" in pair.contradicting
    assert min(seen.values()) > 3


def test_what_is_in_no_turn_is_not_changed() -> None:
    assert list(anchors(places_of([Dialogue("", ("Hello.", "See you on Monday at 9."))]), RNG(0))) == []


STATEMENTS = (
    ("I like green tea a lot.", "I don't like green tea a lot"),
    ("I don't eat any meat.", "I eat any meat"),
    ("I can swim very well.", "I can't swim very well"),
    ("I never watch the news.", "I often watch the news"),
)


def test_a_statement_is_said_again_or_reversed() -> None:
    turns = ("Really?", "Tell me more.", "Why?", "I see.")
    dialogues = [Dialogue("", (text, *turns)) for text, _ in STATEMENTS]
    pairs = list(polarity(dialogues, RNG(0)))
    assert len(pairs) == 4
    said = {text for each in STATEMENTS for text in (each[0].rstrip("."), each[1])}
    second = {text.replace("I ", "you ") for text in said}
    for pair in pairs:
        assert pair.context[0] in {text for text, _ in STATEMENTS}
        assert any(text in pair.correct or text in pair.contradicting for text in said | second), pair


def test_as_many_statements_are_negative_as_not() -> None:
    turns = ("Really?", "Tell me more.", "Why?", "I see.")
    dialogues = [Dialogue("", (text, *turns)) for text, _ in STATEMENTS[:1] * 9 + STATEMENTS[1:2]]
    assert len(list(polarity(dialogues, RNG(0)))) == 2


def test_the_same_random_numbers_give_the_same_pairs() -> None:
    first, second = (list(islice(facts(["Hello."], RNG(5)), 20)) for _ in range(2))
    assert first == second
    assert all(isinstance(pair, MinimalPair) for pair in first)

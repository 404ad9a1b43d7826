"""Replies that do not fit: each kind is what it says, none is the true reply."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

import numpy as np
import pytest

from rejoinder.data.negatives import NegativeMixture, Negatives, Place, near_neighbours, places_of
from rejoinder.errors import CallError
from rejoinder.types import Dialogue

KINDS = [field.name for field in fields(NegativeMixture)]

CORPUS = [
    Dialogue(
        f"d{n}",
        (
            f"where is number {n} today",
            f"it went to the place called p{n} q{n}",
            "I see.",
            f"and then to r{n} s{n} t{n}",
        ),
    )
    for n in range(12)
]


def only(kind: str) -> NegativeMixture:
    return NegativeMixture(**{name: float(name == kind) for name in KINDS})


def drawn(kind: str, draws: int = 5) -> list[tuple[Place, str, str]]:
    places = places_of(CORPUS)
    neighbours = np.array([[(row + 3) % len(places)] for row in range(len(places))])
    source, rng = Negatives(places, only(kind), neighbours), np.random.default_rng(0)
    return [(place, *source.draw(row, rng)) for _ in range(draws) for row, place in enumerate(places)]


def test_places_are_turns_that_answer_another_speaker() -> None:
    dialogue = Dialogue("a", ("one", "two", " ", "three"), ("x", "y", "x", "x"))
    assert [place.turn for place in places_of([dialogue])] == [1]
    place = places_of([Dialogue("b", ("one", "two", "three"), ("x", "y", "x"))])[1]
    assert (place.context, place.speakers, place.response) == (("one", "two"), ("x", "y"), "three")


@pytest.mark.parametrize("kind", KINDS)
def test_never_the_true_reply_and_never_empty(kind: str) -> None:
    for place, _, text in drawn(kind):
        assert text.strip()
        assert text.split() != place.response.split()


@pytest.mark.parametrize("kind", KINDS)
def test_most_are_of_the_kind_asked_for(kind: str) -> None:
    counts = Counter(found for _, found, _ in drawn(kind))
    assert counts[kind] > 0.5 * counts.total()
    assert set(counts) <= {kind, "random"}


def test_what_each_kind_is() -> None:
    for place, kind, text in drawn("same_dialogue"):
        assert kind == "random" or text in place.dialogue.turns
    for place, kind, text in drawn("echo"):
        assert kind == "random" or place.context[-1].endswith(text)
    assert {text for _, kind, text in drawn("generic") if kind == "generic"} == {"I see."}
    for place, kind, text in drawn("shuffled"):
        assert kind == "random" or sorted(text.split()) == sorted(place.response.split())
    for place, kind, text in drawn("truncated"):
        assert kind == "random" or (place.response.startswith(text) and len(text) < len(place.response))
    replies = [place.response for place in places_of(CORPUS)]
    assert next(text for _, kind, text in drawn("neighbour", 1) if kind == "neighbour") == replies[3]


def test_the_mixture_is_kept() -> None:
    places = places_of(CORPUS)
    source, rng = Negatives(places, NegativeMixture(), None), np.random.default_rng(1)
    counts = Counter(source.draw(row, rng)[0] for _ in range(40) for row in range(len(places)))
    assert "neighbour" not in counts, "without neighbours, their share is random"
    # Weights .55 and .1, and random stands in for what could not be made: 1,440 draws have a deviation of .013.
    assert 0.5 < counts["random"] / counts.total() < 0.75
    assert 0.05 < counts["echo"] / counts.total() < 0.15


def test_one_seed_one_draw() -> None:
    assert drawn("random") == drawn("random")


def test_what_makes_no_sense() -> None:
    for weights in ({"random": -1.0}, {"echo": float("nan")}, dict.fromkeys(KINDS, 0.0)):
        with pytest.raises(CallError, match="weights of negatives"):
            NegativeMixture(**weights)
    with pytest.raises(CallError, match="two different replies"):
        Negatives(places_of([Dialogue("a", ("x", "Same")), Dialogue("b", ("y", "same "))]))


def test_two_replies_are_enough() -> None:
    places = places_of([Dialogue("a", ("x", "one")), Dialogue("b", ("y", "two"))])
    source, rng = Negatives(places), np.random.default_rng(0)
    assert {source.draw(0, rng)[1] for _ in range(50)} <= {"two", "x"}


def test_near_neighbours_by_hand() -> None:
    # Rows 0, 1 and 2 point nearly the same way, 3 and 4 another; 5 is row 0 again, 6 has no direction.
    vectors = np.array([[1, 0], [1, 0.1], [1, 0.2], [0, 1], [0.1, 1], [2, 0], [0, 0]], float)
    found = near_neighbours(vectors, nearest=3, keep=2)
    assert set(found[0]) == {1, 2}
    assert set(found[3]) >= {4}
    assert (found[6] == -1).all()
    assert not (found == np.arange(7)[:, None]).any()
    assert 5 not in found[0], "the same words are not a negative"
    np.testing.assert_array_equal(found, near_neighbours(vectors, nearest=3, keep=2))
    assert near_neighbours(np.zeros((3, 2)), keep=2).tolist() == [[-1, -1]] * 3
    assert near_neighbours(np.random.default_rng(0).normal(size=(50, 4)), most=10).max() < 50

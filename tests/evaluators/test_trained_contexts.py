"""Contexts that were trained on are found again, however they are written."""

from __future__ import annotations

import numpy as np
import pytest
from small_evaluators import Familiar, Lengthy, dialogues, judged

from rejoinder.evaluators.contexts import TrainedContexts, bare
from rejoinder.types import Dialogue, Example


def example(*context: str, reply: str = "reply", references: tuple[str, ...] = ()) -> Example:
    return Example("1", context, reply, references)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Don't  go!", "do n't go"),
        ("``Hello'', he said", '"hello" he said'),
        ("Straße", "STRASSE"),
        ("ｆｕｌｌ width", "full width"),
        ("好的，谢谢。", "好的 谢谢"),
    ],
)
def test_spelling_is_passed_over(one: str, other: str) -> None:
    assert bare(one) == bare(other)


@pytest.mark.parametrize(("one", "other"), [("yes", "no"), ("कि", "का"), ("👍", "👎"), ("?", "!"), ("1", "2")])
def test_different_texts_stay_different(one: str, other: str) -> None:
    assert bare(one) != bare(other)


def held(trained: TrainedContexts, *examples: Example) -> list[bool]:
    found: list[bool] = trained.holds(examples).tolist()
    return found


def test_equal_contexts_and_equal_endings_are_the_same() -> None:
    trained = TrainedContexts.of([example("how are you", "fine", "good"), example("one turn")])
    assert held(trained, example("How are you?", "Fine.", "Good!", reply="other")) == [True]
    assert held(trained, example("fine", "good"), example("hi", "well", "fine", "good")) == [True, True]
    assert held(trained, example("good"), example("good", "fine"), example("how are you", "fine")) == [False] * 3
    assert held(trained, example("One turn"), example("one", "turn"), example("another", "one turn")) == [
        True,
        True,
        False,
    ]


def test_a_dialogue_is_found_by_two_turns() -> None:
    trained = TrainedContexts.within([Dialogue("1", ("a b", "c d", "e f"))])
    assert held(trained, example("x", "a b", "c d"), example("c d", "e f")) == [True, True]
    assert held(trained, example("a b", "e f"), example("c d", "a b")) == [False, False]
    assert held(trained, example("a b"), example("a b", references=("no", "C D!"))) == [False, True]
    assert held(trained, example("a b", reply="c d")) == [False]


def test_without_a_context_the_references_stand_for_it() -> None:
    trained = TrainedContexts.of([example(references=("one", "two"), reply="x"), example(reply="alone")])
    assert held(trained, example(references=("Two", "One")), example(references=("one",))) == [True, False]
    assert held(trained, example(reply="Alone."), example(reply="x")) == [True, False]


def test_contexts_can_be_joined_and_are_kept_once() -> None:
    one, two = TrainedContexts.of([example("a")]), TrainedContexts.of([example("a"), example("b")])
    assert len(one | two) == len(two) == 2
    assert held(one | TrainedContexts(), example("a"), example("b")) == [True, False]
    assert held(TrainedContexts(), example("a")) == [False]
    assert TrainedContexts().holds([]).shape == (0,)


def test_evaluators_know_what_they_were_fitted_on() -> None:
    replies = [item.example for item in judged()]
    assert Lengthy().fit(dialogues(), judged(20)).trained_contexts.holds(replies).tolist() == [True] * 20 + [False] * 20
    assert held(Familiar().fit(dialogues()).trained_contexts, example("fine and you", "very well")) == [True]
    assert Lengthy().fit(dialogues(), judged()).trained_contexts.keys.dtype == np.uint64

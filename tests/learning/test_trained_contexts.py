"""Contexts that were trained on are found again, however they are written."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.data.contexts import TrainedContexts, bare_text, context_groups, rows_of_contexts, without_contexts
from rejoinder.types import Dialogue, Example
from small_evaluators import Familiar, Lengthy, dialogues, judged


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
    assert bare_text(one) == bare_text(other)


@pytest.mark.parametrize(("one", "other"), [("yes", "no"), ("कि", "का"), ("👍", "👎"), ("?", "!"), ("1", "2")])
def test_different_texts_stay_different(one: str, other: str) -> None:
    assert bare_text(one) != bare_text(other)


def held(trained: TrainedContexts, *examples: Example) -> list[bool]:
    found: list[bool] = trained.holds(examples).tolist()
    return found


START, MIDDLE, END = "where did you go last summer", "to the sea, as every year", "and was the water warm enough"


def test_equal_contexts_and_equal_endings_are_the_same() -> None:
    trained = TrainedContexts.of([example(START, MIDDLE, END), example("one turn")])
    assert held(trained, example(START.upper(), f"{MIDDLE}.", f" {END} ?", reply="other")) == [True]
    assert held(trained, example(MIDDLE, END), example("hi", "well", MIDDLE, END)) == [True, True]
    assert held(trained, example(END), example(END, MIDDLE), example(START, MIDDLE)) == [False] * 3
    assert held(trained, example("One turn"), example("one", "turn"), example("x", "one turn")) == [True, True, False]


def test_a_dialogue_is_found_by_two_turns() -> None:
    trained = TrainedContexts.within([Dialogue("1", (START, MIDDLE, END))])
    assert held(trained, example("x", START, MIDDLE), example(MIDDLE, END)) == [True, True]
    assert held(trained, example(START, END), example(MIDDLE, START)) == [False, False]
    assert held(trained, example(START), example(START, references=("no", MIDDLE.title()))) == [False, True]
    assert held(trained, example(START, reply=MIDDLE)) == [False]


def test_what_is_said_in_any_conversation_tells_nothing() -> None:
    thanks, farewell = ("thank you", "you are welcome"), ("谢谢你", "不客气，再见")
    trained = TrainedContexts.within([Dialogue("1", thanks), Dialogue("2", farewell)])
    assert held(trained, example(*thanks), example(*farewell)) == [False, False]
    assert held(TrainedContexts.of([example("x", *thanks)]), example("y", *thanks), example("x", *thanks)) == [
        False,
        True,
    ]
    long = ("你昨天晚上去哪里了", "我和朋友去看电影了")
    assert held(TrainedContexts.within([Dialogue("3", long)]), example(*long)) == [True]


def test_dialogues_can_be_kept_apart_from_what_is_tested() -> None:
    first, second = Dialogue("1", (START, MIDDLE, END)), Dialogue("2", (END, MIDDLE, START))
    tested = [example("x", MIDDLE, END), example("nothing of the kind")]
    kept = without_contexts([first, second], tested)
    assert kept == [second]
    assert not TrainedContexts.within(kept).holds(tested).any()


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
    taken = ("is it still raining outside", "yes it is so take a coat")
    assert held(Familiar().fit(dialogues()).trained_contexts, example(*taken)) == [True]
    assert Lengthy().fit(dialogues(), judged()).trained_contexts.keys.dtype == np.uint64


def test_two_that_share_a_context_with_a_third_are_one_group() -> None:
    items = [
        Example("0", ("who wrote to you the long letter that came",), "a"),
        Example("1", ("nothing of the kind, said to nobody",), "b"),
        Example("2", ("hm", "who wrote to you", "the long letter that came"), "c"),
        Example("3", ("who wrote to you", "the long letter that came"), "d"),  # the text of 0, the last turns of 2
    ]
    assert context_groups(items).tolist() == [0, 1, 0, 0]
    assert context_groups(items[:3]).tolist() == [0, 1, 2]
    assert context_groups([]).tolist() == []
    assert rows_of_contexts(items) == [[0], [1], [2], [3]]
    assert rows_of_contexts([items[0], items[1], items[0]]) == [[0, 2], [1]]

"""Replies in broken language."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.data import negatives
from rejoinder.data.negatives import garbled

REPLY, TURN = "I have been to the market in the morning", "where were you when it rained"


def test_a_garbled_reply_differs_and_belongs_lower() -> None:
    rng = np.random.default_rng(0)
    made = [each for _ in range(200) if (each := garbled(REPLY, TURN, rng)) is not None]
    assert len(made) > 190
    assert all(each.text != REPLY and len(each.text.split()) > 1 and each.drop > 0 for each in made)
    assert {each.drop for each in made} == {drop for _, drop in negatives._WAYS}


def test_a_short_reply_is_left_alone() -> None:
    assert garbled("not at all", TURN, np.random.default_rng(0)) is None


@pytest.mark.parametrize(("garble", "_"), negatives._WAYS)
def test_each_way_uses_words_of_reply_and_context(garble: negatives.Garble, _: float) -> None:
    words, context = REPLY.split(), TURN.split()
    made = garble(words, context, np.random.default_rng(3))
    assert made != words
    stems = {word[:4].lower() for word in (*words, *context)}
    formed = [word for word in made if word[:4].lower() not in stems]
    assert len(formed) < len(made) / 2, "wrong forms of function words at most"

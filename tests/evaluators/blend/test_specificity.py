"""How much a reply says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rejoinder.evaluators.blend.columns import SPECIFICITY, specificity_columns
from rejoinder.text.words import shipped_usage, words_of
from rejoinder.types import Example

CONTEXT = ("What did you do last weekend?",)


def row_of(reply: str, context: tuple[str, ...] = CONTEXT) -> dict[str, float]:
    return dict(zip(SPECIFICITY, specificity_columns([Example("", context, reply)])[0].tolist(), strict=True))


def test_a_specific_reply_says_more_than_a_generic_one() -> None:
    generic, specific = row_of("I don't know."), row_of("We hiked to a glacier lake near Banff.")
    for name in ("mean information", "highest information", "log information", "log new information"):
        assert specific[name] > generic[name]
    assert generic["log usual reply"] > 0
    assert specific["log usual reply"] == 0


def test_words_in_the_wrong_order_are_unusual() -> None:
    usual, shuffled = row_of("I went to the movies with my sister."), row_of("Sister movies my the I to went with.")
    assert usual["usual order"] > shuffled["usual order"] + 1
    assert usual["mean information"] == pytest.approx(shuffled["mean information"])


def test_information_by_hand() -> None:
    usage = shipped_usage()
    row = row_of("The weekend, the glacier!")
    known = [usage.information(word) for word in ("the", "weekend", "glacier")]
    assert row["mean information"] == pytest.approx(np.mean(known))
    assert row["information in last turn"] == pytest.approx(known[1] / sum(known))
    assert row["log new information"] == pytest.approx(math.log1p(known[0] + known[2]))
    assert usage.information("the") < usage.information("weekend") < usage.information("glacier")
    assert usage.information("qwzxv") == pytest.approx(math.log(493_854 / 2), rel=0.05)


def test_nothing_and_odd_text() -> None:
    assert specificity_columns([]).shape == (0, len(SPECIFICITY))
    odd = [Example("", (), text) for text in ("", "?!", "\ud800", "a" * 5000, "词 词")]
    found = specificity_columns(odd)
    assert np.isnan(found).tolist() == [["in" in name.split() for name in SPECIFICITY]] * len(odd)
    assert words_of("Don’t STOP_me now-ish") == ["don't", "stop", "me", "now", "ish"]

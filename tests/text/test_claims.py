"""What a text claims, and which claims of two texts clash."""

from __future__ import annotations

import polars as pl
import pytest

from rejoinder.text.claims import Claims, claims_of
from rejoinder.text.tokens import tokenise


def claims(text: str) -> Claims:
    return claims_of(tokenise(pl.Series([text]), "words", lowercase=False)[0].to_list())


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (
            "hi, yes we do deliver to ireland .",
            "i am sorry but we currently do not deliver to serbia",
            "entities polarity",
        ),
        ("We deliver to Ireland.", "We don't deliver to Serbia.", "entities polarity"),
        ("we deliver to serbia", "we don 't deliver to serbia", "polarity"),
        ("we deliver to Serbia's capital", "they deliver to serbia", ""),
        ("we deliver to Serbia and Ireland", "they deliver to serbia", ""),
        ("see you on monday", "see you on Friday!", "entities"),
        ("see you on monday", "see you in london", ""),
        ("Please ask for Smith", "Please ask for Jones", "entities"),
        ("Please ask Mr. Smith", "Please ask Mr. Jones", "entities"),
        ("it costs 20 pounds", "it costs 30 pounds", "numbers"),
        ("it costs twenty pounds", "it costs 20 pounds", ""),
        ("room 007", "room 7", ""),
        ("it costs 20 pounds", "it is free", ""),
        ("Yes.", "No, sorry.", "polarity"),
        ("Yes, we can't complain.", "Yes, we complain.", ""),
        ("I never said that", "I did not say that", ""),
        ("I know him. I do not know her.", "I know her.", ""),
        ("no problem , the train is late", "sorry , the train is late", ""),
        ("not now , but we deliver", "we deliver", ""),
        ("", "we deliver", ""),
        ("谢谢", "不谢", ""),
    ],
)
def test_clashes(ours: str, theirs: str, expected: str) -> None:
    assert claims(ours).clashes(claims(theirs)) == tuple(expected.split())
    assert claims(theirs).clashes(claims(ours)) == tuple(expected.split()), "both ways"
    assert claims(ours).clashes(claims(ours)) == ()


def test_a_word_of_every_day_is_no_name() -> None:
    assert claims("May I march on Monday?").entities == {("day", "monday")}
    assert claims("Hello. This is Anna from Paris").entities == {("name", "anna"), ("place", "paris")}

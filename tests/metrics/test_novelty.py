from __future__ import annotations

import numpy as np
import pytest

import rejoinder
from rejoinder.errors import CallError
from rejoinder.metrics import diversity
from rejoinder.metrics.base import ScoreWarning
from rejoinder.metrics.diversity import Distinct, Repetition, Specificity
from rejoinder.metrics.overlap import Length
from rejoinder.types import Example


def reply(text: str, *context: str) -> Example:
    return Example("1", context, text)


def test_distinct_within_a_reply() -> None:
    examples = [reply("a b a b a"), reply("a b c"), reply("a")]
    # bigrams: ab ba ab ba -> 2 of 4; ab bc -> 2 of 2; none
    np.testing.assert_array_equal(Distinct(n=2).score(examples), [0.5, 1, np.nan])
    np.testing.assert_array_equal(Distinct(n=1).score(examples), [0.4, 1, 1])


def test_distinct_over_a_system_is_as_published() -> None:
    # 9 unigrams, 3 different ones; 6 bigrams: ab ba ab ba ab bc, 3 different ones
    examples = [reply("a b a b a"), reply("a b c"), reply("a")]
    assert Distinct(n=1).corpus_score(examples) == pytest.approx(3 / 9)
    assert Distinct(n=2).corpus_score(examples) == pytest.approx(3 / 6)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ("reply", [0, 1 / 4, np.nan, 0]),
        ("context", [2 / 3, np.nan, np.nan, 1]),
        ("both", [2 / 3, 1 / 4, np.nan, 1]),
    ],
)
def test_repetition_by_hand(of: str, expected: list[float]) -> None:
    examples = [
        reply("do you like tea", "Do you like", "coffee?"),  # do-you, you-like were said; like-tea was not
        reply("no no no tea tea"),  # no-no comes again, once; tea-tea only once; there is no context
        reply("yes", "yes"),  # no bigram
        reply("i see", "well i see"),
    ]
    np.testing.assert_allclose(Repetition(of=of).score(examples), expected)


def test_repetition_looks_at_all_of_a_long_context() -> None:
    words = [f"word{i}" for i in range(3000)]
    examples = [reply(" ".join(words[place : place + 2]), " ".join(words)) for place in (0, 1500, 2998)]
    np.testing.assert_array_equal(Repetition().score(examples), 1)


def test_repetition_looks_at_all_of_a_long_reply() -> None:
    # 500 different words, said twice: of 999 bigrams the last 499 stood before.
    said_twice = reply(" ".join([f"word{i}" for i in range(500)] * 2), "word0 word1")
    np.testing.assert_allclose(Repetition(of="reply").score([said_twice]), 499 / 999)
    np.testing.assert_allclose(Repetition(of="context").score([said_twice]), 2 / 999)
    np.testing.assert_allclose(Repetition(of="both").score([said_twice]), 500 / 999)


@pytest.mark.parametrize("of", ["reply", "context", "both"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_repetition_by_sets_equals_repetition_by_tables(
    of: str, n: int, bundled: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_tables = Repetition(of=of, n=n).score(bundled)
    monkeypatch.setattr(diversity, "LONGEST_IN_TABLE", -1)
    np.testing.assert_array_equal(Repetition(of=of, n=n).score(bundled), by_tables)
    assert np.nanmax(by_tables) > 0


def test_what_repetition_cannot_score_is_told() -> None:
    examples = [Example(text, (), text) for text in ("a b a b", "a", "")] + [Example("c", ("a b",), "a b")]
    with pytest.warns(ScoreWarning) as told:
        table = rejoinder.score(examples, ["repetition", "repetition(of=context)"])
    np.testing.assert_array_equal(table["repetition"], [1 / 3, np.nan, 1, 1])
    np.testing.assert_array_equal(table["repetition(of=context)"], [np.nan, np.nan, np.nan, 1])
    assert [str(warning.message) for warning in told] == [
        "1 reply is empty and scored the worst value of each metric",
        "repetition could not score 1 of 4 replies (too short to hold an n-gram)",
        "repetition(of=context) could not score 3 of 4 replies (too short to hold an n-gram, or no context)",
    ]
    assert (Repetition().needs, Repetition(of="context").needs) == (frozenset(), frozenset({"context"}))


@pytest.mark.parametrize("metric", [Distinct(strip="stopwords"), Specificity(strip="stopwords")])
def test_only_an_empty_reply_scores_0_without_words(metric: Distinct | Specificity) -> None:
    with pytest.warns(ScoreWarning, match="1 empty replies"):
        np.testing.assert_array_equal(metric.score([reply("it is"), reply(" ")]), [np.nan, 0])


def test_generic_replies_are_not_specific() -> None:
    generic, specific, foreign = Specificity().score(
        [reply("i don't know"), reply("the volcano erupted near reykjavik"), reply("привет друзья")]
    )
    assert generic < 0.4 < specific
    assert np.isnan(foreign)


def test_length_counts_tokens() -> None:
    np.testing.assert_array_equal(Length().score([reply("don't panic!"), reply("你好")]), [3, 2])


def test_up_to_nine_words_count_as_one_ngram() -> None:
    assert Repetition(n=9).score([reply("one two three four five six seven eight nine " * 2)])[0] > 0


@pytest.mark.parametrize(
    ("metric", "wrong"),
    [(Distinct, {"n": 0}), (Repetition, {"n": 0}), (Repetition, {"n": 10}), (Repetition, {"of": "x"})],
)
def test_wrong_parameters(metric: type, wrong: dict[str, object]) -> None:
    with pytest.raises(CallError):
        metric(**wrong)

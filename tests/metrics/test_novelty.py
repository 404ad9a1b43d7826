from __future__ import annotations

import numpy as np
import pytest

from rejoinder.errors import CallError
from rejoinder.metrics.diversity import Distinct
from rejoinder.metrics.length import Length
from rejoinder.metrics.novelty import Repetition, Specificity
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
        ("reply", [0, 2 / 4, 0, 0]),
        ("context", [2 / 3, 0, 0, 1]),
        ("both", [2 / 3, 2 / 4, 0, 1]),
    ],
)
def test_repetition_by_hand(of: str, expected: list[float]) -> None:
    examples = [
        reply("do you like tea", "Do you like", "coffee?"),  # do-you, you-like were said; like-tea was not
        reply("no no no tea tea"),  # no-no comes again, once; tea-tea only once
        reply("yes", "yes"),
        reply("i see", "well i see"),
    ]
    expected = [expected[0], 1 / 4 if of != "context" else 0, *expected[2:]]
    np.testing.assert_allclose(Repetition(of=of).score(examples), expected)


def test_repetition_looks_at_the_end_of_a_long_context() -> None:
    context = " ".join(f"word{i}" for i in range(3000))
    assert Repetition().score([reply("word2998 word2999", context)])[0] == 1


def test_generic_replies_are_not_specific() -> None:
    generic, specific, foreign = Specificity().score(
        [reply("i don't know"), reply("the volcano erupted near reykjavik"), reply("привет друзья")]
    )
    assert generic < 0.4 < specific
    assert np.isnan(foreign)


def test_length_counts_tokens() -> None:
    np.testing.assert_array_equal(Length().score([reply("don't panic!"), reply("你好")]), [3, 2])


@pytest.mark.parametrize(("metric", "wrong"), [(Distinct, {"n": 0}), (Repetition, {"n": 0}), (Repetition, {"of": "x"})])
def test_wrong_parameters(metric: type, wrong: dict[str, object]) -> None:
    with pytest.raises(CallError):
        metric(**wrong)

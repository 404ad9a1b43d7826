"""Perturbations: words in, words out, never nothing, and the same for the same seed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rejoinder.trusting.robustness import (
    GENERIC,
    PERTURBATIONS,
    Perturbation,
    TokenWords,
    echoed_context,
    generic_reply,
    repetition,
    reversed_words,
    shuffle,
    without_punctuation,
    without_stop_words,
    word_drop,
)

some_words = st.lists(st.sampled_from(["the", "cat", "Cat", "!", "...", "don't", "is", "猫"]), min_size=1, max_size=12)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("perturbation", PERTURBATIONS, ids=lambda item: item.name)
@settings(max_examples=60, deadline=None)
@given(words=some_words.map(tuple), answered=some_words.map(tuple))
def test_no_reply_becomes_empty_and_the_seed_decides(
    perturbation: Perturbation, words: TokenWords, answered: TokenWords
) -> None:
    changed = perturbation.change(words, answered, rng())
    assert changed
    assert all(changed)
    assert changed == perturbation.change(words, answered, rng())


@settings(max_examples=60, deadline=None)
@given(words=some_words.map(tuple))
def test_what_each_does(words: TokenWords) -> None:
    some = max(1, round(0.3 * len(words)))
    assert Counter(shuffle(words, rng())) == Counter(words)
    assert (shuffle(words, rng()) == words) == (len(set(words)) == 1)
    assert len(repetition(words, rng())) == len(words) + some
    assert set(repetition(words, rng())) == set(words)
    if len(words) > 1:
        assert len(word_drop(words, rng())) == len(words) - some
        assert Counter(word_drop(words, rng())) <= Counter(words)
    assert reversed_words(reversed_words(words)) == words


def test_stop_words_and_punctuation() -> None:
    words = ("I", "Don’t", "like", "the", "cat", ",", "3", "!")
    assert without_stop_words(words) == ("like", "cat", ",", "3", "!")
    assert without_punctuation(words) == ("I", "Don’t", "like", "the", "cat", "3")
    assert without_stop_words(("you", "are")) == ("you", "are")
    assert without_punctuation(("?", "!")) == ("?", "!")
    assert word_drop(("one",), rng()) == ("one",)


def test_generic_and_echoed() -> None:
    assert generic_reply(("hello",), rng()) in GENERIC
    assert all(
        generic_reply(("I", "don't", "know", "."), np.random.default_rng(seed)) != GENERIC[0] for seed in range(9)
    )
    assert echoed_context(("hello",), ("hi", "there")) == ("hi", "there")
    assert echoed_context(("hello",), ()) == ("hello",)


def test_only_missing_punctuation_should_not_matter() -> None:
    assert [item.name for item in PERTURBATIONS if not item.lowers] == ["punctuation removed"]
    assert len({item.name for item in PERTURBATIONS}) == len(PERTURBATIONS) == 8

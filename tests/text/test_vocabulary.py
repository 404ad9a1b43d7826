"""Byte pairs: nothing is unknown, special tokens cannot be typed, and common tokens have small numbers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rejoinder.errors import DataError
from rejoinder.text.vocabulary import END, SPECIAL, Vocabulary

TEXTS = ["Would you like some tea?", "Yes, some green tea please.", "Is there some bread?", "Some bread and tea."] * 3


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.learn(TEXTS, 300)


@pytest.mark.parametrize(
    "text", ["Would you like some tea?", "ﷺ Żółw 🙂", "<end> <pad>", "", "a" * 30, "one\u2028two", "tea,bread"]
)
def test_every_text_comes_back(vocabulary: Vocabulary, text: str) -> None:
    (ids,) = vocabulary.encode([text], 500)
    assert ids[-1] == END
    assert all(token >= len(SPECIAL) for token in ids[:-1])
    assert vocabulary.decode([ids[:-1]]) == [" ".join(text.split())]


def test_what_cannot_be_written_is_a_question_mark(vocabulary: Vocabulary) -> None:
    assert vocabulary.decode(vocabulary.encode(["lone \ud800"], 50)) == ["lone ?"]


def test_tokens_are_numbered_by_frequency(vocabulary: Vocabulary) -> None:
    counts = Counter(token for ids in vocabulary.encode(TEXTS, 99) for token in ids[:-1])
    ordered = [counts[token] for token in range(len(SPECIAL), len(vocabulary))]
    assert ordered == sorted(ordered, reverse=True)
    assert 256 + len(SPECIAL) < len(vocabulary) <= 300


def test_long_texts_are_cut_and_still_end(vocabulary: Vocabulary) -> None:
    whole, cut = vocabulary.encode(TEXTS[:1], 99)[0], vocabulary.encode(TEXTS[:1], 4)[0]
    assert cut == (*whole[:3], END)


def test_saved_and_loaded(vocabulary: Vocabulary, tmp_path: Path) -> None:
    vocabulary.save(tmp_path)
    assert Vocabulary.load(tmp_path) == vocabulary == Vocabulary.learn(TEXTS, 300)
    (tmp_path / "vocabulary.json").write_text("{}")
    with pytest.raises(DataError, match="is not a tokeniser's definition"):
        Vocabulary.load(tmp_path)

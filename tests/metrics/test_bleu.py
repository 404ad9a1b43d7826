from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu, sentence_bleu
from sacrebleu.metrics.bleu import BLEU

from other_languages import other_language
from rejoinder.arrays import Ragged
from rejoinder.errors import CallError
from rejoinder.metrics import ngrams
from rejoinder.metrics.bleu import Bleu
from rejoinder.types import Example


def sacrebleu_scores(examples: list[Example], **settings: Any) -> list[float]:
    peer = BLEU(**settings)
    return [peer.sentence_score(e.response, list(e.references)).score / 100 for e in examples]


def against_sacrebleu(examples: list[Example]) -> None:
    for smooth, value in (("exp", None), ("floor", 0.1), ("floor", 0.3), ("add-k", 1), ("add-k", 2), ("none", None)):
        for n in (1, 2, 4):
            for effective in (True, False):
                metric = Bleu(
                    n=n, smooth=smooth, smooth_value=value, effective_order=effective, tokenise="13a", lowercase=False
                )
                expected = sacrebleu_scores(
                    examples,
                    smooth_method=smooth,
                    smooth_value=value,
                    max_ngram_order=n,
                    effective_order=effective,
                    tokenize="13a",
                )
                np.testing.assert_allclose(metric.score(examples), expected, atol=1e-9, err_msg=metric.signature)


def test_equals_sacrebleu_for_every_smoothing_on_the_bundled_examples(bundled: list[Example]) -> None:
    against_sacrebleu(bundled)


@pytest.mark.parametrize("tokenise", ["13a", "intl", "none"])
def test_equals_sacrebleu_on_real_replies(real: list[Example], tokenise: str) -> None:
    ours = Bleu(tokenise="whitespace" if tokenise == "none" else tokenise, lowercase=False)
    expected = sacrebleu_scores(real, tokenize=tokenise, effective_order=True)
    assert len(real) >= 2000
    np.testing.assert_allclose(ours.score(real), expected, atol=1e-9)


def test_equals_sacrebleu_lower_cased(real: list[Example]) -> None:
    expected = sacrebleu_scores(real, lowercase=True, effective_order=True)
    np.testing.assert_allclose(Bleu(tokenise="13a").score(real), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("language", "tokenise"), [("zh", "zh"), ("ja", "ja-mecab"), ("ko", "ko-mecab"), ("zh", "char")]
)
def test_equals_sacrebleu_in_languages_without_spaces(language: str, tokenise: str) -> None:
    examples = other_language(language)
    expected = sacrebleu_scores(examples, tokenize=tokenise, effective_order=True)
    found = Bleu(tokenise=tokenise, lowercase=False).score(examples)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    if tokenise != "char":
        np.testing.assert_array_equal(Bleu(tokenise="auto", lowercase=False).score(examples), found)


def nltk_scores(examples: list[Example], method: int, n: int) -> list[float]:
    smoothing = getattr(SmoothingFunction(), f"method{method}")
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NLTK warns of every order without a match
        for example in examples:
            references = [text.split() for text in example.references]
            weights = (1 / n,) * n
            scores.append(sentence_bleu(references, example.response.split(), weights, smoothing))
    return scores


@pytest.mark.parametrize("method", [0, 1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("n", [2, 4])
def test_equals_nltk_on_real_replies(real: list[Example], method: int, n: int) -> None:
    if method in {5, 7} and n != 4:
        pytest.skip("NLTK's methods 5 and 7 always take 5-grams for the order after the last")
    ours = Bleu(n=n, smooth=f"nltk-{method}", tokenise="whitespace", lowercase=False)
    np.testing.assert_allclose(ours.score(real), nltk_scores(real, method, n), atol=1e-9)


def test_equals_nltk_method_6_where_nltk_can_score(bundled: list[Example], real: list[Example]) -> None:
    ours = Bleu(smooth="nltk-6", tokenise="whitespace", lowercase=False).score(real)
    compared = 0
    for score, example in zip(ours, real, strict=True):
        try:
            (expected,) = nltk_scores([example], 6, 4)
        except (AssertionError, ValueError):  # NLTK raises where no trigram matches
            continue
        compared += 1
        assert score == pytest.approx(expected, abs=1e-9)
    assert compared > 200


def test_corpus_level_equals_both_peers(real: list[Example]) -> None:
    single = [Example(e.id, (), e.response, e.references[:1]) for e in real]
    texts, references = [e.response for e in single], [[e.references[0] for e in single]]
    expected = BLEU(smooth_method="none", tokenize="13a").corpus_score(texts, references).score / 100
    assert Bleu(tokenise="13a", lowercase=False).corpus_score(single) == pytest.approx(expected, abs=1e-9)
    split = corpus_bleu([[r.split() for r in e.references] for e in real], [e.response.split() for e in real])
    ours = Bleu(smooth="nltk-0", tokenise="whitespace", lowercase=False)
    assert ours.corpus_score(real) == pytest.approx(split, abs=1e-9)


def test_references_apart() -> None:
    example = Example("1", (), "a b c d", ("a b x y", "a b c d e", "z"))
    each = [Bleu(n=2).score([Example("1", (), "a b c d", (r,))])[0] for r in example.references]
    assert Bleu(n=2, refs="max").score([example])[0] == max(each)
    assert Bleu(n=2, refs="mean").score([example])[0] == pytest.approx(sum(each) / 3)


def test_long_texts_are_counted_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    texts = [rng.integers(0, 30, rng.integers(0, 40)).tolist() for _ in range(300)]
    replies, references = Ragged.of(texts[:100]), Ragged.of(texts[100:])
    owner = np.sort(rng.integers(0, 100, 200))
    table = ngrams.ngram_overlap(replies, references, owner, 4)
    monkeypatch.setattr(ngrams, "LONGEST_IN_TABLE", 0)
    counted = ngrams.ngram_overlap(replies, references, owner, 4)
    np.testing.assert_array_equal(table.matches, counted.matches)
    assert table.matches.sum() > 100


def test_a_reply_of_a_hundred_thousand_words() -> None:
    text = "the cat sat " * 40_000
    assert Bleu().score([Example("1", (), text, (text,))])[0] == pytest.approx(1)


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n": 10}, {"smooth": "magic"}, {"refs": "all"}])
def test_wrong_parameters(wrong: dict[str, object]) -> None:
    with pytest.raises(CallError, match="bleu: "):
        Bleu(**wrong)  # type: ignore[arg-type]


def test_corpus_level_is_what_the_signature_says() -> None:
    short = [Example("1", (), "yes please", ("yes please do",)), Example("2", (), "not at all", ("at all costs",))]
    texts, references = [e.response for e in short], [[e.references[0] for e in short]]
    for effective in (False, True):
        expected = BLEU(effective_order=effective, tokenize="13a").corpus_score(texts, references).score / 100
        ours = Bleu(tokenise="13a", lowercase=False, effective_order=effective)
        assert ours.corpus_score(short) == pytest.approx(expected, abs=1e-9)
    several = [Example("1", (), "a b", ("a x", "y b"))]
    assert Bleu(n=1, refs="max").corpus_score(several) == 0.5

from __future__ import annotations

import re

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

from rejoinder.errors import CallError
from rejoinder.metrics import overlap
from rejoinder.metrics.overlap import RougeL
from rejoinder.types import Example


@pytest.mark.parametrize("name", ["bundled", "real"])
def test_f1_equals_rouge_score(name: str, request: pytest.FixtureRequest) -> None:
    examples: list[Example] = request.getfixturevalue(name)
    peer = RougeScorer(["rougeL"])
    expected = [peer.score_multi(list(e.references), e.response)["rougeL"].fmeasure for e in examples]
    ours = RougeL(beta=1.0, refs="max", tokenise="rouge").score(examples)
    # Its tokeniser knows ASCII only: a reply in another script is left without a token, for 0 there and NaN here.
    bare = [not re.search("[A-Za-z0-9]", e.response) for e in examples]
    np.testing.assert_array_equal(np.isnan(ours), bare)
    np.testing.assert_allclose(np.nan_to_num(ours), expected, atol=1e-9)


def plain_lcs(left: list[str], right: list[str]) -> int:
    row = [0] * (len(right) + 1)
    for word in left:
        before = 0
        for place, other in enumerate(right, 1):
            before, row[place] = row[place], before + 1 if word == other else max(row[place], row[place - 1])
    return row[-1]


def test_the_papers_form_equals_a_plain_implementation(bundled: list[Example]) -> None:
    """Best precision and best recall over the references, beta 1.2: as coco-caption's and nlg-eval's ROUGE_L."""
    ours = RougeL(tokenise="whitespace", lowercase=False).score(bundled)
    for score, example in zip(ours, bundled, strict=True):
        reply = example.response.split()
        lengths = [(plain_lcs(reply, r.split()), len(r.split())) for r in example.references]
        precision = max(common / len(reply) for common, _ in lengths)
        recall = max(common / length for common, length in lengths)
        below = recall + 1.44 * precision
        assert score == pytest.approx(2.44 * precision * recall / below if below else 0.0, abs=1e-12)


def test_words_whose_codes_would_be_surrogates() -> None:
    # Token codes are laid out as characters; 0xD800..0xDFFF are none.
    words = [f"w{number}" for number in range(0xE100)]
    example = Example("1", (), " ".join(words[0xD7F0:]), (" ".join(words),))
    assert RougeL(refs="max", beta=1).score([example])[0] > 0


def test_more_different_tokens_than_there_are_characters() -> None:
    words = [f"w{number}" for number in range(0x110000)]
    texts = [" ".join(words[start : start + 4096]) for start in range(0, len(words), 4096)]
    examples = [Example("0", (), "w0 w2 x w1", ("w0 w1 w2", "y w2 x w1"))]
    examples += [Example(text[:9], (), text[:20], (text,)) for text in texts]
    alone = RougeL().score(examples[:9])
    np.testing.assert_array_equal(RougeL().score(examples)[:9], alone)
    assert (alone > 0).all()


def test_codes_compare_as_characters_do(bundled: list[Example], monkeypatch: pytest.MonkeyPatch) -> None:
    by_characters = RougeL().score(bundled)
    monkeypatch.setattr(overlap, "_CHARACTERS", 0)
    np.testing.assert_array_equal(RougeL().score(bundled), by_characters)


@pytest.mark.parametrize(
    "wrong", [{"beta": 0}, {"beta": float("inf")}, {"beta": float("nan")}, {"beta": 1e200}, {"refs": "joint"}]
)
def test_wrong_parameters(wrong: dict[str, object]) -> None:
    with pytest.raises(CallError, match="rouge-l: "):
        RougeL(**wrong)  # type: ignore[arg-type]

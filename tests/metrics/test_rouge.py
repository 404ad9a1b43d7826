from __future__ import annotations

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

from rejoinder.errors import CallError
from rejoinder.metrics.rouge import RougeL
from rejoinder.types import Example


@pytest.mark.parametrize("name", ["bundled", "real"])
def test_f1_equals_rouge_score(name: str, request: pytest.FixtureRequest) -> None:
    examples: list[Example] = request.getfixturevalue(name)
    peer = RougeScorer(["rougeL"])
    expected = [peer.score_multi(list(e.references), e.response)["rougeL"].fmeasure for e in examples]
    ours = RougeL(beta=1.0, refs="max", tokenise="rouge")
    np.testing.assert_allclose(ours.score(examples), expected, atol=1e-9)


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


@pytest.mark.parametrize("wrong", [{"beta": 0}, {"refs": "joint"}])
def test_wrong_parameters(wrong: dict[str, object]) -> None:
    with pytest.raises(CallError, match="rouge-l: "):
        RougeL(**wrong)  # type: ignore[arg-type]

"""Short texts are compared in tables, long ones otherwise: both ways must agree with the peers and with each other."""

from __future__ import annotations

import numpy as np
import pytest
from sacrebleu.metrics.chrf import CHRF

from rejoinder.arrays import Ragged
from rejoinder.metrics import embedding, ngrams, overlap
from rejoinder.metrics.cider import Cider
from rejoinder.metrics.embedding import GreedyMatching
from rejoinder.metrics.overlap import ChrF
from rejoinder.types import Example


@pytest.fixture(scope="module")
def long_examples() -> list[Example]:
    """Replies and references of 1 to 600 words, of which many come again."""
    rng = np.random.default_rng(3)
    words = np.array("the a i you it and to of that what was tea time know really volcano reykjavik".split())

    def text(length: int) -> str:
        return " ".join(words[np.minimum(rng.geometric(0.2, length), len(words)) - 1])

    lengths = [1, 5, 30, 90, 250, 450, 600]
    return [Example(f"{i}-{j}", (), text(i), (text(j), text(7))) for i in lengths for j in lengths]


def test_chrf_equals_sacrebleu(long_examples: list[Example]) -> None:
    peer = CHRF()
    expected = [peer.sentence_score(e.response, list(e.references)).score / 100 for e in long_examples]
    np.testing.assert_allclose(ChrF().score(long_examples), expected, atol=1e-9)


def test_chrf_by_sorting_equals_chrf_by_tables(bundled: list[Example], monkeypatch: pytest.MonkeyPatch) -> None:
    by_tables = ChrF().score(bundled)
    monkeypatch.setattr(overlap, "_LONGEST_IN_TABLE", -1)
    np.testing.assert_array_equal(ChrF().score(bundled), by_tables)


@pytest.mark.parametrize("length", [199, 200, 201])
def test_chrf_where_short_texts_end(length: int) -> None:
    text = "".join(chr(97 + step * step % 26) for step in range(length))
    assert ChrF().score([Example("1", (), text, (text,))])[0] == pytest.approx(1)


def test_chrf_by_sorting_with_many_characters() -> None:
    # 20,000 different characters take 15 bits each: six of them do not fit next to the pair's number.
    texts = ["".join(chr(0x4E00 + (start * 37 + step * 101) % 20000) for step in range(230)) for start in range(90)]
    examples = [Example(str(i), (), text, (text[::-1], text[5:])) for i, text in enumerate(texts)]
    peer = CHRF()
    expected = [peer.sentence_score(e.response, list(e.references)).score / 100 for e in examples]
    np.testing.assert_allclose(ChrF().score(examples), expected, atol=1e-9)


def test_cider_equals_pycocoevalcap(long_examples: list[Example]) -> None:
    peer = pytest.importorskip("pycocoevalcap.cider.cider").Cider()
    references = {e.id: list(e.references) for e in long_examples}
    _, expected = peer.compute_score(references, {e.id: [e.response] for e in long_examples})
    ours = Cider(tokenise="whitespace", lowercase=False)
    np.testing.assert_allclose(ours.score(long_examples), expected, atol=1e-6)
    assert np.max(expected) > 0.1


def test_counts_within_a_text_are_the_same_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    texts = Ragged.of([rng.integers(0, 12, rng.integers(0, 30)).tolist() for _ in range(200)])
    in_tables = ngrams.counts_within(texts, 4)
    monkeypatch.setattr(ngrams, "LONGEST_IN_TABLE", -1)
    for one, other in zip(in_tables, ngrams.counts_within(texts, 4), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.max() > 1


def test_greedy_matching_is_the_same_both_ways(bundled: list[Example], monkeypatch: pytest.MonkeyPatch) -> None:
    in_tables = GreedyMatching().score(bundled)
    monkeypatch.setattr(embedding, "LONGEST_IN_TABLE", -1)
    np.testing.assert_allclose(GreedyMatching().score(bundled), in_tables, atol=1e-6)


@pytest.mark.parametrize("metric", [Cider(), ChrF(), GreedyMatching()])
def test_fifty_thousand_words(metric: Cider | ChrF | GreedyMatching) -> None:
    text = "the cat sat down " * 12_500
    examples = [Example("1", (), text, (text + "again",)), Example("2", (), "a dog", ("a dog ran",))]
    scores = metric.score(examples)
    assert (scores > 0).all()

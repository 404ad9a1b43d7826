"""N-gram probabilities, checked by hand and against a plain implementation."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from rejoinder.arrays import Ragged
from rejoinder.models.ngram import NgramCounts, NgramModel, ended, prune
from rejoinder.models.smoothing import good_turing, good_turing_discounts, kneser_ney
from rejoinder.text.tokens import token_codes

SMALL = ["c b c", "b", "c b", "c a"]
LETTERS = list("abcdefghijklmnopqrstuvwxyz")
COMMON = 1 / np.arange(1, 27)  # as words are: the second half as frequent as the first, and so on
LARGER = [
    " ".join(np.random.default_rng(seed).choice(LETTERS, seed % 7 + 1, p=COMMON / COMMON.sum())) for seed in range(60)
]


def counted(texts: list[str], order: int) -> NgramCounts:
    vocabulary, rows = token_codes(pl.Series(texts), "whitespace", lowercase=True)
    return NgramCounts.of(vocabulary.to_list(), rows, order)


def probability(model: NgramModel, history: str, word: str) -> float:
    number = {each: place for place, each in enumerate(model.words)}
    row = np.array([[number[each] for each in [*history.split(), word]]])
    return float(10 ** model.last_word_log_probs(row)[0])


# Bigrams of SMALL: <s> c 3; c b 2; b </s> 2; <s> b, b c, c </s>, c a, a </s> 1. So n1 = 5, n2 = 2, n3 = 1, and the
# largest count that can be discounted is 2:
#   a = 3 n3 / n1 = 3/5,  g1 = 2 n2 / n1 = 4/5,  g2 = 3 n3 / (2 n2) = 3/4
#   d1 = (g1 - a) / (1 - a) = 1/2,  d2 = (g2 - a) / (1 - a) = 3/8
# Words: c 4, b 3, a 1, </s> 4, of 12; none occurs twice, so they are not discounted.
def test_discounts_of_good_turing() -> None:
    counts = counted(SMALL, 2).levels[1].counts
    assert sorted(counts.tolist()) == [1, 1, 1, 1, 1, 2, 2, 3]
    expected = {1: 1 / 2, 2: 3 / 8, 3: 1.0}
    np.testing.assert_allclose(good_turing_discounts(counts, 2), [expected[count] for count in counts.tolist()])


@pytest.mark.parametrize(
    ("history", "word", "expected"),
    [
        ("", "c", 4 / 12),
        ("", "b", 3 / 12),
        ("", "a", 1 / 12),
        ("", "</s>", 4 / 12),
        ("<s>", "c", 3 / 4),  # three times: reliable, not discounted
        ("<s>", "b", 1 / 2 / 4),
        ("c", "b", 3 / 8 * 2 / 4),
        ("c", "a", 1 / 2 / 4),
        ("b", "c", 1 / 2 / 3),
        ("a", "</s>", 1 / 2),
        # Unseen. After <s> 1 - 3/4 - 1/8 = 1/8 is left; c and b have 1/3 + 1/4 of the words, so bow = 1/8 / (5/12).
        ("<s>", "a", 3 / 10 * 1 / 12),
        # After c: 1 - 3/16 - 1/8 - 1/8 = 9/16; b, a and </s> have 1/4 + 1/12 + 1/3, so bow = 9/16 / (1/3) = 27/16.
        ("c", "c", 27 / 16 * 4 / 12),
        # After b: 1 - 1/6 - 1/4 = 7/12; c and </s> have 2/3, so bow = 7/12 / (1/3) = 7/4.
        ("b", "a", 7 / 4 * 1 / 12),
    ],
)
def test_back_off_as_srilm_computes_it(history: str, word: str, expected: float) -> None:
    model = good_turing(counted(SMALL, 2), open_vocabulary=False)
    assert probability(model, history, word) == pytest.approx(expected, abs=1e-9)


# Trigrams: <s> c b 2, six others 1, which are below -gt3min 2. n1 = 6, n2 = 1: d1 would be 0 and is out of range.
# After "<s> c" b has 2 of 3, and 1/3 is left; below, p(b | c) = 3/16: bow = 1/3 / (13/16) = 16/39.
def test_rare_trigrams_are_left_out() -> None:
    model = good_turing(counted(SMALL, 3), open_vocabulary=False)
    assert [len(level) for level in model.levels] == [6, 8, 1]
    assert probability(model, "<s> c", "b") == pytest.approx(2 / 3)
    assert probability(model, "<s> c", "a") == pytest.approx(16 / 39 * 1 / 8)
    assert probability(model, "c b", "c") == pytest.approx(1 / 6), "as after b alone"


# "a b b": a 1, b 2, </s> 1. Nothing is left of 4 for <unk>, so the total becomes 5, and <unk> gets what is left.
def test_an_open_vocabulary_leaves_room_for_one_word() -> None:
    model = good_turing(counted(["a b b"], 1))
    assert probability(model, "", "b") == pytest.approx(2 / 5)
    assert probability(model, "", "<unk>") == pytest.approx(1 / 5)
    assert model.is_open
    assert not good_turing(counted(["a b b"], 1), open_vocabulary=False).is_open


# After "a" only </s> was seen: p = 1/2, and 1/3 without history; bow(a) = 1/2 / (2/3) = 3/4. Without the bigram bow'
# is 1, and with p(a) = 1/12 the entropy grows by -1/12 (1/2 log(1/3 / (1/2)) + 1/2 log(1 / (3/4))) = log(9/8) / 24.
def test_pruning_by_relative_entropy() -> None:
    model = good_turing(counted(SMALL, 2), open_vocabulary=False)
    change = (9 / 8) ** (1 / 24) - 1
    for threshold, known in ((change * 0.99, True), (change * 1.01, False)):
        pruned = prune(model, threshold)
        assert any(model.words[first] == "a" for first, _ in pruned.ngrams(2).tolist()) is known
        assert probability(pruned, "a", "</s>") == pytest.approx(1 / 2 if known else 1 / 3)


def test_prefixes_of_longer_ngrams_are_not_pruned() -> None:
    model = good_turing(counted(LARGER, 3))
    pruned = prune(model, 1e-3)
    assert 0 < len(pruned.levels[2]) < len(model.levels[2])
    assert len(pruned.levels[1]) < len(model.levels[1])
    begins = {tuple(row[:2]) for row in pruned.ngrams(3).tolist()}
    assert begins <= {tuple(row) for row in pruned.ngrams(2).tolist()}
    assert prune(model, 1.0).levels[1].keys.tolist() == []


@pytest.mark.parametrize("texts", [SMALL, LARGER, ["a b b"], ["x"]])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("make", [good_turing, kneser_ney])
@pytest.mark.parametrize("open_vocabulary", [True, False])
@pytest.mark.parametrize("threshold", [0.0, 1e-3])
def test_every_history_has_probabilities_that_sum_to_1(
    texts: list[str], order: int, make: object, open_vocabulary: bool, threshold: float
) -> None:
    model: NgramModel = make(counted(texts, order), open_vocabulary=open_vocabulary)  # type: ignore[operator]
    model = prune(model, threshold) if threshold else model
    size = len(model.words)
    histories = np.random.default_rng(0).integers(3, size, (30, order - 1))
    histories[:10, :1] = 1
    for history in histories.tolist():
        rows = np.array([[*history, word] for word in range(size)])
        assert (10.0 ** model.last_word_log_probs(rows)).sum() == pytest.approx(1, abs=1e-5)


def plain_kneser_ney(texts: list[str]) -> dict[tuple[str, str], float]:
    """Bigrams in dictionaries, with the formulas of Chen & Goodman written out."""
    bigrams = Counter(pair for text in texts for pair in pairwise(["<s>", *text.split(), "</s>"]))
    before: dict[str, set[str]] = defaultdict(set)
    for first, second in bigrams:
        before[second].add(first)
    words = {word: len(found) for word, found in before.items()}

    def discount(counts: list[int]) -> dict[int, float]:
        n1, n2, n3, n4 = (counts.count(n) for n in (1, 2, 3, 4))
        y = n1 / (n1 + 2 * n2)
        return {1: 1 - 2 * y * n2 / n1, 2: 2 - 3 * y * n3 / n2, 3: 3 - 4 * y * n4 / n3}

    low, high = {1: 0.5, 2: 1.0, 3: 1.5}, discount(list(bigrams.values()))  # too few words to estimate from
    total = sum(words.values())
    left = sum(low[min(count, 3)] for count in words.values()) / total
    unigram = {word: (count - low[min(count, 3)]) / total + left / (len(words) + 1) for word, count in words.items()}
    result = {}
    for history in {first for first, _ in bigrams}:
        seen = {second: count for (first, second), count in bigrams.items() if first == history}
        share = sum(high[min(count, 3)] for count in seen.values()) / sum(seen.values())
        for word in words:
            own = seen.get(word, 0)
            own_share = (own - high[min(own, 3)]) / sum(seen.values()) if own else 0.0
            result[history, word] = own_share + share * unigram[word]
    return result


def test_kneser_ney_against_a_plain_implementation() -> None:
    model = kneser_ney(counted(LARGER, 2))
    expected = plain_kneser_ney(LARGER)
    assert len(expected) > 500
    for (history, word), value in expected.items():
        assert probability(model, history, word) == pytest.approx(value, abs=1e-12)


def test_sentences_score_the_same_together_and_alone() -> None:
    model = good_turing(counted(LARGER, 3))
    vocabulary, rows = token_codes(pl.Series([*LARGER, "", "a unheard b"]), "whitespace", lowercase=True)
    sentences = Ragged(model.numbers(vocabulary.to_list())[rows.values], rows.offsets)
    together = model.mean_log_probs(sentences)
    alone = [model.mean_log_probs(Ragged.of([sentences[row].tolist()]))[0] for row in range(len(sentences))]
    np.testing.assert_array_equal(together, alone)
    assert np.isnan(together[-2])
    assert np.isfinite(together[-1])


def test_unknown_words_are_ignored_with_a_closed_vocabulary() -> None:
    model = good_turing(counted(SMALL, 2), open_vocabulary=False)
    known, unknown = model.numbers(["c"]).tolist() * 2, model.numbers(["x"]).tolist()
    means = model.mean_log_probs(Ragged.of([known[:1], [*known[:1], *unknown], unknown]))
    assert means[0] == means[1] == pytest.approx(math.log10(3 / 4))
    assert np.isnan(means[2])


def test_the_end_of_a_sentence_is_a_word_if_asked_for() -> None:
    model = good_turing(counted(SMALL, 2), open_vocabulary=False)
    sentence = Ragged.of([model.numbers(["c", "b"]).tolist()])
    np.testing.assert_allclose(10 ** model.word_log_probs(ended(sentence)), [3 / 4, 3 / 16, 3 / 8 * 2 / 3])


def test_special_tokens_in_a_text_are_unknown_words() -> None:
    model = good_turing(counted(["<s> a </s> b", "b a"], 2))
    assert sorted(model.words) == ["</s>", "<s>", "<unk>", "a", "b"]
    assert model.numbers(["<s>", "</s>"]).tolist() == [0, 0]
    assert model.numbers(["a", "b"]).min() > 2

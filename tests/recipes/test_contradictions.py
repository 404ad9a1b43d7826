"""The written pairs of a contradicting reply and its correction: frozen, complete, and told apart by no word list."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from places import ROOT
from rejoinder.stats.resampling import mean_interval
from rejoinder.text.words import words_of

FILE = ROOT / "benchmarks" / "contradictions.jsonl"
DIGEST = "a790ea508a9be9605c5afd3aef15651ecc9a7220ec0102b2145fa89efed834ed"
FOLDS = 10
DRAWS = 20

Pairs = list[dict[str, Any]]


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def test_the_pairs_are_those_that_were_frozen() -> None:
    assert sha256(FILE.read_bytes()).hexdigest() == DIGEST


def test_each_of_the_five_kinds_has_forty_pairs(pairs: Pairs) -> None:
    assert set(Counter(pair["kind"] for pair in pairs).values()) == {40}
    assert len({pair["kind"] for pair in pairs}) == 5
    assert len({tuple(pair["context"]) for pair in pairs}) == len({pair["id"] for pair in pairs}) == len(pairs)
    for pair in pairs:
        assert 1 <= len(pair["context"]) <= 4
        assert pair["contradicting"] != pair["correct"]


def test_the_halves_are_of_equal_length_on_average(pairs: Pairs) -> None:
    longer = np.array([len(words_of(each["correct"])) - len(words_of(each["contradicting"])) for each in pairs])
    interval = mean_interval(longer.astype(np.float64))
    assert interval.low < 0 < interval.high


def test_no_word_list_tells_the_halves_apart(pairs: Pairs) -> None:
    """A classifier with one weight per word, cross-validated over pairs, is at chance."""
    right = np.mean([_right(pairs, seed) for seed in range(DRAWS)], axis=0)
    interval = mean_interval(right)
    assert interval.low < 0.5 < interval.high


def test_the_classifier_finds_a_word_that_gives_the_half_away(pairs: Pairs) -> None:
    marked = [{**pair, "contradicting": f"{pair['contradicting']} Well."} for pair in pairs]
    assert _right(marked, 0).mean() > 0.9


def test_words_of_the_context_do_not_tell_the_halves_apart(pairs: Pairs) -> None:
    """The half that repeats more of the context's words is the correct one about as often as the other."""
    right = []
    for pair in pairs:
        before = {word for turn in pair["context"] for word in words_of(turn)}
        shares = [np.mean([word in before for word in words_of(pair[half])]) for half in ("contradicting", "correct")]
        right.append((np.sign(shares[1] - shares[0]) + 1) / 2)
    interval = mean_interval(np.array(right))
    assert interval.low < 0.5 < interval.high


def _right(pairs: Pairs, seed: int) -> np.ndarray:
    """For each pair whether naive Bayes, fitted on the other folds, finds the correct half; a tie is .5. (pairs,)"""
    fold = np.random.default_rng(seed).permutation(len(pairs)) % FOLDS
    words = [[Counter(words_of(pair[half])) for half in ("contradicting", "correct")] for pair in pairs]
    right = np.full(len(pairs), np.nan)
    for held in range(FOLDS):
        known: list[Counter[str]] = [Counter(), Counter()]
        for row in np.flatnonzero(fold != held):
            for total, counts in zip(known, words[row], strict=True):
                total.update(counts)
        for row in np.flatnonzero(fold == held):
            wrong, correct = (
                sum(n * np.log((known[1][word] + 0.5) / (known[0][word] + 0.5)) for word, n in counts.items())
                for counts in words[row]
            )
            right[row] = (np.sign(correct - wrong) + 1) / 2
    return right

"""The metric `fluency`: intact English above broken English."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.data.negatives import garbled
from rejoinder.metrics.fluency import WINDOW, fluency, hashed, logits, shipped_weights, tokens_of, windows_of

INTACT = [
    "I was about to cook, so come over if you are hungry.",
    "The train was late again, and nobody told us why.",
    "We could meet at the library after your class.",
    "She said that the doctor would call back in the morning.",
    "My brother plays chess with his neighbour every Sunday.",
]


def scores(texts: list[str]) -> list[float]:
    found: list[float] = fluency(texts, shipped_weights()).tolist()
    return found


def test_broken_language_is_below_intact_language() -> None:
    rng = np.random.default_rng(0)
    whole = scores(INTACT)
    broken = [scores([made.text])[0] for text in INTACT for _ in range(5) if (made := garbled(text, "Hi.", rng))]
    assert min(whole) > 0.7
    assert np.nanmean(broken) < 0.4


def test_scores_of_the_shipped_weights() -> None:
    """Of resources/fluency.safetensors: other buckets for words, starts or ends would give other scores."""
    found = scores([INTACT[0], "The train late was again and us nobody why told."])
    assert found == pytest.approx([0.915964, 0.295206], abs=1e-4)


def test_spelling_of_apostrophes_and_spaces_does_not_matter() -> None:
    same = ["I don't think that's right.", "I don ’ t think that ' s right .", "i do n't think that's right."]
    assert len({tuple(tokens_of(text)) for text in same}) == 1


def test_too_few_words_say_nothing() -> None:
    assert np.isnan(scores(["Me too.", "", "...", "???!!!"])).all()
    assert not np.isnan(scores(["Me too, of course."])).any()


def test_junk_after_a_good_reply_counts() -> None:
    junk = " ".join("table quickly seven of blue the run under " for _ in range(18))
    good, longer = scores([INTACT[0], f"{INTACT[0]} {junk}"])
    assert longer < good / 2


def test_windows_have_nearly_equal_length() -> None:
    assert windows_of([]) == [[]]
    assert [len(each) for each in windows_of(["a"] * (2 * WINDOW + 2))] == [16, 17, 17]


def test_padding_changes_nothing() -> None:
    windows = [tokens_of(text) for text in INTACT]
    together = logits(*hashed(windows), shipped_weights())
    alone = [logits(*hashed([window]), shipped_weights())[0] for window in windows]
    assert together.tolist() == pytest.approx(alone, abs=1e-4)

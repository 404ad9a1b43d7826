"""Scores of single replies, as the adapters of other tools ask for them."""

from __future__ import annotations

import pytest

import rejoinder
from rejoinder import Example
from rejoinder.adapters.single_reply import score_reply, single_reply_metric
from rejoinder.errors import CallError, NeedsError


def test_the_score_is_that_of_the_metric() -> None:
    metric = single_reply_metric("bleu-2")
    expected = rejoinder.load("bleu-2").score([Example("1", ("Tea?",), "Yes, tea please.", ("Yes, please.",))])[0]
    assert score_reply(metric, ["Tea?"], "Yes, tea please.", ["Yes, please.", ""]) == expected > 0


def test_no_score_is_an_error_and_not_a_number() -> None:
    with pytest.raises(NeedsError, match=r"^rouge-l cannot score this reply \(no references"):
        score_reply(single_reply_metric("rouge-l"), ["Tea?"], "Yes.", [])


def test_metrics_of_a_whole_corpus_are_refused() -> None:
    with pytest.raises(CallError, match=r"^cider reads all replies before it scores one"):
        single_reply_metric("cider")

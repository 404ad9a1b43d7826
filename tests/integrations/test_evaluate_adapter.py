"""The metric of Hugging Face evaluate."""

from __future__ import annotations

import pytest

import rejoinder
from peers import peer
from rejoinder import Example

pytestmark = pytest.mark.filterwarnings("default")  # those of the peer are not ours

REPLIES, REFERENCES = ["Yes, tea please.", "No."], [["Yes, please."], ["No, thanks.", "No."]]


def test_the_mean_and_the_scores() -> None:
    peer("evaluate")
    from rejoinder.adapters.evaluate import ReplyMetric

    found = ReplyMetric("rouge-l").compute(predictions=REPLIES, references=REFERENCES)
    examples = [Example(str(n), (), REPLIES[n], tuple(REFERENCES[n])) for n in range(2)]
    expected = rejoinder.load("rouge-l").score(examples)
    assert found["scores"] == expected.tolist()
    assert found["rouge-l"] == pytest.approx(expected.mean())


def test_batches_and_contexts() -> None:
    peer("evaluate")
    from rejoinder.adapters.evaluate import ReplyMetric

    metric = ReplyMetric("default")
    for reply in REPLIES:
        metric.add_batch(predictions=[reply], contexts=[["Tea?"]])
    expected = rejoinder.load("default").score([Example(reply, ("Tea?",), reply) for reply in REPLIES])
    assert metric.compute()["scores"] == pytest.approx(expected.tolist())

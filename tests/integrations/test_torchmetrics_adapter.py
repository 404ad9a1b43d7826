"""The torchmetrics metric."""

from __future__ import annotations

import pytest

import rejoinder
from peers import peer
from rejoinder import Example

pytestmark = pytest.mark.filterwarnings("default")  # those of the peer are not ours

REPLIES, REFERENCES = ["Yes, tea please.", "No.", "Maybe."], ["Yes, please.", ["No, thanks.", "No."], "Tea."]


def test_the_mean_over_batches() -> None:
    peer("torchmetrics")
    from rejoinder.adapters.torchmetrics import ReplyMetric

    metric = ReplyMetric("rouge-l")
    metric.update(REPLIES[:2], REFERENCES[:2])
    metric.update(REPLIES[2:], REFERENCES[2:])
    metric.update(["Yes."])  # without a reference it cannot be scored
    references = [("Yes, please.",), ("No, thanks.", "No."), ("Tea.",)]
    expected = rejoinder.load("rouge-l").score([Example(str(n), (), REPLIES[n], references[n]) for n in range(3)])
    assert float(metric.compute()) == pytest.approx(expected.mean())
    assert int(metric.unscored) == 1
    metric.reset()
    metric.update(REPLIES[:1], REFERENCES[:1])
    assert float(metric.compute()) == pytest.approx(expected[0])
    assert metric.higher_is_better is True

"""The deepeval metric, inside deepeval itself."""

from __future__ import annotations

from typing import Any

import pytest

import rejoinder
from peers import peer
from rejoinder import Example
from rejoinder.errors import NeedsError

pytestmark = pytest.mark.filterwarnings("default")  # those of the peer are not ours

REPLY, REFERENCE = "Yes, tea please.", "Yes, please."


@pytest.fixture
def deepeval(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    return peer("deepeval")


def case(deepeval: Any, **changed: Any) -> Any:
    return deepeval.test_case.LLMTestCase(
        **{"input": "Tea?", "actual_output": REPLY, "expected_output": REFERENCE, **changed}
    )


def test_the_score_and_whether_it_passes(deepeval: Any) -> None:
    from rejoinder.adapters.deepeval import ReplyMetric

    metric = ReplyMetric("rouge-l", threshold=0.5)
    expected = rejoinder.load("rouge-l").score([Example("1", ("Tea?",), REPLY, (REFERENCE,))])[0]
    assert metric.measure(case(deepeval)) == expected > 0.5
    assert metric.is_successful() is True
    assert metric.reason.startswith("rouge-l|")
    metric.measure(case(deepeval, actual_output="No."))
    assert metric.is_successful() is False
    with pytest.raises(NeedsError, match="cannot score this reply"):
        metric.measure(case(deepeval, expected_output=None))


def test_assert_test(deepeval: Any) -> None:
    from rejoinder.adapters.deepeval import ReplyMetric

    deepeval.assert_test(case(deepeval), [ReplyMetric("rouge-l", threshold=0.5)], run_async=False)
    with pytest.raises(AssertionError, match="rejoinder rouge-l"):
        deepeval.assert_test(
            case(deepeval, actual_output="No."), [ReplyMetric("rouge-l", threshold=0.5)], run_async=False
        )


def test_lower_scores_may_be_better(deepeval: Any) -> None:
    from rejoinder.adapters.deepeval import ReplyMetric

    metric = ReplyMetric("repetition", threshold=0.5)
    metric.measure(case(deepeval, actual_output="tea tea tea tea tea"))
    assert metric.is_successful() is False
    metric.measure(case(deepeval))
    assert metric.is_successful() is True

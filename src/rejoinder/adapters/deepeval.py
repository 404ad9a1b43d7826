"""A deepeval metric: `ReplyMetric("default", threshold=3.2)`, for `evaluate` and `assert_test`."""

from __future__ import annotations

from typing import Any

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from rejoinder.adapters.single_reply import score_reply, single_reply_metric


class ReplyMetric(BaseMetric):  # type: ignore[misc]
    """Scores a test case's actual output as the reply to its input, with the expected output as the reference.

    The score is on the metric's own scale (`default`: 1 to 5). Where higher scores are worse, the threshold is the
    highest that passes.
    """

    def __init__(self, metric: str = "default", threshold: float | None = None) -> None:
        self.label = metric
        self.metric = single_reply_metric(metric)
        self.threshold = threshold
        self.evaluation_model = self.metric.signature
        self.async_mode = False

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """The score, which is also kept with whether it passes."""
        references = [test_case.expected_output] if test_case.expected_output else []
        score = score_reply(self.metric, [test_case.input], test_case.actual_output or "", references)
        self.score, self.reason = score, self.metric.signature
        self.is_successful()
        return score

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """The same: scoring does not wait for anything."""
        return self.measure(test_case)

    def is_successful(self) -> bool | None:
        """Whether the score passes; None without a threshold."""
        if self.threshold is None or self.score is None:
            self.success = None
        elif self.metric.higher_is_better:
            self.success = self.score >= self.threshold
        else:
            self.success = self.score <= self.threshold
        return self.success

    @property
    def __name__(self) -> str:
        return f"rejoinder {self.label}"

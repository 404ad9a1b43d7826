"""A module of Hugging Face evaluate: `ReplyMetric("rouge-l").compute(predictions=..., references=...)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from rejoinder.scoring.score import metric_of, score

_TEXT = datasets.Value("string")
_TEXTS = datasets.Sequence(_TEXT)


class ReplyMetric(evaluate.Metric):  # type: ignore[misc]
    """The mean score of replies; `contexts`, a list of utterances for each reply, are needed by evaluators only.

    References are lists, one per reply.
    """

    def __init__(self, metric: str = "default", **more: Any) -> None:
        self.metric = metric_of(metric)
        self.label = metric
        super().__init__(config_name=metric, **more)

    def _info(self) -> evaluate.MetricInfo:
        inputs = {"predictions": _TEXT}
        inputs |= {"references": _TEXTS} if "references" in self.metric.needs else {}
        inputs |= {"contexts": _TEXTS} if "context" in self.metric.needs else {}
        return evaluate.MetricInfo(
            description=self.metric.measures, citation=self.metric.citation, features=datasets.Features(inputs)
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]] = (),
        contexts: Sequence[Sequence[str]] = (),
    ) -> dict[str, Any]:
        """The mean with its 95 % interval, and the score of each reply."""
        records = [
            {
                "response": reply,
                "references": list(references[row]) if references else [],
                "context": list(contexts[row]) if contexts else [],
            }
            for row, reply in enumerate(predictions)
        ]
        table = score(records, {self.label: self.metric})
        (cell,) = table.summary()[self.label].values()
        return {self.label: cell.mean, "low": cell.low, "high": cell.high, "scores": table[self.label].tolist()}

"""Why replies got their scores, in the words of the metrics that say so."""

from __future__ import annotations

from collections.abc import Mapping

from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.types import Example

Reasons = Mapping[int, Mapping[str, str]]
"""Row -> metric label -> the justification of its score."""


def reasons_of(metrics: Mapping[str, Metric], examples: Mapping[int, Example]) -> Reasons:
    """The justifications for these rows; a judge takes them from its cache of answers."""
    batch = Batch(list(examples.values()))
    found: dict[int, dict[str, str]] = {}
    for label, metric in metrics.items():
        for row, reason in zip(examples, metric.reasons(batch), strict=False):  # most metrics give none at all
            if reason:
                found.setdefault(row, {})[label] = reason
    return found

"""The score of one reply, for tools that ask for one at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rejoinder.errors import CallError, NeedsError
from rejoinder.metrics.base import Metric
from rejoinder.scoring.score import metric_of
from rejoinder.types import Example


def single_reply_metric(name: str) -> Metric:
    """The metric of this name; a CallError where its scores depend on all replies of a corpus, as CIDEr's do."""
    metric = metric_of(name)
    if metric.observer() is not None:
        raise CallError(f"{name} reads all replies before it scores one: use `rejoinder score` or rejoinder.score")
    return metric


def score_reply(metric: Metric, context: Sequence[str], response: str, references: Sequence[str] = ()) -> float:
    """The score of one reply; a NeedsError where the metric cannot score it: other tools would count NaN as a number.

    `context` is oldest utterance first. References that are empty count as none.
    """
    kept = tuple(reference for reference in references if reference)
    (score,) = metric.score([Example("1", tuple(context), response, kept)]).tolist()
    if math.isnan(score):
        raise NeedsError(f"{metric.name} cannot score this reply ({metric.cannot_score})")
    return float(score)

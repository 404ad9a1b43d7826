"""A torchmetrics metric: `ReplyMetric("rouge-l")`, updated batch by batch and reduced over processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torchmetrics import Metric

from rejoinder.adapters.single_reply import single_reply_metric
from rejoinder.types import Example


class ReplyMetric(Metric):  # type: ignore[misc]
    """The mean score of all replies that were given; those that could not be scored are left out, and counted."""

    is_differentiable = False
    full_state_update = False

    def __init__(self, metric: str = "default", **more: Any) -> None:
        super().__init__(**more)
        self.metric = single_reply_metric(metric)
        for state in ("total", "scored", "unscored"):
            self.add_state(state, torch.tensor(0.0, dtype=torch.float64), dist_reduce_fx="sum")

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher mean is better: it depends on the metric."""
        return self.metric.higher_is_better

    def update(
        self,
        preds: Sequence[str],
        target: Sequence[str | Sequence[str]] = (),
        contexts: Sequence[Sequence[str]] = (),
    ) -> None:
        """Add replies, with a reference or several for each, and the utterances that each replies to."""
        scores = self.metric.score(
            Example(
                id=str(row),
                context=tuple(contexts[row]) if contexts else (),
                response=reply,
                references=_texts(target[row]) if target else (),
            )
            for row, reply in enumerate(preds)
        )
        known = scores[~np.isnan(scores)]
        self.total += float(known.sum())
        self.scored += len(known)
        self.unscored += len(scores) - len(known)

    def compute(self) -> torch.Tensor:
        """The mean score; NaN where nothing was scored."""
        return torch.div(self.total, self.scored)


def _texts(reference: str | Sequence[str]) -> tuple[str, ...]:
    return (reference,) if isinstance(reference, str) else tuple(reference)

"""Length: the number of tokens, the simplest metric and a baseline for every other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rejoinder.metrics.base import TextMetric
from rejoinder.metrics.batch import Batch
from rejoinder.types import Scores


@dataclass(frozen=True, kw_only=True)
class Length(TextMetric):
    """Number of tokens in the reply."""

    name: ClassVar[str] = "length"
    measures: ClassVar[str] = "number of tokens in the reply; neither good nor bad in itself"
    citation: ClassVar[str] = "-"
    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    def score_batch(self, batch: Batch) -> Scores:
        """One count per reply."""
        return batch.tokens(self.text).responses.lengths.astype(np.float64)

"""A metric that says how many threads torch has in the process that scores, importable by worker processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rejoinder.metrics.batch import Batch
from rejoinder.metrics.overlap import Length
from rejoinder.types import Scores


@dataclass(frozen=True, kw_only=True)
class TorchThreads(Length):
    """The number of torch's threads, for every reply."""

    name: ClassVar[str] = "torch-threads"

    def score_batch(self, batch: Batch) -> Scores:
        """One equal number per reply."""
        import torch

        return np.full(len(batch), float(torch.get_num_threads()))

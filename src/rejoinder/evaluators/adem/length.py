"""The trend of scores with reply length, which can be removed (Lowe et al. 2017, section 5: people's own bias).

Ratings, and so scores learned from them, depend on length: short replies are often generic and then never wrong. The
trend is a least-squares fit over log(1 + words) and its square and, with references, over the distance from the length
of the nearest reference. It is fitted to the scores of the training replies; its deviation from their mean is
subtracted. Replies that equal a reference are left out of the fit: they score high for that reason, and not because of
their length.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.errors import DataError
from rejoinder.loading.schema import record
from rejoinder.metrics.batch import Batch, TextOptions, encodable
from rejoinder.types import Scores


@dataclass(frozen=True, slots=True)
class LengthTrend:
    """A least-squares fit of scores over lengths."""

    weights: tuple[float, ...]
    means: tuple[float, ...]
    """The mean of each column over the training replies."""
    apart: bool
    """Whether the distance from the nearest reference's length is one of the columns."""

    @classmethod
    def of(cls, batch: Batch, scores: Scores, *, apart: bool) -> LengthTrend:
        """Fitted to these replies' scores."""
        own = np.array([example.response in example.references for example in batch.examples])
        used = np.flatnonzero(~own) if apart and not own.all() else np.arange(len(batch))
        columns, scores = _columns(batch, apart=apart)[used], scores[used]
        means = columns.mean(axis=0)
        weights, *_ = np.linalg.lstsq(columns - means, scores - scores.mean(), rcond=None)
        return cls(tuple(weights.tolist()), tuple(means.tolist()), apart)

    def excess(self, batch: Batch) -> Scores:
        """How far each reply is above the mean score because of its length."""
        off = _columns(batch, apart=self.apart) - np.array(self.means)
        above: Scores = (off * np.array(self.weights)).sum(axis=1)
        return above

    @property
    def plain(self) -> dict[str, Any]:
        """For config.json."""
        return asdict(self)

    @classmethod
    def of_plain(cls, plain: object, file: str) -> LengthTrend:
        """From config.json."""
        made = record(cls, plain, file, "learned.length")
        if not len(made.weights) == len(made.means) == (3 if made.apart else 2):
            raise DataError("must have one weight and one mean per column", file=file, field="learned.length")
        return made


def _columns(batch: Batch, *, apart: bool) -> Floats:
    """Log length, its square and, if `apart`, the log distance from the nearest reference's. (replies, columns)"""
    batch = encodable(batch)
    tokens = batch.tokens(TextOptions())
    length = np.log1p(tokens.responses.lengths)
    columns = [length, length**2]
    if apart:
        off = np.abs(tokens.references.lengths - tokens.responses.lengths[batch.owner])
        starts = np.cumsum(batch.reference_counts) - batch.reference_counts
        columns.append(np.log1p(np.minimum.reduceat(off, starts)))
    return np.stack(columns, axis=1)

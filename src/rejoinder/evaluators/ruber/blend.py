"""How RUBER's two scores become one: both from 0 to 1, then their minimum, maximum or mean (ruber, section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rejoinder.types import Scores

BLENDS = ("min", "max", "geometric", "arithmetic")


@dataclass(frozen=True, slots=True)
class Ends:
    """The lowest and the highest value that a score is taken to have."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Scores, trim: float = 0.0) -> Ends:
        """Of values that were seen, a share of them at either end being passed over; NaN is left out."""
        low, high = np.nanquantile(values, [trim, 1 - trim])
        return cls(float(low), float(high))

    def share(self, values: Scores) -> Scores:
        """From 0 to 1 between the ends (ruber, equation 4), not beyond; 0.5 where the ends are one."""
        if self.high <= self.low:
            return np.where(np.isnan(values), np.nan, 0.5)
        shares: Scores = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        return shares


def blended(referenced: Scores, unreferenced: Scores, blend: str) -> Scores:
    """One score a row of two from 0 to 1; NaN where one of them is."""
    if blend == "min":
        return np.minimum(referenced, unreferenced)
    if blend == "max":
        return np.maximum(referenced, unreferenced)
    if blend == "geometric":
        return np.sqrt(referenced * unreferenced)
    return (referenced + unreferenced) / 2

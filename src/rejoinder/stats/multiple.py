"""Several tests at once: p-values corrected so that the chance of any false alarm stays at alpha."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rejoinder.stats.intervals import Floats


def holm(p_values: ArrayLike) -> Floats:
    """Holm's step-down correction (Holm 1979); a NaN, a test that could not be made, stays NaN and does not count."""
    raw = np.asarray(p_values, np.float64)
    adjusted = np.full(raw.shape, np.nan)
    known = np.flatnonzero(~np.isnan(raw))
    order = known[np.argsort(raw[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(raw[order] * factors), 1.0)
    return adjusted

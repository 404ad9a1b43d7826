"""How far scores may differ where docs/reference/determinism.md does not promise the last bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

TOLERANCE = 1e-5
"""Of a score between -1 and 1 the largest difference, of a larger one the largest difference relative to it."""


def assert_same_scores(found: ArrayLike, expected: ArrayLike) -> None:
    """Fail where two scores of one reply differ by more than the page on determinism says, or one of them is NaN."""
    first, second = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert first.shape == second.shape
    off = np.abs(first - second) / np.maximum(1, np.abs(second))
    # A comparison with NaN is false, so that a missing score fails as well.
    assert (off <= TOLERANCE).all(), f"differ by up to {np.nanmax(off):.1e}: expected {TOLERANCE:.0e} at most"

"""How many items an interval of a given width needs: for the agreement of raters, and for a correlation."""

from __future__ import annotations

import math

from rejoinder.stats.intervals import t_quantile
from rejoinder.stats.planning.power import MOST

# Variance of Fisher's z is c / (n - b); Bonett and Wright 2000, "Sample size requirements for estimating Pearson,
# Kendall and Spearman correlations": b, and c as a function of the correlation.
_LOST = {"pearson": 3, "spearman": 3, "kendall": 4}


def items_for_agreement(agreement: float, width: float, raters: int, confidence: float = 0.95) -> float:
    """The items with which an interval of Krippendorff's alpha (interval scale) has about this width.

    With m raters per item and agreement a, n = 8 z^2 (1 - a)^2 (1 + (m - 1) a)^2 / (m (m - 1) w^2) + 1 (Bonett 2002,
    for the intraclass correlation of single ratings, which alpha estimates); with two raters and a of .7 or more, 5 a
    items are added, as he advises.
    """
    if not 0 <= agreement < 1 or not 0 < width < 2 or raters < 2:
        raise ValueError("agreement must be from 0 to below 1, width between 0 and 2, and raters at least 2")
    z = t_quantile(confidence, math.inf)
    spread = (1 - agreement) ** 2 * (1 + (raters - 1) * agreement) ** 2 / (raters * (raters - 1))
    needed = 8 * z**2 * spread / width**2 + 1 + (5 * agreement if raters == 2 and agreement >= 0.7 else 0)
    return float(math.ceil(needed)) if needed <= MOST else math.inf


def items_for_correlation(correlation: float, width: float, kind: str = "pearson", confidence: float = 0.95) -> float:
    """The items with which the interval of a correlation (Fisher's z, independent items) is at most so wide."""
    if not -1 < correlation < 1 or not 0 < width < 2:
        raise ValueError("correlation must be between -1 and 1, and width between 0 and 2")
    if kind not in _LOST:
        raise ValueError(f"kind must be one of {', '.join(_LOST)}, not {kind!r}")
    variance = {"pearson": 1.0, "spearman": 1 + correlation**2 / 2, "kendall": 0.437}[kind]
    z, reach = math.atanh(correlation), t_quantile(confidence, math.inf)
    # The width in z units: tanh(z + h) - tanh(z - h) = w is quadratic in tanh(h).
    low, high = 0.0, 20.0
    while high - low > 1e-12:
        half = (low + high) / 2
        low, high = (low, half) if math.tanh(z + half) - math.tanh(z - half) > width else (half, high)
    if low < 1e-6:
        return math.inf
    return float(math.ceil(variance * (reach / low) ** 2 - 1e-9) + _LOST[kind])

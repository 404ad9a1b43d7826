"""Arrays in, numbers out: intervals, correlations, comparisons, agreement.

| file | what comes out |
|---|---|
| `intervals` | `Interval`: an estimate with bounds, from bootstrap replicates |
| `resampling` | cluster bootstrap counts; `mean_interval`, `mean_intervals` |
| `permutation` | random swaps and shuffles, and the p-value that counts them |
| `effect_size` | Cohen's d_z, Hedges' g, Cliff's delta, wins and losses, examples needed |
| `compare_means` | `compare_paired`, `compare_unpaired` -> `MeanComparison` |

scipy is imported inside the functions that need it, so importing this package stays quick.
"""

from __future__ import annotations

from rejoinder.stats.compare_means import MeanComparison, compare_paired, compare_unpaired
from rejoinder.stats.effect_size import Outcomes, needed_examples
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import bootstrap_counts, mean_interval, mean_intervals

__all__ = [
    "Interval",
    "MeanComparison",
    "Outcomes",
    "bootstrap_counts",
    "compare_paired",
    "compare_unpaired",
    "mean_interval",
    "mean_intervals",
    "needed_examples",
]

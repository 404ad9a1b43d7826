"""Arrays in, numbers out: intervals, correlations, comparisons, agreement.

| file | what comes out |
|---|---|
| `intervals` | `Interval`: an estimate with bounds, from bootstrap replicates |
| `resampling` | cluster bootstrap counts; intervals of means |
| `permutation` | random swaps and memberships, and the p-value that counts them |
| `correlation` | Pearson, Spearman, Kendall with p-values |
| `bootstrap_correlation` | intervals of many metrics' correlations (by `weighted_correlation`, `concordance`) |
| `pairs` | acc_eq, tie calibration, tau within contexts |
| `compare_correlations` | Williams' test, permutation test of two metrics |
| `fixed_systems` | correlations over given systems' means, whatever the contexts |
| `multiple` | Holm's correction, significance clusters |
| `effect_size` | d_z, g, wins and losses, examples needed |
| `compare_means` | paired and unpaired comparison of two systems |
| `kappa`, `krippendorff`, `intraclass` | agreement of annotators |
| `outliers` | ratings that stray from their item's median |
| `ceiling` | how well people agree with people |
| `prediction_powered` | means from few labels and many automatic scores |

scipy is imported inside the functions that need it, so importing this package stays quick.
"""

from __future__ import annotations

from rejoinder.stats.bootstrap_correlation import bootstrap_correlations, correlation_replicates
from rejoinder.stats.ceiling import OneAgainstRest, SplitHalf, one_against_rest, split_half
from rejoinder.stats.compare_correlations import (
    CorrelationComparison,
    WilliamsTest,
    compare_correlations,
    williams,
    williams_test,
)
from rejoinder.stats.compare_means import MeanComparison, compare_paired, compare_unpaired
from rejoinder.stats.correlation import Correlation, correlate, kendall, pearson, spearman
from rejoinder.stats.effect_size import Outcomes, needed_examples
from rejoinder.stats.intervals import Interval
from rejoinder.stats.intraclass import IntraclassCorrelation, intraclass_correlation
from rejoinder.stats.kappa import cohens_kappa, fleiss_kappa
from rejoinder.stats.krippendorff import krippendorff_alpha
from rejoinder.stats.multiple import holm, significance_clusters
from rejoinder.stats.outliers import mad_outliers, without_outliers
from rejoinder.stats.pairs import PairAgreement, calibrate_ties, pairwise_agreement
from rejoinder.stats.prediction_powered import (
    LabelledScores,
    PredictionPowered,
    labels_needed,
    prediction_powered_difference,
    prediction_powered_mean,
)
from rejoinder.stats.resampling import bootstrap_counts, mean_interval, mean_intervals

__all__ = [
    "Correlation",
    "CorrelationComparison",
    "Interval",
    "IntraclassCorrelation",
    "LabelledScores",
    "MeanComparison",
    "OneAgainstRest",
    "Outcomes",
    "PairAgreement",
    "PredictionPowered",
    "SplitHalf",
    "WilliamsTest",
    "bootstrap_correlations",
    "bootstrap_counts",
    "calibrate_ties",
    "cohens_kappa",
    "compare_correlations",
    "compare_paired",
    "compare_unpaired",
    "correlate",
    "correlation_replicates",
    "fleiss_kappa",
    "holm",
    "intraclass_correlation",
    "kendall",
    "krippendorff_alpha",
    "labels_needed",
    "mad_outliers",
    "mean_interval",
    "mean_intervals",
    "needed_examples",
    "one_against_rest",
    "pairwise_agreement",
    "pearson",
    "prediction_powered_difference",
    "prediction_powered_mean",
    "significance_clusters",
    "spearman",
    "split_half",
    "williams",
    "williams_test",
    "without_outliers",
]

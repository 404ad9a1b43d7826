"""Statistics: arrays in, numbers out. Intervals, correlations, comparisons, agreement.

In reading order:

| module | contents |
|---|---|
| `intervals` | `Interval`: an estimate with bounds, from bootstrap replicates |
| `formatting` | intervals, p-values and counts as text |
| `sums` | values summed by group, with the cluster-robust variance of their mean |
| `yes_no` | intervals for scores with only two values |
| `resampling` | cluster bootstrap counts; intervals of means |
| `permutation` | random swaps and memberships, and the p-value of a permutation test |
| `mean_tests` | permutation tests of a difference of means, and the intervals that agree with them |
| `effect_size` | d_z, g, wins and losses, sample size for a given power |
| `compare_means` | paired and unpaired comparison of two systems |
| `multiple` | Holm's correction, significance clusters |
| `correlation` | Pearson, Spearman, Kendall with p-values |
| `concordance`, `weighted_correlation` | correlations of many resamples of the same data |
| `bootstrap_correlation` | intervals of many metrics' correlations |
| `independence` | p-values of correlations by permutation of contexts |
| `compare_correlations` | Williams' test, permutation test of two metrics |
| `fixed_systems` | correlations over the means of fixed systems |
| `pairs` | acc_eq, tie calibration, tau within contexts |
| `meta_evaluation` | accuracy over pairs of systems; random-effects means over several data sets |
| `planning` | contexts, raters and items that an evaluation needs |
| `preferences` | Bradley-Terry strengths with ties, rankings, win rates at equal lengths |
| `agreement` | kappa, Krippendorff's alpha, intraclass correlation, outliers, the human ceiling |
| `mixed` | means of systems with crossed random effects of contexts, replies and raters |
| `aggregation` | one score per item from several raters |
| `labelling` | which replies to label, with known probabilities; means from few labels and many automatic scores |

Nothing is imported here: import what you need from its module. scipy is imported inside the functions that need it.
"""

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

Nothing is imported here: take what you need from its module. scipy is imported inside the functions that need it.
"""

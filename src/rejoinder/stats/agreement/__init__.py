"""Agreement of annotators. Ratings are a matrix (items, annotators), NaN: not rated.

In reading order:

| module | contents |
|---|---|
| `kappa` | Cohen's and Fleiss' kappa: agreement on categories beyond chance |
| `krippendorff` | Krippendorff's alpha: any number of annotators, missing ratings, any scale |
| `intraclass` | intraclass correlations: the share of variance due to the items |
| `outliers` | ratings that are far from their item's median |
| `ceiling` | how well people agree with people, as a reference for metrics |
| `item_bootstrap` | intervals of alpha and of the ceiling |

Nothing is imported here: import what you need from its module.
"""

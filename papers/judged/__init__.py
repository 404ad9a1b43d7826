"""Pages on the judged sets at hand, none of which needs more than a few minutes of training.

| module | contents |
|---|---|
| `sets` | the judged sets, and the scores of metrics on them, kept between runs |
| `agreement` | correlations with people with their intervals |
| `figures` | scatter plots of a few hundred replies, and tables of studies |
| `metrics` | the page `metric-figures`: Liu et al. 2016 |
| `raters` | the page `rater-figures`: agreement and distribution of ratings |
| `models` | ADEM, RUBER and the default evaluator, and their scores |
| `studies` | the page `evaluator-studies` |
| `published_split` | its sections on the published test replies |
| `examples` | replies shown with all their scores |
"""

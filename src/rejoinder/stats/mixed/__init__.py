"""Linear mixed models: fixed effects, and random effects of any number of crossed or nested factors.

| module | contents |
|---|---|
| `profile` | the equations of the model for given relative standard deviations |
| `reml` | `fit_reml`: restricted maximum likelihood, contrasts with Satterthwaite's degrees of freedom |
| `crossed` | `crossed_means`: system means and rater severities of human ratings |

Nothing is imported here: import what you need from its module.
"""

"""One score per item from the ratings of several raters.

| module | contents |
|---|---|
| `scores` | `aggregate`: mean, per-rater normalised mean, Dawid-Skene, MACE |
| `dawid_skene` | each rater has a table of errors (Dawid and Skene 1979) |
| `mace` | each rater is sometimes careless (Hovy et al. 2013) |
| `coded` | ratings as numbers of item, rater and category; the posterior of items |

Nothing is imported here: import what you need from its module.
"""

"""Metrics judged by how they order systems, and over several judged sets.

| module | contents |
|---|---|
| `system_pairs` | pairwise accuracy and soft pairwise accuracy over pairs of systems |
| `random_effects` | estimates of several data sets pooled into one, with heterogeneity and a prediction interval |

Nothing is imported here: import what you need from its module.
"""

"""How much to collect before an evaluation.

| module | contents |
|---|---|
| `power` | contexts that a paired comparison of two systems needs, its power, and the difference it detects |
| `spread` | the variance of differences between systems and of ratings, from a pilot |
| `precision` | items that an interval of given width needs, for rater agreement and for a correlation |

Nothing is imported here: import what you need from its module.
"""

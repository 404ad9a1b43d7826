"""Can the ratings be trusted? Agreement of raters, filters, and one score per reply.

| module | contents |
|---|---|
| `ratings` | `RatingSet`: who gave which score to which reply |
| `dimension` | the agreement on one dimension: measures, raters, means of systems |
| `agreement` | `agreement`: the whole report; filters and aggregation |

Nothing is imported here: import what you need from its module.
"""

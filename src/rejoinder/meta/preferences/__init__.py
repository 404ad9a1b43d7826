"""Systems ranked by pairwise preferences.

| module | contents |
|---|---|
| `rank` | `preferences`: reads the judgements and ranks the systems |
| `report` | the result as a verdict, tables, JSON and LaTeX |

Nothing is imported here: import what you need from its module.
"""

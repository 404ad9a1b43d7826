"""Systems ranked by pairwise preferences.

In reading order:

| module | contents |
|---|---|
| `contests` | wins and ties of each pair of systems, by context |
| `bradley_terry` | strengths by the Bradley-Terry model and by Davidson's, which has ties |
| `ranking` | strengths with intervals over contexts, differences with p-values, groups of systems |
| `length_control` | the win rate that two systems would have with replies of equal length |

Nothing is imported here: import what you need from its module.
"""

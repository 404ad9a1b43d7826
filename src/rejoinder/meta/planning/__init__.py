"""How much to collect before an evaluation.

| module | contents |
|---|---|
| `plan` | `plan`: contexts, raters and labels for a comparison, from a pilot or a stated spread; `plan_precision` |
| `pilot` | the spread in a pilot: judged replies, or replies scored by a metric |
| `result` | the plans as a recommendation, tables, JSON and LaTeX |

Nothing is imported here: import what you need from its module.
"""

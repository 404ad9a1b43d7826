"""Which replies to label, with known probabilities, and what the labels then say about all replies.

| module | contents |
|---|---|
| `design` | probabilities of being chosen: equal, by stratum (Neyman), by uncertainty; drawing with them |
| `prediction_moments`, `prediction_powered` | means from a random sample of labels and automatic scores |
| `weighted` | means and differences of systems from labels, probabilities and automatic scores |

Nothing is imported here: import what you need from its module.
"""

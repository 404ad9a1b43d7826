"""Is one system better than another? Comparisons, and the one verdict that all their forms show.

In reading order:

| module | contents |
|---|---|
| `pairing`, `score_tables` | replies of several sources as one; tables of numbers that exist already |
| `compare`, `pair_tests` | `compare`: is B better than A?; the tests of two systems |
| `verdict`, `headline` | how two systems compare, by a metric or by people; the whole answer in words |
| `comparison`, `comparison_text` | the result, from which text, JSON and LaTeX are made |
| `ranking` | systems in order, with significance clusters |
| `gate` | a check for continuous integration |
"""

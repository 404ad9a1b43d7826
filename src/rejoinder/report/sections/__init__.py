"""The sections of a report, each a function that returns a `Section`.

In reading order:

| module | contents |
|---|---|
| `headlines` | one sentence per metric on which system leads |
| `summary`, `distributions` | means with intervals, and histograms, per system and metric |
| `thread`, `replies` | a context as the turns of a chat; the best, worst and most disputed replies |
| `browse` | the table of replies that can be searched and sorted |
| `agreement` | how well metrics agree with people |
| `signatures` | signatures, version, random seed and notes |
"""

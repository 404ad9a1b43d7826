"""The sections of a report, each a function that returns a `Section`.

In reading order:

| module | contents |
|---|---|
| `names`, `verdict` | names of systems; the question and its answer at the top of the page |
| `comparison` | what every metric says about the systems |
| `summary`, `distributions` | means with intervals, and histograms, per system and metric |
| `thread`, `replies` | a context as the turns of a chat; replies side by side, the best, worst and most disputed ones |
| `browse` | the table of replies that can be searched and sorted |
| `agreement` | how well metrics agree with people |
| `signatures` | signatures, version, random seed and notes |
"""

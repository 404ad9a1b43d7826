"""How well evaluators and metrics agree with people on every judged set.

In reading order:

sets     rows of the page: the judged sets
scorers  columns of the page: evaluators and metrics
cells    one scorer on one set
targets  targets that were set before measuring
page     the page `evaluator-figures`
"""

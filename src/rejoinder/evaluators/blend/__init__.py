"""Several metrics and evaluators weighed by what people said: docs/guide/train-on-my-ratings.md.

In reading order:

columns  the columns of a blend: scores of its members, what can be counted in a reply, and the rated rows it learns
         from
fitting  the models of a blend, ridge regression and boosted trees, the choice between them by cross-validation, and a
         report: agreement with people, what each member adds, and in which direction
notes    what a blend says about replies that it did not read whole, unfamiliar text and stock replies
blend    the evaluator `blend`: metrics, evaluators and surface features, weighed by what people said
"""

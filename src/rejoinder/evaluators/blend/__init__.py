"""Several metrics and evaluators weighed by what people said: docs/guide/train-on-my-ratings.md.

In reading order:

surface        what can be counted in a reply and its context
specificity    how much a reply says
members        what can be a member, and how a saved blend finds its members again
member_scores  the scores of the members, computed once per reply
labelled       the rows that a blend is fitted on: columns of numbers, and ratings of several sets joined
ridge          the linear model
trees          boosted regression trees, kept as arrays
choosing       cross-validation, and the choice of a model
agreement      correlation with people, averaged over sets
watching       notes about replies that were not read whole
report         what was found: agreement, what each member adds, in which direction it acts
blend          the evaluator
"""

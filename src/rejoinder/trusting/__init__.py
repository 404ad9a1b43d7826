"""Which metric can be trusted: metrics against people.

In reading order:

trust             which metric can be trusted on these data? Scores against human ratings, in one result
correlations      how well metrics agree with people: over all replies, over systems, and within contexts
pooled            the same over several judged sets
page              its tables and figures as blocks of a document
probing           the input and the result of a probe, and probes by name
human_scale       what probes share: the human scale, true replies, and wording
probes            what a metric rewards: length, missed replies, a narrow spread, and one dot per reply
robustness        how agreement changes: noisy labels, damaged replies, true replies left out
judge_card        what to ask of a judge before its scores are believed
experiments       evaluators fitted many times: cells of one fit and one test, their store, partitions, leakage
cross_validation  cross-validation, and each system left out
label_curves      how many labels does an evaluator need?
transfer          does an evaluator trained on one corpus work on another?
"""

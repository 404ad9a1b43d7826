"""Learned metrics behind one interface: fit, score, save, load.

`base` is that interface and `scale` the scale of human scores. Any evaluator can have a `calibration` (scores on the
human scale with intervals, added to a saved model by `calibration_folder`) and a warning for replies unlike its
training text (`out_of_domain`); `reference_points` helps to read the scores of those that come with the package.
`pretrained` is the base of evaluators that use a model as it is, `saved_members` how those with members are saved.
`distillation` trains small evaluators on the scores of larger ones. Every other module or package is one method.
"""

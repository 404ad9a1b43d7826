"""Training by name: what `rejoinder.train`, `rejoinder.distill` and the commands of the same names call.

input    the training data that were read, before training starts
output   the folder of a trained model, with the checkpoints of its training next to it
train    `train`: fit and save anything by name
setup    `setup`: a blend that comes with the package, but whose largest members do not
distill  `distill`: a small evaluator that learns the scores of larger ones
"""

"""What everything that is trained shares.

In reading order:

learned      parameters, learned fields, fitting, and the folder: what evaluators and reply models have in common
data         the data that an evaluator is fitted on, its splits, and its batches
run          how training is carried out
loop         the training loop: every network of the package is trained by `train`, stage by stage
checkpoints  the state of training on disk, from which an interrupted run is resumed
schedules    how long a stage runs, how large its steps are, and the settings that stages share
torch_parts  small parts of training in torch: ranking within a batch, losses, frozen layers
"""

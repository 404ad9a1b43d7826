"""Shared code of all trained models.

- `learned`, `fitted`, `saving`, `weights`: parameters and learned fields; saving and loading.
- `data`, `splits`: training data; held-out rows and folds that share no context.
- `stages`, `schedules`, `run`, `loop`, `checkpoints`: the training loop, its inputs, and resuming an interrupted run.
- `settings`, `parameters`: parameters that many models have, and checks of their values.
- `batching`, `in_batch`, `losses`, `freezing`, `pretrained`: parts of training that several models use.
- `candidates`: replies of many kinds, made from dialogues, for models that learn another's scores.
- `extras`: optional dependencies.
"""

"""`train`, `distil` and `calibrate`, by name.

In reading order:

train      from files or objects in memory to a fitted evaluator, reply model or sentence encoder, and set-up of
           templates
distil     A small evaluator that learns the scores of larger ones: docs/guide/distillation.md
calibrate  calibration of an evaluator's scores to the human scale, and its quality: docs/guide/calibration.md
"""

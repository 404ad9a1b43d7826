"""Small evaluators that learn the scores of larger ones: docs/guide/distillation.md.

A teacher scores many replies to each context, and a student learns its scores. In reading order:

teacher_scores   a teacher's scores in a file that an interrupted run continues
encoder          a pretrained encoder as the student: replies, scores, training
stage            the losses that it is trained with
static           the same for a student without an encoder

The replies are yours, or `learning/candidates.py` makes them from dialogues.
"""

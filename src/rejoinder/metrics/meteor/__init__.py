"""METEOR 1.5 for English: the scores of the original program, computed for a whole batch at once."""

from rejoinder.metrics.meteor.parameters import TASKS, MeteorParameters
from rejoinder.metrics.meteor.paraphrase import ParaphraseTable
from rejoinder.metrics.meteor.scoring import (
    Statistics,
    corpus_score,
    corpus_statistics,
    meteor_scores,
    meteor_statistics,
    reference_statistics,
    score_from_statistics,
)

__all__ = [
    "TASKS",
    "MeteorParameters",
    "ParaphraseTable",
    "Statistics",
    "corpus_score",
    "corpus_statistics",
    "meteor_scores",
    "meteor_statistics",
    "reference_statistics",
    "score_from_statistics",
]

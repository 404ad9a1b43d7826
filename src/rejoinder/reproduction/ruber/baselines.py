"""What Tao et al. 2018 compare RUBER with in Tables 2 and 4: single raters, and word overlap."""

from __future__ import annotations

import numpy as np

from rejoinder.registry import load
from rejoinder.reproduction.inputs import Inputs
from rejoinder.reproduction.judged.sets import METRICS, JudgedScores
from rejoinder.reproduction.published.records import Correlations
from rejoinder.reproduction.replies import OVERALL
from rejoinder.reproduction.ruber.models import Replies
from rejoinder.reproduction.ruber.study import correlations
from rejoinder.stats.agreement.ceiling import row_means

OVERLAP = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE")
BASELINES = ("human, mean", "human, maximum", *OVERLAP)
"""Rows of both tables."""


def baselines(inputs: Inputs, replies: Replies) -> dict[str, Correlations]:
    """Row -> its correlations over all replies.

    A rater is compared with the mean of the others. The data do not say who gave a rating, so that the first ratings of
    all replies count as those of one rater.
    """
    ratings = replies.judged.ratings[OVERALL]
    raters = [
        correlations(ratings[:, rater], row_means(np.delete(ratings, rater, axis=1)))
        for rater in range(ratings.shape[1])
    ]
    found = {
        "human, mean": Correlations(*(float(np.mean(kind)) for kind in zip(*raters, strict=True))),
        "human, maximum": Correlations(*(max(kind) for kind in zip(*raters, strict=True))),
    }
    scores = JudgedScores(inputs)
    for label in OVERLAP:
        found[label] = correlations(scores.column(load(METRICS[label]), replies.judged), replies.human)
    return found

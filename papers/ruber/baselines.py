"""What Tao et al. 2018 compare RUBER with in Tables 2 and 4: single raters, and word overlap."""

from __future__ import annotations

import numpy as np

from papers.judged.agreement import Agreement, summarised_agreement
from papers.judged.sets import METRICS, JudgedScores
from papers.replies import OVERALL
from papers.ruber.models import Replies
from papers.ruber.study import Study
from rejoinder.arrays import Floats
from rejoinder.registry import load
from rejoinder.stats.raters import rest_means, row_means

OVERLAP = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE")
BASELINES = ("human, mean", "human, maximum", *OVERLAP)
"""Rows of both tables."""


def baselines(study: Study, replies: Replies) -> dict[str, Agreement]:
    """Row -> its correlations over all replies.

    A rater is compared with the mean of the others. The data do not say who gave a rating, so that the first ratings of
    all replies count as those of one rater.
    """
    ratings, contexts = replies.judged.ratings[OVERALL], replies.judged.contexts
    raters = {
        row: summarised_agreement(ratings, rest_means(ratings), contexts, study.resamples, summary)
        for row, summary in (("human, mean", row_means), ("human, maximum", _maxima))
    }
    scores = JudgedScores(study.models.inputs)
    overlap = {label: scores.column(load(METRICS[label]), replies.judged) for label in OVERLAP}
    return raters | {label: study.agreement(column, replies) for label, column in overlap.items()}


def _maxima(correlations: Floats) -> Floats:
    """The highest of each row; NaN for a row with a NaN."""
    highest: Floats = np.max(correlations, axis=1)
    return highest

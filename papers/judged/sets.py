"""Judged sets with the scores of metrics, which are kept in the cache."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from papers.inputs import DIMENSIONS, Inputs
from rejoinder.data.judged import JudgedSet
from rejoinder.errors import UnknownNameError
from rejoinder.learning.data import examples_digest
from rejoinder.metrics.base import Metric, ScoreWarning
from rejoinder.options import RESAMPLES
from rejoinder.registry import load
from rejoinder.trusting.probing import ScoredSet
from rejoinder.types import Scores

METRICS: Mapping[str, str] = {
    "BLEU-1": "bleu-1",
    "BLEU-2": "bleu-2",
    "BLEU-3": "bleu-3",
    "BLEU-4": "bleu-4",
    "ROUGE": "rouge-l",
    "METEOR": "meteor",
    "average": "embedding-average",
    "greedy": "greedy-matching",
    "extrema": "vector-extrema",
}
"""Name in the papers' tables -> our metric, with its default settings."""


def check_sets(wanted: Sequence[str], known: Collection[str]) -> None:
    """Raise an UnknownNameError for a set that a page cannot show."""
    for name in wanted:
        if name not in known:
            raise UnknownNameError("judged set", name, known)


@dataclass(frozen=True)
class JudgedScores:
    """The judged sets of a data folder, scored by metrics."""

    inputs: Inputs
    resamples: int = RESAMPLES

    def scored(self, name: str, metrics: Mapping[str, str] = METRICS) -> ScoredSet:
        """A set on its main dimension, with the scores of these metrics (label -> name with parameters)."""
        judged = self.inputs.judged(name)
        loaded = {label: load(text) for label, text in metrics.items()}
        columns = {label: self.column(metric, judged) for label, metric in loaded.items()}
        return ScoredSet(judged, DIMENSIONS[name], columns, loaded, resamples=self.resamples)

    def column(self, metric: Metric, judged: JudgedSet) -> Scores:
        """The scores of a metric; NaN where it has none."""

        def compute() -> dict[str, Scores]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ScoreWarning)  # replies of which no word has a vector
                return {"scores": metric.score(judged.examples)}

        key = [metric.signature, examples_digest(judged.examples)]
        return np.asarray(self.inputs.cache.arrays(metric.name, key, compute)["scores"], np.float64)

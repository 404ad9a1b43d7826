"""Correlation with people while ADEM trains (Lowe et al. 2017, Figure 7)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from papers.adem.study import COMPONENTS, FOLDS, GAMMA
from rejoinder.arrays import Floats
from rejoinder.evaluators.adem.learning import ComparedVectors, DescentSettings, PredictionScale, descend
from rejoinder.evaluators.adem.vectors import ExampleVectors, Projection
from rejoinder.models.sentence_encoders import sentence_encoder
from rejoinder.show.figures import PlotCurve
from rejoinder.show.plots import line_plot, standalone
from rejoinder.stats.correlation import correlate
from rejoinder.trusting.experiments import LabelledSet
from rejoinder.types import Scores

EPOCHS = 30

Epochs = dict[str, list[float]]
"""Kind of correlation -> one value per epoch, from before the first."""


def curves(tested: LabelledSet, encoder: str) -> Epochs:
    """Correlations with people on contexts that are not learned from, epoch by epoch; mean over folds."""
    reading = ExampleVectors.of(tested.judged.examples, sentence_encoder(encoder))
    found: dict[str, list[list[float]]] = {"pearson": [], "spearman": []}
    for part in tested.parts(FOLDS):
        rows = np.concatenate([reading.contexts[part.train], reading.responses[part.train]])
        rows = np.concatenate([rows, reading.references[np.isin(reading.owner, part.train)]])
        points = Projection.of(reading.vectors[np.unique(rows)], COMPONENTS).points(reading.vectors)
        whole = _compared(points, reading, tested.human)
        for kind, values in _fold(whole.take(part.train), whole.take(part.test)).items():
            found[kind].append(values)
    return {kind: np.mean(values, axis=0).tolist() for kind, values in found.items()}


def curve_plot(found: Mapping[str, Epochs]) -> str:
    """One line per encoder and kind of correlation."""
    lines = [
        PlotCurve(f"{name}, {'r' if kind == 'pearson' else 'rho'}", list(range(len(values))), values)
        for name, curve in found.items()
        for kind, values in curve.items()
    ]
    svg = line_plot(lines, label="Correlation with people as ADEM trains", x_label="epoch", y_label="correlation")
    return standalone(str(svg))


def _fold(train: ComparedVectors, test: ComparedVectors) -> Epochs:
    scale = PredictionScale.of(train)
    curve: Epochs = {"pearson": [], "spearman": []}

    def watch(epoch: int, matrices: Floats) -> None:  # noqa: ARG001 - epochs come in their order
        scores = scale.scores(test.products(matrices))
        for kind, values in curve.items():
            values.append(correlate(scores, test.human, kind).coefficient)

    # Patience beyond the epochs: the learning rate stays what it is, as far as the curve goes.
    descend(train, scale, GAMMA, DescentSettings(epochs=EPOCHS, patience=EPOCHS + 1), 0, watch=watch)
    return curve


def _compared(points: Floats, reading: ExampleVectors, human: Scores) -> ComparedVectors:
    first = reading.references[reading.starts]
    return ComparedVectors(np.stack([points[reading.contexts], points[first]]), points[reading.responses], human)

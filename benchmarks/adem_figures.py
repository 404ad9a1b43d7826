"""Correlation while ADEM trains (adem, Figure 7), as an SVG file that stands by itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from am_fm_figures import STYLE
from rejoinder.arrays import Floats
from rejoinder.encoders.sentence_encoders import sentence_encoder
from rejoinder.evaluators.adem.solvers import Compared, Descent, Scale, descend
from rejoinder.evaluators.adem.vectors import Projection, Reading
from rejoinder.meta.experiments.partition import LabelledSet
from rejoinder.meta.panels import Curve
from rejoinder.report.figures import line_plot
from rejoinder.stats.correlation import correlate

EPOCHS = 30
COMPONENTS, GAMMA = 7, 0.02  # adem's

Epochs = dict[str, list[float]]
"""Kind of correlation -> one an epoch, from before the first."""


def curves(tested: LabelledSet, encoder: str) -> Epochs:
    """Correlations with people on contexts that are not learned from, epoch by epoch; mean over folds."""
    reading = Reading.of(tested.judged.examples, sentence_encoder(encoder))
    found: dict[str, list[list[float]]] = {"pearson": [], "spearman": []}
    for part in tested.parts(5):
        rows = np.concatenate([reading.contexts[part.train], reading.responses[part.train]])
        rows = np.concatenate([rows, reading.references[np.isin(reading.owner, part.train)]])
        points = Projection.of(reading.vectors[np.unique(rows)], COMPONENTS).points(reading.vectors)
        whole = _compared(points, reading, tested.human)
        train, test = whole.take(part.train), whole.take(part.test)
        each = _fold(train, test)
        for kind, values in each.items():
            found[kind].append(values)
    return {kind: np.mean(values, axis=0).tolist() for kind, values in found.items()}


def _fold(train: Compared, test: Compared) -> Epochs:
    scale = Scale.of(train)
    curve: Epochs = {"pearson": [], "spearman": []}

    def watch(epoch: int, matrices: Floats) -> None:  # noqa: ARG001 - epochs come in their order
        scores = scale.scores(test.products(matrices))
        for kind, values in curve.items():
            values.append(correlate(scores, test.human, kind).coefficient)

    # Patience beyond the epochs: the learning rate stays what it is, as far as the curve goes.
    descend(train, scale, GAMMA, Descent(epochs=EPOCHS, patience=EPOCHS + 1), 0, watch=watch)
    return curve


def _compared(points: Floats, reading: Reading, human: NDArray[np.float64]) -> Compared:
    first = reading.references[reading.starts]
    return Compared(np.stack([points[reading.contexts], points[first]]), points[reading.responses], human)


def write_curves(path: Path, found: Mapping[str, Epochs]) -> None:
    """A line an encoder and kind."""
    lines = [
        Curve(f"{name}, {'r' if kind == 'pearson' else 'rho'}", list(range(len(values))), values)
        for name, curve in found.items()
        for kind, values in curve.items()
    ]
    svg = str(line_plot(lines, label="Correlation with people as ADEM trains", x_label="epoch", y_label="correlation"))
    opened = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    path.write_text(opened.replace(">", f"><style>{STYLE}</style>", 1) + "\n", encoding="utf-8")

"""How noise on the labels and rounding of the scores change a correlation (Zhao et al. 2020, appendix D)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.figures.panels import Curve, LinePanel
from rejoinder.meta.studies.human_scale import HumanScale, clipped, comparable, scale_of
from rejoinder.meta.study import Cell, ScoredSet, StudyResult
from rejoinder.stats.correlation import correlate, midranks
from rejoinder.stats.formatting import signed
from rejoinder.text.grid import number
from rejoinder.types import Scores

SIGMAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Standard deviations of the noise, in steps of the human scale: points on 1..5."""
TRIALS = 100
KINDS = ("pearson", "spearman")
HEADER = (
    "metric",
    "coefficient",
    "exact",
    *(f"noise {sigma:g}" for sigma in SIGMAS[1:]),
    f"sd at {SIGMAS[-1]:g}",
    "rounded",
)


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """One kind of correlation of every metric with noisy labels."""

    kind: str
    drawn: Floats  # (sigmas, trials, metrics)
    rounded: Floats  # (metrics,): of scores rounded to whole steps, without noise


def study(scored: ScoredSet) -> StudyResult | None:
    """Correlations over a hundred draws of noise per strength, and correlations of rounded scores."""
    part = comparable(scored)
    if part is None:
        return None
    scale = scale_of(scored)
    trials = [_trials(part, scale, kind) for kind in KINDS]
    rows = [_row(label, place, table) for place, label in enumerate(part.scores) for table in trials]
    panels = [_panel(part, table) for table in trials]
    title, source = "Noise on labels, rounding of scores", "Zhao et al. 2020, appendix D"
    return StudyResult("noise", title, source, HEADER, tuple(rows), tuple(_findings(part, trials)), tuple(panels))


def noisy_correlations(matrix: Floats, human: Scores, sigma: float, kind: str, *, seed: int = 0) -> Floats:
    """Each metric's correlation with the labels in each trial. (trials, metrics)

    A trial's noise is the same for all metrics and, up to its scale, for every sigma.
    """
    ranked = kind == "spearman"
    columns = np.stack([_unit(midranks(column) if ranked else column) for column in matrix.T], axis=1)
    found = np.empty((TRIALS, matrix.shape[1]))
    for trial in range(TRIALS):
        noise = np.random.default_rng([seed, trial]).normal(size=human.size)
        labels = human + sigma * noise
        found[trial] = _unit(midranks(labels) if ranked else labels) @ columns
    return found


def _unit(values: Scores) -> Scores:
    """The centred values, scaled to length 1; NaN where they are all equal."""
    if np.ptp(values) == 0:
        return np.full(values.shape, np.nan)
    centred = values - values.mean()
    unit: Scores = centred / np.linalg.norm(centred)
    return unit


def _trials(part: ScoredSet, scale: HumanScale, kind: str) -> Trials:
    matrix = np.stack([part.oriented(label) for label in part.scores], axis=1)
    drawn = [noisy_correlations(matrix, part.human, sigma * scale.step, kind, seed=part.seed) for sigma in SIGMAS]
    rounded = [
        correlate(scale.rounded(clipped(part, label, scale)), part.human, kind).coefficient for label in part.scores
    ]
    return Trials(kind, np.stack(drawn), np.array(rounded))


def _row(label: str, place: int, table: Trials) -> tuple[Cell, ...]:
    exact, *means = table.drawn[:, :, place].mean(axis=1).tolist()
    spread = float(table.drawn[-1, :, place].std(ddof=1))
    return (label, table.kind.capitalize(), exact, *means, spread, float(table.rounded[place]))


def _panel(part: ScoredSet, table: Trials) -> LinePanel:
    mean, spread = table.drawn.mean(axis=1), table.drawn.std(axis=1, ddof=1)  # (sigmas, metrics)
    curves = tuple(
        Curve(
            label,
            SIGMAS,
            tuple(mean[:, place].tolist()),
            tuple((mean - spread)[:, place].tolist()),
            tuple((mean + spread)[:, place].tolist()),
        )
        for place, label in enumerate(part.scores)
    )
    kind = table.kind.capitalize()
    return LinePanel(
        f"{kind} with noisy labels: mean and standard deviation of {TRIALS} draws",
        curves,
        "noise (standard deviation, in steps of the scale)",
        kind,
    )


def _findings(part: ScoredSet, trials: list[Trials]) -> list[str]:
    labels, table = list(part.scores), trials[-1]
    exact, noisy = table.drawn[0, 0], table.drawn[-1].mean(axis=0)
    known = np.flatnonzero(~np.isnan(exact))
    if not len(known):
        return ["Every metric gives all replies the same score, so there is no correlation for noise to change."]
    best = int(known[np.argmax(exact[known])])
    sentences = [
        f"Noise of {SIGMAS[-1]:g} steps of the scale lowers the highest {table.kind.capitalize()} correlation, that of "
        f"{labels[best]}, from {number(float(exact[best]))} to {number(float(noisy[best]))} "
        f"(standard deviation {number(float(table.drawn[-1, :, best].std(ddof=1)))} over {TRIALS} draws)."
    ]
    if len(known) > 1:
        first = known[np.argmax(table.drawn[-1][:, known], axis=1)] == best
        orders = np.argsort(-table.drawn[-1][:, known], axis=1, kind="stable")
        same = (orders == np.argsort(-exact[known], kind="stable")).all(axis=1)
        sentences.append(
            f"{labels[best]} stays first in {int(first.sum())} of the {TRIALS} draws, and the order of all metrics "
            f"stays the same in {int(same.sum())}."
        )
    return sentences + [_rounding(labels, table) for table in trials if not np.isnan(table.rounded).all()]


def _rounding(labels: list[str], table: Trials) -> str:
    moved = table.rounded - table.drawn[0, 0]
    most = int(np.nanargmax(np.abs(moved)))
    kind = table.kind.capitalize()
    return f"Rounding scores to whole steps changes the {kind} of {labels[most]} most: {signed(float(moved[most]))}."

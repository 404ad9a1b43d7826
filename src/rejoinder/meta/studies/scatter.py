"""One dot per reply, metric score against human score.

As in Lowe et al. 2017, Figure 3; Liu et al. 2016, Figure 1; Tao et al. 2018, Figure 4. A plot shows what a coefficient
hides: a correlation may be due to a handful of replies, or to many equal scores.
"""

from __future__ import annotations

import numpy as np

from rejoinder.figures.panels import ScatterPanel
from rejoinder.meta.studies.human_scale import HumanScale, comparable, scale_of
from rejoinder.meta.studies.wording import replies
from rejoinder.meta.study import Cell, PValue, ScoredSet, StudyResult
from rejoinder.stats.correlation import correlate
from rejoinder.stats.independence import independence_p_values
from rejoinder.text.grid import number

MOST_DOTS = 1000
PERMUTATIONS = 1999
PILED = 0.2
"""A finding names a score that at least this share of the replies has."""
HEADER = ("metric", "Pearson", "p of Pearson", "Spearman", "p of Spearman", "replies")


def study(scored: ScoredSet) -> StudyResult | None:
    """One plot per metric, with the two coefficients."""
    part = comparable(scored)
    if part is None:
        return None
    scale = scale_of(scored)
    panels = tuple(scatter_panels(part, jitter(scale)).values())
    p_values = {kind: _p_values(part, kind) for kind in ("pearson", "spearman")}
    rows = tuple(
        _row(part, label, p_values["pearson"][place], p_values["spearman"][place])
        for place, label in enumerate(part.scores)
    )
    source = "Lowe et al. 2017 (ADEM), Figure 3; Liu et al. 2016, Figure 1; Tao et al. 2018 (RUBER), Figure 4"
    return StudyResult("scatter", "Scores against people", source, HEADER, rows, tuple(_findings(part, scale)), panels)


def scatter_panels(part: ScoredSet, noise: float) -> dict[str, ScatterPanel]:
    """Metric -> the plot of its scores against the ratings; of many replies, a random sample."""
    chosen = np.arange(len(part.judged))
    if len(chosen) > MOST_DOTS:
        chosen = np.sort(np.random.default_rng(part.seed).choice(len(chosen), MOST_DOTS, replace=False))
    dots = part.take(chosen)
    drawn = "" if len(chosen) == len(part.judged) else f" ({len(chosen):,} of {replies(len(part.judged))})"
    return {
        label: ScatterPanel(f"{label}{drawn}", dots.human, scores, f"people: {part.dimension}", label, noise)
        for label, scores in dots.scores.items()
    }


def jitter(scale: HumanScale) -> float:
    """The standard deviation of the noise on the human axis: .3 of a step, .25 for three-point scales.

    Lowe et al. 2017 use N(0, .3) on 1..5, Tao et al. 2018 N(0, .25^2) on 0..2.
    """
    three_points = round((scale.high - scale.low) / scale.step) == 2
    return (0.25 if three_points else 0.3) * scale.step


def _p_values(part: ScoredSet, kind: str) -> list[PValue]:
    """By permutation of contexts: replies to one context are not independent."""
    matrix = np.stack(list(part.scores.values()), axis=1)
    found = independence_p_values(matrix, part.human, part.judged.contexts, kind, n_permutations=PERMUTATIONS)
    return [PValue(p_value) for p_value in found]


def _row(part: ScoredSet, label: str, p_linear: PValue, p_ranked: PValue) -> tuple[Cell, ...]:
    linear, ranked = (correlate(part.oriented(label), part.human, kind) for kind in ("pearson", "spearman"))
    return (label, linear.coefficient, p_linear, ranked.coefficient, p_ranked, linear.n)


def _findings(part: ScoredSet, scale: HumanScale) -> list[str]:
    sentences = [
        f"Dots are jittered along the human axis by noise of standard deviation {jitter(scale):g}, so that equal "
        "ratings do not hide each other; the coefficients use the ratings without noise."
    ]
    for label, scores in part.scores.items():
        values, counts = np.unique(scores, return_counts=True)
        share = float(counts.max() / len(scores))
        if share >= PILED and len(values) > 1:
            value = float(values[counts.argmax()])
            rest = scores != value
            left = correlate(scores[rest], part.human[rest], "spearman").coefficient
            sentences.append(
                f"{label} gives {share:.0%} of the replies the same score, {number(value)}; its Spearman correlation "
                f"over the other replies is {number(left)}."
            )
    return sentences

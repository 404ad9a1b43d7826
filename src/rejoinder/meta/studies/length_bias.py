"""Do metrics favour replies that are as long as the reference, although people do not? (Lowe et al. 2017, Table 8)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.figures.panels import IntervalPanel
from rejoinder.meta.studies.human_scale import FEWEST, comparable, normalised
from rejoinder.meta.studies.true_replies import left_out, own_references
from rejoinder.meta.studies.wording import above, below, listed_with, replies
from rejoinder.meta.study import Cell, PValue, ScoredSet, StudyResult
from rejoinder.metrics.batch import Batch, TextOptions
from rejoinder.stats.bootstrap_correlation import bootstrap_correlations
from rejoinder.stats.correlation import correlate
from rejoinder.stats.formatting import interval_text, signed
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.stats.resampling import group_codes, group_sums, mean_replicates
from rejoinder.types import Example, Scores

NEAR = 6
"""Words by which a reply may be longer or shorter than the reference nearest in length (Lowe et al. 2017; the same in
Liu et al. 2016)."""
PEOPLE = "people"
HEADER = (
    "metric",
    f"within {NEAR} words",
    "others",
    "difference",
    "p",
    "beyond people's",
    "Pearson with length",
    "Spearman with length",
)


@dataclass(frozen=True, slots=True)
class Lengths:
    """The length of each reply, and its difference from the reference that is nearest in length."""

    own: Ints
    distance: Ints


@dataclass(frozen=True, slots=True)
class Bias:
    """How much higher one metric (or people) scores replies of about the reference's length than the others."""

    name: str
    near: float
    far: float
    difference: Interval
    p_value: float
    """Welch's t-test over replies, as in Lowe et al. 2017; the interval resamples contexts."""
    beyond: Interval
    """The difference minus that of people; NaN for people themselves."""
    pearson: float
    spearman: Interval


def study(scored: ScoredSet) -> StudyResult | None:
    """Mean scores of replies near to and far from the reference's length; None without enough of both."""
    own = own_references(scored.judged.examples)
    part = comparable(scored, ~own & [bool(example.references) for example in scored.judged.examples])
    if part is None:
        return None
    lengths = lengths_of(part.judged.examples)
    near = lengths.distance <= NEAR
    if min(near.sum(), (~near).sum()) < FEWEST:
        return None
    biases = _biases(part, lengths, near)
    return StudyResult(
        "length-bias",
        "Length bias",
        "Lowe et al. 2017 (ADEM), Table 8; Liu et al. 2016, Table 5",
        HEADER,
        tuple(_row(bias) for bias in biases),
        tuple(_findings(part, biases, near, left_out(own & scored.complete))),
        (
            IntervalPanel(
                f"How much higher replies within {NEAR} words of the reference's length score, on the human scale",
                tuple((bias.name, bias.difference) for bias in biases),
            ),
            IntervalPanel(
                "Spearman correlation with the length of the reply",
                tuple((bias.name, bias.spearman) for bias in biases),
            ),
        ),
    )


def lengths_of(examples: Sequence[Example]) -> Lengths:
    """Tokens of each reply, and the difference from its nearest reference; every example must have a reference."""
    batch = Batch(examples)
    tokens = batch.tokens(TextOptions())
    distance = np.abs(tokens.references.lengths - tokens.responses.lengths[batch.owner])
    starts = np.cumsum(batch.reference_counts) - batch.reference_counts
    return Lengths(tokens.responses.lengths, np.minimum.reduceat(distance, starts))


def _biases(part: ScoredSet, lengths: Lengths, near: NDArray[np.bool_]) -> list[Bias]:
    names = [PEOPLE, *part.scores]
    matrix = np.stack([part.human, *(normalised(part, label) for label in part.scores)], axis=1)
    means = np.stack([matrix[near].mean(axis=0), matrix[~near].mean(axis=0)])
    differences = means[0] - means[1]
    replicates, n_groups = _replicates(matrix, near, part)
    own = lengths.own.astype(np.float64)
    with_length = bootstrap_correlations(
        matrix, own, part.judged.contexts, n_resamples=part.resamples, seed=part.seed, kinds=["spearman"]
    )["spearman"]
    beyond = replicates - replicates[:, :1]
    return [
        Bias(
            name,
            float(means[0, place]),
            float(means[1, place]),
            bootstrap_bounds(replicates[:, place], float(differences[place]), n_groups),
            welch_p_value(matrix[near, place], matrix[~near, place]),
            bootstrap_bounds(beyond[:, place], float(differences[place] - differences[0]), n_groups)
            if place
            else Interval(np.nan, np.nan, np.nan),
            correlate(matrix[:, place], own, "pearson").coefficient,
            with_length[place],
        )
        for place, name in enumerate(names)
    ]


def _replicates(matrix: Floats, near: NDArray[np.bool_], part: ScoredSet) -> tuple[Floats, int]:
    """Each column's difference of means per resample of contexts, and the number of contexts of the smaller side."""
    codes, n_groups = group_codes(part.judged.contexts, len(matrix))
    means = []
    for side in (near, ~near):
        sums = group_sums(matrix * side[:, None], codes, n_groups)
        sizes = group_sums(np.broadcast_to(side[:, None], matrix.shape), codes, n_groups)
        means.append(mean_replicates(sums, sizes, part.resamples, part.seed))
    return means[0] - means[1], min(len(np.unique(codes[near])), len(np.unique(codes[~near])))


def welch_p_value(first: Scores, second: Scores) -> float:
    """The two-sided p-value of Welch's t-test; NaN where neither side varies."""
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return float("nan")
    from scipy.stats import ttest_ind_from_stats

    sides = [(side.mean(), side.std(ddof=1), side.size) for side in (first, second)]
    return float(ttest_ind_from_stats(*sides[0], *sides[1], equal_var=False).pvalue)


def _row(bias: Bias) -> tuple[Cell, ...]:
    p_value = PValue(bias.p_value)
    return (bias.name, bias.near, bias.far, bias.difference, p_value, bias.beyond, bias.pearson, bias.spearman)


def _is_length(part: ScoredSet, label: str) -> bool:
    return (part.metrics[label].name if label in part.metrics else label) == "length"


def _findings(part: ScoredSet, biases: Sequence[Bias], near: NDArray[np.bool_], remark: str) -> list[str]:
    people, *metrics = biases
    size = interval_text(people.difference, 2)
    if not above(people.difference) and not below(people.difference):
        of_people = f"The human ratings of the two groups do not differ significantly: by {size} points."
    else:
        order = "higher" if people.difference.estimate > 0 else "lower"
        of_people = f"People rate the first group {order}, by {size} points."
    more = {bias.name: bias.beyond.estimate for bias in metrics if above(bias.beyond)}
    less = {bias.name: bias.beyond.estimate for bias in metrics if below(bias.beyond)}
    sentences = [
        f"{replies(int(near.sum()))} are within {NEAR} words of a reference's length, {int((~near).sum()):,} are "
        f"not. Scores are scaled to the mean and variance of the human ratings.{remark}",
        of_people,
    ]
    if more:
        sentences.append(f"These favour replies of the reference's length more than people do: {listed_with(more)}.")
    if less:
        sentences.append(f"These favour them less than people do: {listed_with(less)}.")
    if not more and not less:
        sentences.append("No metric's difference is significantly different from that of people.")
    clear = [bias for bias in metrics if above(bias.spearman) or below(bias.spearman)]
    with_length = [bias for bias in clear if not _is_length(part, bias.name)]
    if with_length:
        most = max(with_length, key=lambda bias: abs(bias.spearman.estimate))
        sentences.append(
            f"{most.name} correlates most strongly with the length of the reply: Spearman "
            f"{signed(most.spearman.estimate)}; for people it is {signed(people.spearman.estimate)}."
        )
    return sentences

"""What a metric rewards: length, missed replies, a narrow spread, and one dot per reply."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.metrics.batch import Batch, TextOptions
from rejoinder.show.document import PValue
from rejoinder.show.figures import HistogramPanel, IntervalPanel, ScatterPanel
from rejoinder.show.text import interval_text, number_text, signed
from rejoinder.stats.correlation import correlate
from rejoinder.stats.correlation_intervals import bootstrap_correlations, independence_p_values
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.stats.resampling import bootstrap_chunks, group_codes, group_sums, mean_interval, mean_replicates
from rejoinder.trusting.human_scale import (
    FEWEST,
    RATING_ROUNDING,
    HumanScale,
    above,
    below,
    clipped,
    comparable,
    enumerated,
    left_out,
    listed_with,
    normalised,
    own_references,
    replies,
    scale_of,
)
from rejoinder.trusting.probing import ScoredSet, TableCell, TableResult
from rejoinder.types import Example, Scores

# Do metrics favour replies that are as long as the reference, although people do not? (Lowe et al. 2017, Table 8)


NEAR = 6
"""Words by which a reply may be longer or shorter than the reference nearest in length (Lowe et al. 2017; the same in
Liu et al. 2016)."""
PEOPLE = "people"
LENGTH_BIAS_HEADER = (
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
class ReplyLengths:
    """The length of each reply, and its difference from the reference that is nearest in length."""

    own: Ints
    distance: Ints


@dataclass(frozen=True, slots=True)
class LengthBias:
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


def length_bias_probe(scored: ScoredSet) -> TableResult | None:
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
    return TableResult(
        "length-bias",
        "Length bias",
        "Lowe et al. 2017 (ADEM), Table 8; Liu et al. 2016, Table 5",
        LENGTH_BIAS_HEADER,
        tuple(_length_bias_row(bias) for bias in biases),
        tuple(_length_bias_sentences(part, biases, near, left_out(own & scored.complete))),
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


def lengths_of(examples: Sequence[Example]) -> ReplyLengths:
    """Tokens of each reply, and the difference from its nearest reference; every example must have a reference."""
    batch = Batch(examples)
    tokens = batch.tokens(TextOptions())
    distance = np.abs(tokens.references.lengths - tokens.responses.lengths[batch.owner])
    starts = np.cumsum(batch.reference_counts) - batch.reference_counts
    return ReplyLengths(tokens.responses.lengths, np.minimum.reduceat(distance, starts))


def _biases(part: ScoredSet, lengths: ReplyLengths, near: NDArray[np.bool_]) -> list[LengthBias]:
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
        LengthBias(
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


def _length_bias_row(bias: LengthBias) -> tuple[TableCell, ...]:
    p_value = PValue(bias.p_value)
    return (bias.name, bias.near, bias.far, bias.difference, p_value, bias.beyond, bias.pearson, bias.spearman)


def _is_length(part: ScoredSet, label: str) -> bool:
    return (part.metrics[label].name if label in part.metrics else label) == "length"


def _length_bias_sentences(
    part: ScoredSet, biases: Sequence[LengthBias], near: NDArray[np.bool_], note: str
) -> list[str]:
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
        f"not. Scores are scaled to the mean and variance of the human ratings.{note}",
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


# Good replies that a metric scores low, bad ones that it scores high, and which metrics find what word overlap
# misses.
#
# Table 6 of Lowe et al. 2017 starts from the replies that people rate 4 or more on 1..5. BLEU-2 and ROUGE, normalised
# to the mean and variance of the human ratings, both score most of them 2 or less; ADEM scores many of these above 4.
# Here every metric takes ADEM's place in turn, and the two thresholds are the quarters of the human scale.
#
# Lowe et al. also map every raw score of 0 to the lowest rating, so that an overlap metric without any match gives the
# lowest score. Here that is done for metrics whose scores start at 0 and for which higher is better.


SHOWN = 3
"""Number of replies named as instances, as in Table 9 of Lowe et al. 2017."""
MISSED_HEADER = (
    "metric",
    "good",
    "missed",
    "share missed",
    "missed by overlap",
    "of these found",
    "missed, but found by overlap",
    "bad",
    "scored high",
    "share scored high",
)


@dataclass(frozen=True, slots=True)
class HighAndLow:
    """Which replies one metric (or people) scores high, and which low."""

    high: Bools
    low: Bools


def missed_replies_probe(scored: ScoredSet) -> TableResult | None:
    """How many good replies each metric scores low, and bad ones high; None where people rate none high."""
    own = own_references(scored.judged.examples)
    part = comparable(scored, ~own)
    if part is None:
        return None
    scale = scale_of(scored)
    people = HighAndLow(part.human >= scale.good, part.human <= scale.bad)
    if not people.high.any():
        return None
    metrics = {label: verdicts(on_human_scale(part, label, scale), scale) for label in part.scores}
    overlap = overlap_metrics(part)
    missed = {label: _share(metric.low, people.high, part) for label, metric in metrics.items()}
    praised = {label: _share(metric.high, people.low, part) for label, metric in metrics.items()}
    rows = tuple(_missed_row(label, metrics, people, overlap, missed[label], praised[label]) for label in metrics)
    return TableResult(
        "missed-replies",
        "Good replies that metrics miss",
        "Lowe et al. 2017 (ADEM), Table 6",
        MISSED_HEADER,
        rows,
        tuple(_missed_sentences(part, scale, people, metrics, overlap, left_out(own & scored.complete))),
        (
            IntervalPanel("Share of the good replies that each metric scores low", tuple(missed.items())),
            IntervalPanel("Share of the bad replies that each metric scores high", tuple(praised.items())),
        ),
    )


def on_human_scale(part: ScoredSet, label: str, scale: HumanScale) -> NDArray[np.float64]:
    """The metric's scores on the human scale, with a raw score of 0 at its lowest end."""
    raw, cut = part.scores[label], clipped(part, label, scale)
    starts_at_zero = part.oriented(label) is raw and raw.min() == 0 < raw.max()
    return np.where(raw == 0, scale.low, cut) if starts_at_zero else cut


def verdicts(scores: NDArray[np.float64], scale: HumanScale) -> HighAndLow:
    """Which replies get high and low scores on the human scale."""
    return HighAndLow(scores >= scale.good, scores <= scale.bad)


def overlap_metrics(scored: ScoredSet) -> tuple[str, ...]:
    """The labels of BLEU-2 (or another BLEU) and of ROUGE, where they were scored."""
    names = {label: scored.metrics[label].name if label in scored.metrics else label for label in scored.scores}
    bleus = [label for label, name in names.items() if name.startswith("bleu")]
    rouges = [label for label, name in names.items() if name.startswith("rouge")]
    bleus.sort(key=lambda label: not _is_bleu_2(scored, label))
    return (*bleus[:1], *rouges[:1])


def _is_bleu_2(scored: ScoredSet, label: str) -> bool:
    metric = scored.metrics.get(label)
    return metric.parameters.get("n") == 2 if metric else label.startswith("bleu-2")


def _missed_row(
    label: str,
    metrics: Mapping[str, HighAndLow],
    people: HighAndLow,
    overlap: Sequence[str],
    missed: Interval,
    praised: Interval,
) -> tuple[TableCell, ...]:
    own = metrics[label]
    overlap_low, overlap_high = _by_overlap(metrics, overlap)
    forgotten, own_missed = people.high & overlap_low, people.high & own.low
    against: tuple[TableCell, ...] = ("-", "-", "-")
    if overlap and label not in overlap:
        against = (
            int(forgotten.sum()),
            int((forgotten & own.high).sum()),
            int((own_missed & overlap_high).sum()),
        )
    return (
        label,
        int(people.high.sum()),
        int(own_missed.sum()),
        missed,
        *against,
        int(people.low.sum()),
        int((people.low & own.high).sum()),
        praised,
    )


def _by_overlap(metrics: Mapping[str, HighAndLow], overlap: Sequence[str]) -> tuple[Bools, Bools]:
    """Which replies all overlap metrics score low, and which any of them scores high."""
    low: Bools = np.logical_and.reduce([metrics[label].low for label in overlap or metrics])
    high: Bools = np.logical_or.reduce([metrics[label].high for label in overlap or metrics])
    return low, high


def _share(marks: Bools, among: Bools, part: ScoredSet) -> Interval:
    contexts = part.judged.contexts[among]
    shares = marks[among].astype(np.float64)
    return mean_interval(shares, contexts, part.resamples, seed=part.seed, limits=(0.0, 1.0))


def _missed_sentences(
    part: ScoredSet,
    scale: HumanScale,
    people: HighAndLow,
    metrics: Mapping[str, HighAndLow],
    overlap: Sequence[str],
    note: str,
) -> list[str]:
    good = int(people.high.sum())
    sentences = [
        f"Of {replies(len(part.judged))}, people rate {good:,} at {scale.good:g} or more on {scale} (good) and "
        f"{int(people.low.sum()):,} at {scale.bad:g} or less (bad). Scores are scaled to the mean and variance of the "
        f"human ratings and clipped to that scale.{note}"
    ]
    missed = {label: int((people.high & metric.low).sum()) for label, metric in metrics.items()}
    most, least = max(missed, key=missed.__getitem__), min(missed, key=missed.__getitem__)
    if missed[most] > missed[least]:
        sentences.append(
            f"{most} misses the most good replies, {missed[most]:,} of {good:,}; {least} the fewest, {missed[least]:,}."
        )
    else:
        sentences.append(f"Every metric misses {missed[most]:,} of the {good:,} good replies.")
    return sentences + _overlap_sentences(part, people, metrics, overlap)


def _overlap_sentences(
    part: ScoredSet, people: HighAndLow, metrics: Mapping[str, HighAndLow], overlap: Sequence[str]
) -> list[str]:
    others = [label for label in metrics if label not in overlap]
    if not overlap:
        return []
    forgotten = people.high & _by_overlap(metrics, overlap)[0]
    total, good = int(forgotten.sum()), int(people.high.sum())
    named = enumerated(overlap) if len(overlap) == 1 else f"both {enumerated(overlap)}"
    sentence = f"{named[0].upper()}{named[1:]} {'miss' if len(overlap) > 1 else 'misses'} {total:,} of the {good:,}."
    if not total:
        return [sentence]
    if others:
        caught = {label: int((forgotten & metrics[label].high).sum()) for label in others}
        best = max(caught, key=caught.__getitem__)
        sentence += (
            f" Of the other metrics, {best} scores the most of these high, {caught[best]:,}."
            if caught[best]
            else " No other metric scores any of these high."
        )
    drawn = np.random.default_rng(part.seed).permutation(np.flatnonzero(forgotten))[:SHOWN]
    ids = [part.judged.examples[row].id for row in sorted(drawn.tolist())]
    return [f"{sentence} A random sample of them: {enumerated(ids)}."]


# The spread of scores, compared with human ratings: a metric that always says "fairly good" is not informative.
#
# Figure 3 of Zhao et al. 2020 shows how the scores of ADEM and RUBER concentrate around the middle of the scale, and
# their tables give the standard deviations. Metrics have different ranges, so each metric's range is first mapped to
# the human scale.


SPREAD_HEADER = (
    "metric",
    "range",
    "mean",
    "sd",
    "sd on human scale",
    "ratio to human sd",
    "within half a step of the mean",
)


@dataclass(frozen=True, slots=True, eq=False)
class RescaledMetric:
    """A metric's scores, with its range mapped to the human scale and its mean moved to the human mean."""

    label: str
    range: str
    raw: Scores
    values: Scores


def spread_probe(scored: ScoredSet) -> TableResult | None:
    """The standard deviations of metrics and people, on the human scale."""
    part = comparable(scored)
    if part is None:
        return None
    scale = scale_of(scored)
    people = RescaledMetric(PEOPLE, str(scale), part.human, part.human)
    columns = [people, *(rescaled(part, label, scale) for label in part.scores)]
    ratios = _ratios(np.stack([column.values for column in columns], axis=1), part)
    return TableResult(
        "spread",
        "Spread of scores",
        "Zhao et al. 2020, Figure 3 and Table 3",
        SPREAD_HEADER,
        tuple(_spread_row(column, ratio, scale) for column, ratio in zip(columns, ratios, strict=True)),
        tuple(_spread_sentences(columns, ratios, scale)),
        (
            HistogramPanel(
                "Scores with each metric's range mapped to the human scale and its mean moved to the human mean",
                tuple((column.label, column.values) for column in columns),
            ),
            IntervalPanel(
                "Standard deviation on the human scale, divided by that of people",
                tuple((column.label, ratio) for column, ratio in zip(columns[1:], ratios[1:], strict=True)),
            ),
        ),
    )


def rescaled(part: ScoredSet, label: str, scale: HumanScale) -> RescaledMetric:
    """The metric on the human scale; where its range is unknown or infinite, that of its scores is used."""
    raw, scores = part.scores[label], part.oriented(label)
    metric = part.metrics.get(label)
    low, high = metric.range if metric else (math.nan, math.nan)
    text = f"{low:g}..{high:g}"
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = float(raw.min()), float(raw.max())
        text = f"{low:.3g}..{high:.3g} (observed)"
    factor = (scale.high - scale.low) / (high - low) if high > low else 0.0
    return RescaledMetric(label, text, raw, part.human.mean() + (scores - scores.mean()) * factor)


def _ratios(matrix: Floats, part: ScoredSet) -> list[Interval]:
    """Each column's standard deviation divided by that of the first, with intervals that resample contexts."""
    codes, n_groups = group_codes(part.judged.contexts, len(matrix))
    centred = matrix - matrix.mean(axis=0)
    moments = group_sums(np.concatenate([np.ones((len(matrix), 1)), centred, centred**2], axis=1), codes, n_groups)
    drawn = []
    for counts in bootstrap_chunks(n_groups, part.resamples, part.seed):
        sums = counts @ moments
        mean, square = np.split(sums[:, 1:] / sums[:, :1], 2, axis=1)
        drawn.append(np.sqrt(np.maximum(square - mean**2, 0)))
    deviations = np.concatenate(drawn)
    ratios = np.divide(
        deviations, deviations[:, :1], out=np.full(deviations.shape, np.nan), where=deviations[:, :1] > 0
    )
    estimates = matrix.std(axis=0) / matrix[:, 0].std()
    return [bootstrap_bounds(ratios[:, j], float(estimates[j]), n_groups) for j in range(matrix.shape[1])]


def _near_mean(values: Scores, scale: HumanScale) -> float:
    return float(np.mean(np.abs(values - values.mean()) <= scale.step / 2 + RATING_ROUNDING))


def _spread_row(column: RescaledMetric, ratio: Interval, scale: HumanScale) -> tuple[TableCell, ...]:
    return (
        column.label,
        column.range,
        float(column.raw.mean()),
        float(column.raw.std(ddof=1)),
        float(column.values.std(ddof=1)),
        ratio,
        _near_mean(column.values, scale),
    )


def _spread_sentences(columns: list[RescaledMetric], ratios: list[Interval], scale: HumanScale) -> list[str]:
    people, *metrics = columns
    with_ratio = list(zip(metrics, ratios[1:], strict=True))
    sentences = [
        f"Mean human ratings have a standard deviation of {number_text(float(people.raw.std(ddof=1)), 2)} on {scale}; "
        f"{_near_mean(people.values, scale):.0%} of them are within half a step of their mean."
    ]
    for judgement, chosen in (
        ("These spread less than the human ratings", [m for m, ratio in with_ratio if below(ratio, 1)]),
        ("These spread more", [m for m, ratio in with_ratio if above(ratio, 1)]),
        ("No significant difference", [m for m, ratio in with_ratio if not above(ratio, 1) and not below(ratio, 1)]),
    ):
        if chosen:
            named = [f"{m.label} ({_near_mean(m.values, scale):.0%} near the mean)" for m in chosen]
            sentences.append(f"{judgement}: {enumerated(named)}.")
    return sentences


# One dot per reply, metric score against rating.
#
# As in Lowe et al. 2017, Figure 3; Liu et al. 2016, Figure 1; Tao et al. 2018, Figure 4. A plot shows what a
# coefficient hides: a correlation may be due to a handful of replies, or to many equal scores.


MOST_DOTS = 1000
PERMUTATIONS = 1999
PILED = 0.2
"""A sentence names a score that at least this share of the replies has."""
SCATTER_HEADER = ("metric", "Pearson", "p of Pearson", "Spearman", "p of Spearman", "replies")


def scatter_probe(scored: ScoredSet) -> TableResult | None:
    """One plot per metric, with the two coefficients."""
    part = comparable(scored)
    if part is None:
        return None
    scale = scale_of(scored)
    panels = tuple(scatter_panels(part, jitter(scale)).values())
    p_values = {kind: _p_values(part, kind) for kind in ("pearson", "spearman")}
    rows = tuple(
        _scatter_row(part, label, p_values["pearson"][place], p_values["spearman"][place])
        for place, label in enumerate(part.scores)
    )
    source = "Lowe et al. 2017 (ADEM), Figure 3; Liu et al. 2016, Figure 1; Tao et al. 2018 (RUBER), Figure 4"
    return TableResult(
        "scatter", "Scores against people", source, SCATTER_HEADER, rows, tuple(_scatter_sentences(part, scale)), panels
    )


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


def _scatter_row(part: ScoredSet, label: str, p_linear: PValue, p_ranked: PValue) -> tuple[TableCell, ...]:
    linear, ranked = (correlate(part.oriented(label), part.human, kind) for kind in ("pearson", "spearman"))
    return (label, linear.coefficient, p_linear, ranked.coefficient, p_ranked, linear.n)


def _scatter_sentences(part: ScoredSet, scale: HumanScale) -> list[str]:
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
                f"{label} gives {share:.0%} of the replies the same score, {number_text(value)}; its Spearman "
                f"correlation over the other replies is {number_text(left)}."
            )
    return sentences

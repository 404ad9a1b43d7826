"""Good replies that a metric scores low, bad ones that it scores high, and which metrics find what word overlap misses.

Table 6 of Lowe et al. 2017 starts from the replies that people rate 4 or more on 1..5. BLEU-2 and ROUGE, normalised to
the mean and variance of the human ratings, both score most of them 2 or less; ADEM scores many of these above 4. Here
every metric takes ADEM's place in turn, and the two thresholds are the quarters of the human scale.

Lowe et al. also map every raw score of 0 to the lowest rating, so that an overlap metric without any match gives the
lowest score. Here that is done for metrics whose scores start at 0 and for which higher is better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Bools
from rejoinder.figures.panels import IntervalPanel
from rejoinder.meta.studies.human_scale import HumanScale, clipped, comparable, scale_of
from rejoinder.meta.studies.true_replies import left_out, own_references
from rejoinder.meta.studies.wording import listed, replies
from rejoinder.meta.study import Cell, ScoredSet, StudyResult
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import mean_interval

SHOWN = 3
"""Number of replies named as instances, as in Table 9 of Lowe et al. 2017."""
HEADER = (
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
class Verdicts:
    """Which replies one metric (or people) scores high, and which low."""

    high: Bools
    low: Bools


def study(scored: ScoredSet) -> StudyResult | None:
    """How many good replies each metric scores low, and bad ones high; None where people rate none high."""
    own = own_references(scored.judged.examples)
    part = comparable(scored, ~own)
    if part is None:
        return None
    scale = scale_of(scored)
    people = Verdicts(part.human >= scale.good, part.human <= scale.bad)
    if not people.high.any():
        return None
    metrics = {label: verdicts(on_scale(part, label, scale), scale) for label in part.scores}
    overlap = overlap_metrics(part)
    missed = {label: _share(metric.low, people.high, part) for label, metric in metrics.items()}
    praised = {label: _share(metric.high, people.low, part) for label, metric in metrics.items()}
    rows = tuple(_row(label, metrics, people, overlap, missed[label], praised[label]) for label in metrics)
    return StudyResult(
        "missed-replies",
        "Good replies that metrics miss",
        "Lowe et al. 2017 (ADEM), Table 6",
        HEADER,
        rows,
        tuple(_findings(part, scale, people, metrics, overlap, left_out(own & scored.complete))),
        (
            IntervalPanel("Share of the good replies that each metric scores low", tuple(missed.items())),
            IntervalPanel("Share of the bad replies that each metric scores high", tuple(praised.items())),
        ),
    )


def on_scale(part: ScoredSet, label: str, scale: HumanScale) -> NDArray[np.float64]:
    """The metric's scores on the human scale, with a raw score of 0 at its lowest end."""
    raw, cut = part.scores[label], clipped(part, label, scale)
    starts_at_zero = part.oriented(label) is raw and raw.min() == 0 < raw.max()
    return np.where(raw == 0, scale.low, cut) if starts_at_zero else cut


def verdicts(scores: NDArray[np.float64], scale: HumanScale) -> Verdicts:
    """Which replies get high and low scores on the human scale."""
    return Verdicts(scores >= scale.good, scores <= scale.bad)


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


def _row(
    label: str,
    metrics: Mapping[str, Verdicts],
    people: Verdicts,
    overlap: Sequence[str],
    missed: Interval,
    praised: Interval,
) -> tuple[Cell, ...]:
    own = metrics[label]
    overlap_low, overlap_high = _by_overlap(metrics, overlap)
    forgotten, own_missed = people.high & overlap_low, people.high & own.low
    against: tuple[Cell, ...] = ("-", "-", "-")
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


def _by_overlap(metrics: Mapping[str, Verdicts], overlap: Sequence[str]) -> tuple[Bools, Bools]:
    """Which replies all overlap metrics score low, and which any of them scores high."""
    low: Bools = np.logical_and.reduce([metrics[label].low for label in overlap or metrics])
    high: Bools = np.logical_or.reduce([metrics[label].high for label in overlap or metrics])
    return low, high


def _share(marks: Bools, among: Bools, part: ScoredSet) -> Interval:
    contexts = part.judged.contexts[among]
    shares = marks[among].astype(np.float64)
    return mean_interval(shares, contexts, part.resamples, seed=part.seed, limits=(0.0, 1.0))


def _findings(
    part: ScoredSet,
    scale: HumanScale,
    people: Verdicts,
    metrics: Mapping[str, Verdicts],
    overlap: Sequence[str],
    remark: str,
) -> list[str]:
    good = int(people.high.sum())
    sentences = [
        f"Of {replies(len(part.judged))}, people rate {good:,} at {scale.good:g} or more on {scale} (good) and "
        f"{int(people.low.sum()):,} at {scale.bad:g} or less (bad). Scores are scaled to the mean and variance of the "
        f"human ratings and clipped to that scale.{remark}"
    ]
    missed = {label: int((people.high & metric.low).sum()) for label, metric in metrics.items()}
    most, least = max(missed, key=missed.__getitem__), min(missed, key=missed.__getitem__)
    if missed[most] > missed[least]:
        sentences.append(
            f"{most} misses the most good replies, {missed[most]:,} of {good:,}; {least} the fewest, {missed[least]:,}."
        )
    else:
        sentences.append(f"Every metric misses {missed[most]:,} of the {good:,} good replies.")
    return sentences + _overlap_findings(part, people, metrics, overlap)


def _overlap_findings(
    part: ScoredSet, people: Verdicts, metrics: Mapping[str, Verdicts], overlap: Sequence[str]
) -> list[str]:
    others = [label for label in metrics if label not in overlap]
    if not overlap:
        return []
    forgotten = people.high & _by_overlap(metrics, overlap)[0]
    total, good = int(forgotten.sum()), int(people.high.sum())
    named = listed(overlap) if len(overlap) == 1 else f"both {listed(overlap)}"
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
    return [f"{sentence} A random sample of them: {listed(ids)}."]

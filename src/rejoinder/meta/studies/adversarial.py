"""How scores change when good replies are damaged (after Sai et al. 2019).

A trustworthy metric scores a reply lower when its words are shuffled, dropped or repeated, or when it is replaced by
"I don't know"; removing punctuation should not matter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.figures.panels import IntervalPanel
from rejoinder.meta.studies.human_scale import comparable
from rejoinder.meta.studies.perturbations import PERTURBATIONS, Perturbation, Words
from rejoinder.meta.studies.true_replies import left_out, own_references
from rejoinder.meta.studies.wording import above, below, listed, replies
from rejoinder.meta.study import Cell, ScoredSet, StudyResult
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.scoring.scorer import Scorer
from rejoinder.stats.formatting import signed
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import mean_interval
from rejoinder.text.tokenise import tokenise
from rejoinder.types import Example, Scores

MOST = 500
"""Most replies that are perturbed, a random sample where there are more."""
SAME = 1e-5
"""Scores that differ by at most this many standard deviations are equal: the order of a sum changes its rounding."""
ORIGINAL = "original"
HEADER = ("metric", "perturbation", "replies", "before", "after", "change", "share raised", "share unchanged")


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one perturbation on one metric's scores, in standard deviations of the metric over the data."""

    metric: str
    perturbation: Perturbation
    n: int
    """Replies that the perturbation changed and that the metric scored before and after."""
    before: float
    after: float
    moves: Interval
    flips: float
    """The share of replies that score higher than before."""
    unmoved: float


@dataclass(frozen=True, slots=True)
class Sample:
    """Replies to perturb: their rows in the set, their words, and the words of the utterance they answer."""

    rows: Ints
    words: Sequence[Words]
    answered: Sequence[Words]


def study(scored: ScoredSet) -> StudyResult | None:
    """The change of scores under each perturbation; None where no metric can score new replies."""
    own = own_references(scored.judged.examples)
    part = comparable(scored, ~own)
    metrics = {label: metric for label, metric in scored.metrics.items() if label in scored.scores}
    if part is None or not metrics:
        return None
    sample = good_sample(part)
    changed = {item.name: changed_words(item, sample, [part.seed, place]) for place, item in enumerate(PERTURBATIONS)}
    scores = _scores(part, metrics, sample, {ORIGINAL: sample.words, **changed})
    effects = [
        _effect(part, label, item, sample, changed[item.name], scores[ORIGINAL][label], scores[item.name][label])
        for label in metrics
        for item in PERTURBATIONS
    ]
    return StudyResult(
        "adversarial",
        "Damaged replies",
        "Sai et al. 2019",
        HEADER,
        tuple(_row(effect) for effect in effects),
        tuple(_findings(effects, sample, left_out(own & scored.complete))),
        tuple(_panel(label, [effect for effect in effects if effect.metric == label]) for label in metrics),
    )


def good_sample(part: ScoredSet) -> Sample:
    """Replies that people rate at the median or above, and that contain words."""
    words = _words([example.response for example in part.judged.examples])
    good = part.human >= np.median(part.human)
    rows = np.flatnonzero(good & np.array([bool(reply) for reply in words]))
    if len(rows) > MOST:
        rows = np.sort(np.random.default_rng(part.seed).choice(rows, MOST, replace=False))
    contexts = [part.judged.examples[row].context for row in rows]
    answered = _words([context[-1] if context else "" for context in contexts])
    return Sample(rows, [words[row] for row in rows], answered)


def changed_words(perturbation: Perturbation, sample: Sample, seed: Sequence[int]) -> list[Words]:
    """The words of every reply of the sample, perturbed."""
    rng = np.random.default_rng(seed)
    pairs = zip(sample.words, sample.answered, strict=True)
    return [perturbation.change(words, answered, rng) for words, answered in pairs]


def _words(texts: Sequence[str]) -> list[Words]:
    column = tokenise(pl.Series(texts, dtype=pl.String), "words", lowercase=False)
    return [tuple(words) for words in column.to_list()]


def _scores(
    part: ScoredSet, metrics: Mapping[str, Metric], sample: Sample, versions: Mapping[str, Sequence[Words]]
) -> dict[str, dict[str, Scores]]:
    """Version -> metric -> one score per reply.

    A metric that first reads a corpus (for document frequencies) reads the unperturbed judged set.
    """
    scorer = Scorer(metrics, tuple(dict.fromkeys(example.system for example in part.judged.examples)))
    if scorer.must_observe:
        scorer.observe(Batch(part.judged.examples))
    scorer.finish_observing()
    return {version: scorer.score(Batch(_examples(part, sample, words))) for version, words in versions.items()}


def _examples(part: ScoredSet, sample: Sample, words: Sequence[Words]) -> list[Example]:
    """The sample's examples with other replies.

    Words are joined by one space, before and after the perturbation, so that spacing does not change a score.
    """
    return [
        dataclasses.replace(part.judged.examples[row], response=" ".join(reply))
        for row, reply in zip(sample.rows.tolist(), words, strict=True)
    ]


def _effect(
    part: ScoredSet,
    label: str,
    perturbation: Perturbation,
    sample: Sample,
    changed: Sequence[Words],
    before: Scores,
    after: Scores,
) -> Effect:
    own = part.scores[label]
    deviation = float(own.std(ddof=1))
    unit = deviation if part.metrics[label].higher_is_better else -deviation
    differs = np.array([old != new for old, new in zip(sample.words, changed, strict=True)])
    used: NDArray[np.bool_] = differs & ~np.isnan(before) & ~np.isnan(after)
    if not used.any() or deviation == 0:
        unknown = Interval(np.nan, np.nan, np.nan)
        return Effect(label, perturbation, int(used.sum()), np.nan, np.nan, unknown, np.nan, np.nan)
    first, second = ((scores[used] - own.mean()) / unit for scores in (before, after))
    moved = np.where(np.abs(second - first) <= SAME, 0.0, second - first)
    contexts = part.judged.contexts[sample.rows[used]]
    return Effect(
        label,
        perturbation,
        int(used.sum()),
        float(first.mean()),
        float(second.mean()),
        mean_interval(moved, contexts, part.resamples, seed=part.seed),
        float((moved > 0).mean()),
        float((moved == 0).mean()),
    )


def _row(effect: Effect) -> tuple[Cell, ...]:
    numbers = (effect.n, effect.before, effect.after, effect.moves, effect.flips, effect.unmoved)
    return (effect.metric, effect.perturbation.name, *numbers)


def _panel(label: str, effects: Sequence[Effect]) -> IntervalPanel:
    rows = tuple((effect.perturbation.name, effect.moves) for effect in effects)
    return IntervalPanel(f"{label}: change of its score, in its standard deviations", rows)


def _findings(effects: Sequence[Effect], sample: Sample, remark: str) -> list[str]:
    metrics = dict.fromkeys(effect.metric for effect in effects)
    return [
        f"{replies(len(sample.rows))} that people rate at the median or above were perturbed. A trustworthy metric "
        f"lowers its score for every perturbation except the last, punctuation removed.{remark}",
        *(_finding([effect for effect in effects if effect.metric == label]) for label in metrics),
    ]


def _finding(effects: Sequence[Effect]) -> str:
    """One metric in one sentence."""
    damaging = [effect for effect in effects if effect.perturbation.lowers and not np.isnan(effect.moves.estimate)]
    if not damaging:
        return f"{effects[0].metric} could not score any perturbed reply, or gives all replies the same score."
    raised = [effect for effect in damaging if above(effect.moves)]
    blind = [effect for effect in damaging if not below(effect.moves) and effect not in raised]
    lowered = len(damaging) - len(raised) - len(blind)
    parts = [f"{effects[0].metric} scores lower under {lowered} of the {len(damaging)} damaging perturbations"]
    if blind:
        parts.append(f"does not clearly change under {listed([effect.perturbation.name for effect in blind])}")
    if raised:
        named = [f"{effect.perturbation.name} ({signed(effect.moves.estimate)})" for effect in raised]
        parts.append(f"scores higher under {listed(named)}")
    fooled = max(damaging, key=lambda effect: effect.flips)
    if fooled.flips > 0:
        parts.append(f"{fooled.perturbation.name} raises the score of the most replies, {fooled.flips:.0%}")
    for effect in effects:
        if not effect.perturbation.lowers and effect.n:
            size = abs(effect.moves.estimate)
            further = sum(size > abs(other.moves.estimate) for other in damaging)
            parts.append(
                f"{effect.perturbation.name}, which should not matter, changes it by {signed(effect.moves.estimate)}"
                + (f", more than {further} of the {len(damaging)} do" if further else "")
            )
    return "; ".join(parts) + "."

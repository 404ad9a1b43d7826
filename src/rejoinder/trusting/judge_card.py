"""A judge's card: what a statistician asks of a language model before its scores are believed.

It is part of `trust` wherever a judge is among the metrics, alone, in a jury or in an ensemble. Two of its figures need
further requests: some replies are asked about again, and some pairs of replies to one context are shown in both orders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.comparing.pairwise import flips_of, pairs_in, preferred
from rejoinder.judge.cost import Prices
from rejoinder.judge.judge import Judge, judges_in
from rejoinder.metrics.batch import Batch, TextOptions
from rejoinder.show.text import interval_text
from rejoinder.stats.correlation_intervals import bootstrap_correlations
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import mean_interval
from rejoinder.trusting.probing import ScoredSet, TableCell, TableResult
from rejoinder.types import Scores

REPEATED = 50
"""Replies that are asked about again, and pairs that are shown in both orders, at most."""
FEWEST = 10
"""Fewest replies of a language for a row of its own."""
_UNKNOWN = Interval(np.nan, np.nan, np.nan)
_CARD = (
    "judge",
    "replies",
    "unscored",
    "Spearman with people",
    "with length",
    "people's with length",
    "change when repeated",
    "flip rate",
    "of pairs",
    "tokens per reply",
    "cost per 1,000",
)
_CALIBRATION = ("judge", "score", "replies", "mean score", "people's mean")


@dataclass(frozen=True)
class _Judged:
    """One judge's scores of the judged replies."""

    label: str
    judge: Judge
    scores: Scores


def judge_cards(scored: ScoredSet) -> tuple[TableResult, ...]:
    """The card of every judge among the metrics, and its calibration by score; nothing where there is no judge."""
    judges = list(_judges(scored))
    if not judges:
        return ()
    card = TableResult(
        "judge-card",
        "Judges",
        "flips: Zheng et al. 2023; length: Dubois et al. 2024",
        _CARD,
        tuple(row for judged in judges for row in _card_rows(scored, judged)),
        (
            f"Up to {REPEATED} replies were asked about again, past the cache: the change is the mean absolute "
            f"difference of the two scores. Up to {REPEATED} pairs of replies to one context were shown in both "
            "orders: a flip is a preference that changes with the order; pairs without two usable answers are left "
            "out. Tokens and cost are those of single replies; they are estimated where an endpoint does not report "
            "tokens.",
        ),
    )
    calibration = TableResult(
        "judge-calibration",
        "Calibration of judges, by score",
        "human ratings on the scale of the data",
        _CALIBRATION,
        tuple(row for judged in judges for row in _calibration_rows(scored, judged)),
        tuple(_calibration_sentences(scored, judges)),
    )
    return card, calibration


def _judges(scored: ScoredSet) -> Iterator[_Judged]:
    """The judges among the metrics and within them, each once; the answers of members are in the cache by now."""
    alone = {label: metric for label, metric in scored.metrics.items() if isinstance(metric, Judge)}
    for label, judge in alone.items():
        yield _Judged(label, judge, scored.scores[label])
    seen = {judge.signature for judge in alone.values()}
    for label, metric in scored.metrics.items():
        for member in judges_in(metric.parts):
            if member.signature not in seen:
                seen.add(member.signature)
                yield _Judged(f"{label}: {member.model}", member, member.score_batch(Batch(scored.judged.examples)))


def _card_rows(scored: ScoredSet, judged: _Judged) -> Iterator[tuple[TableCell, ...]]:
    """One row for all replies, and one per language where the data name more than one."""
    n = len(scored.judged)
    yield (*_agreement(scored, judged, judged.label, np.ones(n, np.bool_)), *_further(scored, judged))
    languages = np.array(scored.judged.languages or [""] * n)
    for language in sorted(set(languages.tolist()) - {""}):
        rows = languages == language
        if FEWEST <= rows.sum() < n:
            yield (*_agreement(scored, judged, f"{judged.label}, {language}", rows), _UNKNOWN, _UNKNOWN, "", "", "")


def _agreement(scored: ScoredSet, judged: _Judged, label: str, rows: Bools) -> tuple[TableCell, ...]:
    """The share of unscored replies, and correlations with people and with length, over some rows."""
    rated = rows & ~np.isnan(scored.human)
    unscored = float(np.isnan(judged.scores[rows]).mean())
    known = np.flatnonzero(rated & ~np.isnan(judged.scores))
    if known.size < FEWEST:
        return (label, int(rows.sum()), unscored, _UNKNOWN, _UNKNOWN, _UNKNOWN)
    part = scored.judged.take(known)
    lengths = Batch(part.examples).tokens(TextOptions()).responses.lengths.astype(np.float64)
    own, human = judged.scores[known], scored.human[known]
    with_people = _spearman(scored, own[:, None], human, part.contexts)[0]
    with_length = _spearman(scored, np.stack([own, human], axis=1), lengths, part.contexts)
    return (label, int(rows.sum()), unscored, with_people, *with_length)


def _spearman(scored: ScoredSet, matrix: Floats, target: Floats, contexts: Ints) -> list[Interval]:
    found = bootstrap_correlations(
        matrix, target, contexts, n_resamples=scored.resamples, seed=scored.seed, kinds=["spearman"]
    )
    return found["spearman"]


def _further(scored: ScoredSet, judged: _Judged) -> tuple[TableCell, ...]:
    """Repeatability, flip rate, tokens and cost."""
    judge = judged.judge
    used, answered = judge.tokens_spent(scored.judged.examples)
    prices, estimated = judge.asker.meter.prices, " (estimated)" if used.estimates else ""
    tokens: TableCell = f"{(used.read + used.written) / answered:,.0f}{estimated}" if answered else ""
    cost: TableCell = "-"
    if answered and prices != Prices():
        cost = f"{1000 * prices.cost(used.read, used.written) / answered:.4g}{estimated}"
    return (_repeatability(scored, judged), *_flip_rate(scored, judge), tokens, cost)


def _repeatability(scored: ScoredSet, judged: _Judged) -> Interval:
    """The mean absolute difference between two scores of the same reply."""
    known = np.flatnonzero(~np.isnan(judged.scores) & [judged.judge.is_asked(one) for one in scored.judged.examples])
    rows = np.sort(np.random.default_rng(scored.seed).permutation(known)[:REPEATED])
    if not rows.size:
        return _UNKNOWN
    again = judged.judge.asked_again([scored.judged.examples[row] for row in rows], judged.judge.samples)
    change = np.abs(again - judged.scores[rows])
    return mean_interval(change, scored.judged.contexts[rows], scored.resamples, seed=scored.seed)


def _flip_rate(scored: ScoredSet, judge: Judge) -> tuple[Interval, str]:
    """The share of pairs whose preferred reply changes with the order, and how many of the pairs could be used.

    NaN where no context has two replies.
    """
    pairs = list(pairs_in(scored.judged.examples))
    order = np.random.default_rng(scored.seed).permutation(len(pairs))[:REPEATED]
    drawn = [pairs[row] for row in np.sort(order)]
    flips = flips_of(drawn, preferred(judge, drawn), scored.seed, scored.resamples)
    return (_UNKNOWN if flips is None else flips.rate), f"{flips.pairs if flips else 0} of {len(drawn)}"


def _calibration_rows(scored: ScoredSet, judged: _Judged) -> Iterator[tuple[TableCell, ...]]:
    """For each rounded score, what people say of the replies that got it."""
    for score, rows in _by_score(scored, judged).items():
        human = mean_interval(scored.human[rows], scored.judged.contexts[rows], scored.resamples, seed=scored.seed)
        yield (judged.label, f"{score - 0.5:g} to {score + 0.5:g}", rows.size, float(judged.scores[rows].mean()), human)


def _by_score(scored: ScoredSet, judged: _Judged) -> Mapping[int, Ints]:
    known = np.flatnonzero(~np.isnan(judged.scores) & ~np.isnan(scored.human))
    rounded = np.floor(judged.scores[known] + 0.5).astype(int)
    return {int(score): known[rounded == score] for score in np.unique(rounded)}


def _calibration_sentences(scored: ScoredSet, judges: list[_Judged]) -> Iterator[str]:
    for judged in judges:
        known = ~np.isnan(judged.scores) & ~np.isnan(scored.human)
        gap = (judged.scores - scored.human)[known]
        if gap.size:
            mean = mean_interval(gap, scored.judged.contexts[known], scored.resamples, seed=scored.seed)
            yield f"{judged.label} minus people: {interval_text(mean, 2, sign=True)} on average."

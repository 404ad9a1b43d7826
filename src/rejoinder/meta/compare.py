"""Is B better than A, or is it noise? Systems are compared in pairs, on the contexts that both answered."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from rejoinder.arguments import checked
from rejoinder.data.record import FieldMap, Fields
from rejoinder.data.source import OnError, Source
from rejoinder.defaults import RESAMPLES
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.meta.comparison import Comparison, Verdict
from rejoinder.meta.human_means import human_means, labels_by_row
from rejoinder.meta.judged import read_judged
from rejoinder.meta.pairing import PAIR_FIELDS, Keys, join, labels_of, pair_keys
from rejoinder.meta.ranking import Ranking, in_order, ranking
from rejoinder.scoring.choosing import Choice, Metrics, choose
from rejoinder.scoring.local import LocalRun
from rejoinder.scoring.replay import Replay
from rejoinder.scoring.table import ScoreTable
from rejoinder.stats.compare_means import MeanComparison, compare_paired, compare_unpaired
from rejoinder.stats.multiple import ALPHA, holm
from rejoinder.types import Scores

FIRST_PERMUTATIONS = 9999

SMALLEST_ADJUSTED = ALPHA / 10
"""Enough permutations are drawn for adjusted p-values to get this small, however many systems are compared."""


@checked()
def compare(
    *origins: Any,
    metrics: Metrics | Choice | None = None,
    pair_by: str | None = None,
    labels: Any = None,
    dimension: str | None = None,
    predictor: str | None = None,
    fields: Fields | None = None,
    on_error: OnError = "raise",
    seed: int = 0,
    resamples: int = RESAMPLES,
    quiet: bool = True,
) -> Comparison:
    """Compare the systems of two or more files, lists or data frames of replies (or of one that holds several systems).

    Replies are paired by `context_id`, else by equal context and references; `pair_by` names another field. Two systems
    that share fewer than half of the contexts of the one with fewer contexts are compared unpaired, on all replies.
    Several comparisons by one metric are Holm-corrected.

    `labels` are human scores of a random sample of the replies (a judged set, joined by id and system). With them the
    comparison also estimates the mean human score over all replies: `predictor` names the metric that is combined with
    the labels (by default the first one), `dimension` the judged dimension.
    """
    if not origins:
        raise CallError("compare needs replies: expected two or more files, or one that holds several systems")
    if sum(isinstance(origin, str) and origin == "-" for origin in origins) > 1:
        raise CallError("standard input can be read only once: expected - for at most one of the files")
    mapping, pair_field = _mapping(FieldMap.given(fields), pair_by)
    with ExitStack() as stack:
        sources = [stack.enter_context(closing(Source(origin, mapping, on_error))) for origin in origins]
        joined, seen = join(sources, labels_of(origins), quiet=quiet)
        if len(seen.systems) < 2:
            raise CallError(f"compare needs at least two systems, found only {seen.systems[0]!r}")
        chosen = choose(metrics).served_by(seen, ", ".join(source.name for source in sources))
        if predictor is not None and predictor not in chosen.metrics:
            raise UnknownNameError("predictor", predictor, chosen.metrics)
        examples = stack.enter_context(closing(Replay(joined)))
        keys = pair_keys(examples, pair_field, called=pair_by)
        labelled = None if labels is None else labels_by_row(examples, read_judged(labels), dimension)
        run = LocalRun(examples, seen, chosen.metrics, "comparison", seed, resamples, quiet=quiet, notes=chosen.notes)
        table = run.score()
        skipped = tuple(str(error) for source in sources for error in source.skipped.values())
    comparison = replace(compare_table(table, keys), skipped=skipped)
    if labelled is None:
        return comparison
    judged, values = labelled
    human = human_means(table, keys, values, judged, predictor or table.metrics[0])
    return replace(comparison, human=human, notes=(*comparison.notes, *human.notes))


def _mapping(fields: FieldMap, pair_by: str | None) -> tuple[FieldMap, str | None]:
    """The fields to read, and the one to pair by; a field that is not one of ours is read as the context's id."""
    for ours in PAIR_FIELDS:
        if pair_by in (ours, fields.of(ours)):
            return fields, ours
    if pair_by is None:
        return fields, None
    return FieldMap({**fields.names, "context_id": pair_by}, fields.separator), "context_id"


def compare_table(table: ScoreTable, keys: Keys) -> Comparison:
    """Compare the systems of a table; examples with equal keys are pairs."""
    verdicts: list[Verdict] = []
    said: dict[str, None] = {}
    pairs = list(combinations(table.system_names, 2))
    for label, scores in table.scores.items():
        results = []
        for a, b in pairs:
            result, note = _two_systems(scores, keys, table.rows_of(a), table.rows_of(b), table)
            results.append(result)
            if note:
                said.setdefault(f"{a} and {b} {note}")
        adjusted = holm([result.p_value for result in results])
        unbounded = np.isinf(table.ranges.get(label, (0.0, 1.0))[1])
        better = None if unbounded else table.higher_is_better.get(label, True)
        verdicts += [
            Verdict(label, a, b, result, float(p), better)
            for (a, b), result, p in zip(pairs, results, adjusted, strict=True)
        ]
    rankings = dict(_rankings(table, keys, verdicts))
    unranked = [label for label, ranked in rankings.items() if ranked is None]
    if unranked:
        said.setdefault(
            f"no ranking by {', '.join(unranked)}: the pairs of systems were compared on such different contexts "
            "that a ranking could contradict the comparisons"
        )
    ranked = tuple(ranked for ranked in rankings.values() if ranked is not None)
    return Comparison(table, tuple(verdicts), tuple(said), rankings=ranked)


def _rankings(table: ScoreTable, keys: Keys, verdicts: Sequence[Verdict]) -> Iterator[tuple[str, Ranking | None]]:
    """The ranking of three or more systems by each metric that says which is better; None where there is none."""
    if len(table.system_names) < 3:
        return
    for label in table.metrics:
        pairs = [verdict for verdict in verdicts if verdict.metric == label]
        better = pairs[0].higher_is_better
        if better is None:
            continue
        means = _ranked_means(table, keys, label, pairs)
        contradicted = means is not None and any(
            pair.significant and not in_order(pair, means[pair.a], means[pair.b]) for pair in pairs
        )
        if means is None or contradicted:
            yield label, None
        else:
            yield label, ranking(label, list(means.items()), pairs, higher_is_better=better)


def _ranked_means(table: ScoreTable, keys: Keys, label: str, pairs: Sequence[Verdict]) -> dict[str, float] | None:
    """Each system's mean over the contexts that were compared; None where the pairs have too few contexts in common.

    Unpaired comparisons use all replies, paired ones the contexts that two systems share. A ranking uses the contexts
    that all systems share, which must be at least half of those that any two share.
    """
    scores, rows = table[label], {system: table.rows_of(system) for system in table.system_names}
    if not any(pair.result.paired for pair in pairs):
        return {system: _mean(scores[of]) for system, of in rows.items()}
    if not all(pair.result.paired for pair in pairs):
        return None
    shared = np.array(sorted(set.intersection(*(set(keys[of].tolist()) for of in rows.values()))), np.int64)
    if not shared.size:
        return None
    means = np.stack([_means_by_key(scores[of], keys[of], shared) for of in rows.values()])
    scored = ~np.isnan(means).all(axis=1)  # a system without any score must not exclude every context
    complete = ~np.isnan(means[scored]).any(axis=0)
    if complete.sum() < max(2, max(pair.result.n_a for pair in pairs) / 2):
        return None
    return {system: _mean(row[complete]) for system, row in zip(rows, means, strict=True)}


def _mean(scores: Scores) -> float:
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if known.size else float("nan")


def _two_systems(scores: Scores, keys: Keys, a: Keys, b: Keys, table: ScoreTable) -> tuple[MeanComparison, str]:
    contexts_a, contexts_b = np.unique(keys[a]), np.unique(keys[b])
    shared = np.intersect1d(contexts_a, contexts_b, assume_unique=True)
    settings: dict[str, Any] = {
        "n_permutations": FIRST_PERMUTATIONS,
        "most_permutations": math.ceil(math.comb(len(table.system_names), 2) / SMALLEST_ADJUSTED),
        "seed": table.seed,
    }
    if len(shared) < max(2, min(len(contexts_a), len(contexts_b)) / 2):
        unpaired = compare_unpaired(scores[a], scores[b], keys[a], keys[b], **settings)
        return unpaired, _unpaired_note(len(shared), len(contexts_a), len(contexts_b))
    first, second = _means_by_key(scores[a], keys[a], shared), _means_by_key(scores[b], keys[b], shared)
    result = compare_paired(first, second, **settings)
    alone = int((~np.isin(keys[a], shared)).sum() + (~np.isin(keys[b], shared)).sum())
    note = f"are compared on the {len(shared)} contexts that both answered; {alone} other replies are left out"
    return result, note if alone else ""


def _unpaired_note(shared: int, of_a: int, of_b: int) -> str:
    if not shared:
        return "answered different contexts, so their means are compared unpaired"
    return (
        f"share only {shared} of their {of_a} and {of_b} contexts, "
        "so their means over all replies are compared unpaired"
    )


def _means_by_key(scores: Scores, keys: Keys, wanted: Keys) -> Scores:
    """The mean score of the replies to each wanted context; NaN where none could be scored."""
    place = np.searchsorted(wanted, keys)
    inside = (place < len(wanted)) & (wanted[np.minimum(place, len(wanted) - 1)] == keys) & ~np.isnan(scores)
    total = np.bincount(place[inside], weights=scores[inside], minlength=len(wanted))
    count = np.bincount(place[inside], minlength=len(wanted))
    means: Scores = np.divide(total, count, out=np.full(len(wanted), np.nan), where=count > 0)
    return means

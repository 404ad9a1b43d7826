"""Is B better than A, or is it noise? Paired where both answered the same contexts, and said in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from rejoinder.data.record import FieldMap
from rejoinder.data.source import OnError, Source
from rejoinder.engines.local import LocalRun
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.meta.comparison import Comparison, Verdict
from rejoinder.meta.human_means import human_means, labels_by_row
from rejoinder.meta.judged import read_judged
from rejoinder.meta.pairing import PAIR_FIELDS, Keys, join, labels_of, pair_keys
from rejoinder.meta.ranking import Ranking, ranking
from rejoinder.metrics.base import Metric
from rejoinder.metrics.scoring import check_needs, load_metrics, usable_defaults
from rejoinder.metrics.table import ScoreTable
from rejoinder.stats.compare_means import MeanComparison, compare_paired, compare_unpaired
from rejoinder.stats.multiple import holm
from rejoinder.types import Scores


def compare(
    *origins: Any,
    metrics: Sequence[str | Metric] | Mapping[str, Metric] | str | Metric | None = None,
    pair_by: str | None = None,
    labels: Any = None,
    dimension: str | None = None,
    predictor: str | None = None,
    fields: FieldMap | dict[str, str] | None = None,
    on_error: OnError = "raise",
    seed: int = 0,
    resamples: int = 1000,
    quiet: bool = True,
) -> Comparison:
    """Compare the systems of two or more files, lists or frames of replies (or of one that holds several systems).

    Replies pair by `context_id`, else by equal context and references; `pair_by` names another field. Where no two
    systems share a context the comparison is unpaired. Several comparisons by one metric are Holm-corrected.

    `labels` are human scores of some of the replies (a judged set, joined by id and system). With them the comparison
    also tells what people would say of all replies: `predictor` names the metric that is joined with the labels (the
    first one by default), `dimension` what was judged.
    """
    if not origins:
        raise CallError("compare needs replies: expected two or more files, or one that holds several systems")
    if sum(isinstance(origin, str) and origin == "-" for origin in origins) > 1:
        raise CallError("standard input can be read only once: expected - for one of the files at most")
    given = fields if isinstance(fields, FieldMap) else FieldMap(fields or {})
    mapping, pair_field = _mapping(given, pair_by)
    with ExitStack() as stack:
        sources = [stack.enter_context(closing(Source(origin, mapping, on_error))) for origin in origins]
        joined, seen = join(sources, labels_of(origins), quiet=quiet)
        if len(seen.systems) < 2:
            raise CallError(f"compare needs at least two systems, found only {seen.systems[0]!r}")
        named = [metrics] if isinstance(metrics, str | Metric) else metrics
        chosen = load_metrics(named or usable_defaults(seen))
        check_needs(chosen, seen, ", ".join(source.name for source in sources))
        if predictor is not None and predictor not in chosen:
            raise UnknownNameError("predictor", predictor, chosen)
        keys = pair_keys(joined, pair_field, called=pair_by)
        labelled = None if labels is None else labels_by_row(joined, read_judged(labels), dimension)
        table = LocalRun(joined, seen, chosen, "comparison", seed, resamples, quiet=quiet).score()
        skipped = tuple(str(error) for source in sources for error in source.skipped.values())
    comparison = replace(compare_table(table, keys), skipped=skipped)
    if labelled is None:
        return comparison
    judged, values = labelled
    return replace(comparison, human=human_means(table, keys, values, judged, predictor or table.metrics[0]))


def _mapping(fields: FieldMap, pair_by: str | None) -> tuple[FieldMap, str | None]:
    """The fields to read, and which one pairs; a field of the data that is none of ours is read as the context's id."""
    for ours in PAIR_FIELDS:
        if pair_by in (ours, fields.of(ours)):
            return fields, ours
    if pair_by is None:
        return fields, None
    return FieldMap({**fields.names, "context_id": pair_by}, fields.separator), "context_id"


def compare_table(table: ScoreTable, keys: Keys) -> Comparison:
    """Compare the systems of a table whose examples pair by equal keys."""
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
    return Comparison(table, tuple(verdicts), tuple(said), rankings=tuple(_rankings(table, verdicts)))


def _rankings(table: ScoreTable, verdicts: Sequence[Verdict]) -> Iterator[Ranking]:
    """The order of three or more systems by each metric that says which is better."""
    if len(table.system_names) < 3:
        return
    for label, systems in table.summary().items():
        pairs = [verdict for verdict in verdicts if verdict.metric == label]
        better = pairs[0].higher_is_better
        if better is not None:
            means = [(system, summary.mean) for system, summary in systems.items()]
            yield ranking(label, means, pairs, higher_is_better=better)


def _two_systems(scores: Scores, keys: Keys, a: Keys, b: Keys, table: ScoreTable) -> tuple[MeanComparison, str]:
    shared = np.intersect1d(keys[a], keys[b])
    if len(shared) < 2:
        unpaired = compare_unpaired(
            scores[a], scores[b], keys[a], keys[b], n_resamples=table.resamples, seed=table.seed
        )
        return unpaired, "answered different contexts, so their means are compared unpaired"
    first, second = _means_by_key(scores[a], keys[a], shared), _means_by_key(scores[b], keys[b], shared)
    result = compare_paired(first, second, n_resamples=table.resamples, seed=table.seed)
    alone = int((~np.isin(keys[a], shared)).sum() + (~np.isin(keys[b], shared)).sum())
    note = f"are compared on the {len(shared)} contexts that both answered; {alone} replies to others are left out"
    return result, note if alone else ""


def _means_by_key(scores: Scores, keys: Keys, wanted: Keys) -> Scores:
    """The mean score of the replies to each wanted context; NaN where none could be scored."""
    place = np.searchsorted(wanted, keys)
    inside = (place < len(wanted)) & (wanted[np.minimum(place, len(wanted) - 1)] == keys) & ~np.isnan(scores)
    total = np.bincount(place[inside], weights=scores[inside], minlength=len(wanted))
    count = np.bincount(place[inside], minlength=len(wanted))
    means: Scores = np.divide(total, count, out=np.full(len(wanted), np.nan), where=count > 0)
    return means

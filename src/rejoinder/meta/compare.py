"""Is B better than A, or is it noise? Paired where both answered the same contexts, and said in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from rejoinder.data.record import FieldMap
from rejoinder.data.source import OnError, Source
from rejoinder.engines.local import LocalRun
from rejoinder.errors import CallError
from rejoinder.meta.pairing import PAIR_FIELDS, Keys, join, labels_of, pair_keys
from rejoinder.metrics.base import Metric
from rejoinder.metrics.scoring import check_needs, load_metrics, usable_defaults
from rejoinder.metrics.table import ScoreTable, json_ready
from rejoinder.stats.compare_means import MeanComparison, compare_paired, compare_unpaired
from rejoinder.stats.multiple import holm
from rejoinder.text.grid import grid, number
from rejoinder.types import Scores

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Verdict:
    """Two systems by one metric."""

    metric: str
    a: str
    b: str
    result: MeanComparison
    p_adjusted: float
    """Holm-corrected for all comparisons by this metric."""
    higher_is_better: bool | None
    """None: the metric (length) says how replies differ, not which are better."""

    @property
    def significant(self) -> bool:
        """Whether the difference is more than noise."""
        return self.p_adjusted < ALPHA

    def sentence(self) -> str:
        """What a person would say of it."""
        gap = self.result.difference
        if np.isnan(self.p_adjusted):
            return f"{self.metric}: too few scored replies to compare {self.a} and {self.b}."
        low, high = (gap.low, gap.high) if gap.estimate > 0 else (-gap.high, -gap.low)
        numbers = f"{number(abs(gap.estimate))} [{number(low)}, {number(high)}]"
        if not self.significant:
            return (
                f"{self.metric}: no difference between {self.a} and {self.b} that is more than noise "
                f"({number(gap.estimate)} [{number(gap.low)}, {number(gap.high)}], {self._p()}){self._needed()}."
            )
        if self.higher_is_better is None:
            word, first, second = "higher", *((self.b, self.a) if gap.estimate > 0 else (self.a, self.b))
        else:
            b_is_better = (gap.estimate > 0) == self.higher_is_better
            word, first, second = "better", *((self.b, self.a) if b_is_better else (self.a, self.b))
        return f"{self.metric}: {first} is {word} than {second} by {numbers} ({self._p()})."

    def _p(self) -> str:
        shown = p_value(self.p_adjusted)
        return f"p {shown}" if shown.startswith("<") else f"p = {shown}"

    def _needed(self) -> str:
        """How many more pairs an effect of the observed size would need."""
        more = self.result.needed_examples - min(self.result.n_a, self.result.n_b)
        if not np.isfinite(more) or more < 1:
            return ""
        return f"; about {more:,.0f} more examples would be needed to tell them apart"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        result = self.result
        return json_ready(
            {
                "metric": self.metric,
                "a": self.a,
                "b": self.b,
                "mean_a": result.mean_a,
                "mean_b": result.mean_b,
                "difference": result.difference.estimate,
                "low": result.difference.low,
                "high": result.difference.high,
                "p": result.p_value,
                "p_adjusted": self.p_adjusted,
                "p_bootstrap": result.bootstrap_p_value,
                "significant": bool(self.significant),
                "effect_size": result.effect_size,
                "effect_name": result.effect_name,
                "win_rate": result.outcomes.wins,
                "tie_rate": result.outcomes.ties,
                "loss_rate": result.outcomes.losses,
                "needed_examples": result.needed_examples,
                "n": min(result.n_a, result.n_b),
                "paired": result.paired,
                "verdict": self.sentence(),
            }
        )


@dataclass(frozen=True)
class Comparison:
    """Several systems, two by two, by several metrics; `str()` is the table with a verdict a line."""

    table: ScoreTable
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """What was left out because it could not be read."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **self.table.to_dict(),
            "warnings": [*self.table.notes, *self.notes],
            "skipped": list(self.skipped),
            "comparisons": [verdict.to_dict() for verdict in self.verdicts],
        }

    def to_latex(self) -> str:
        """A booktabs table of the differences; significant ones in bold."""
        lines = [
            r"\begin{tabular}{lllrrr}",
            r"\toprule",
            r"metric & A & B & B $-$ A & 95\,\% interval & $p$ \\",
            r"\midrule",
        ]
        for verdict in self.verdicts:
            gap = verdict.result.difference
            shown = number(gap.estimate)
            shown = rf"\textbf{{{shown}}}" if verdict.significant else shown
            names = " & ".join(_latex(name) for name in (verdict.metric, verdict.a, verdict.b))
            interval, p = f"[{number(gap.low)}, {number(gap.high)}]", _latex(p_value(verdict.p_adjusted))
            lines.append(rf"{names} & {shown} & {interval} & {p} \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])

    def __str__(self) -> str:
        rows = []
        for verdict in self.verdicts:
            result, gap = verdict.result, verdict.result.difference
            rows.append(
                [
                    verdict.metric,
                    f"{verdict.a} → {verdict.b}",
                    number(result.mean_a),
                    number(result.mean_b),
                    f"{_signed(gap.estimate, 3)} [{number(gap.low)}, {number(gap.high)}]",
                    _signed(result.effect_size, 2),
                    _share(result.outcomes.wins),
                    p_value(verdict.p_adjusted),
                    "*" if verdict.significant else "",
                ]
            )
        header = ["metric", "A → B", "mean A", "mean B", "B - A [95 %]", "effect", "B wins", "p", ""]
        said = "\n".join(verdict.sentence() for verdict in self.verdicts)
        return f"{grid(header, rows, left=2)}\n\n{said}"


def compare(
    *origins: Any,
    metrics: Sequence[str | Metric] | Mapping[str, Metric] | str | Metric | None = None,
    pair_by: str | None = None,
    fields: FieldMap | dict[str, str] | None = None,
    on_error: OnError = "raise",
    seed: int = 0,
    resamples: int = 1000,
    quiet: bool = True,
) -> Comparison:
    """Compare the systems of two or more files, lists or frames of replies (or of one that holds several systems).

    Replies pair by `context_id`, else by equal context and references; `pair_by` names another field. Where no two
    systems share a context the comparison is unpaired. Several comparisons by one metric are Holm-corrected.
    """
    if not origins:
        raise CallError("compare needs replies: expected two or more files, or one that holds several systems")
    if sum(isinstance(origin, str) and origin == "-" for origin in origins) > 1:
        raise CallError("standard input can be read only once: expected - for one of the files at most")
    mapping, pair_field = _mapping(fields if isinstance(fields, FieldMap) else FieldMap(fields or {}), pair_by)
    with ExitStack() as stack:
        sources = [stack.enter_context(closing(Source(origin, mapping, on_error))) for origin in origins]
        joined, seen = join(sources, labels_of(origins), quiet=quiet)
        if len(seen.systems) < 2:
            raise CallError(f"compare needs at least two systems, found only {seen.systems[0]!r}")
        named = [metrics] if isinstance(metrics, str | Metric) else metrics
        chosen = load_metrics(named or usable_defaults(seen))
        check_needs(chosen, seen, ", ".join(source.name for source in sources))
        keys = pair_keys(joined, pair_field, called=pair_by)
        table = LocalRun(joined, seen, chosen, "comparison", seed, resamples, quiet=quiet).score()
        skipped = tuple(str(error) for source in sources for error in source.skipped.values())
    return replace(compare_table(table, keys), skipped=skipped)


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
    return Comparison(table, tuple(verdicts), tuple(said))


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


def p_value(value: float) -> str:
    """A p-value for a table; one that would round to nothing is told as a bound."""
    return "< 0.001" if value < 0.001 else number(value)


def _signed(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:+.{digits}f}"


def _share(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.0%}"


_LATEX = {
    **{character: rf"\{character}" for character in "&%_#${}"},
    "<": "$<$",
    ">": "$>$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)

"""A comparison as text for the terminal and as LaTeX."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rejoinder.scoring.table import CAUTION
from rejoinder.stats.formatting import bounds_text, decimals_of, interval_text, p_text, share_text, signed
from rejoinder.text.grid import grid, number, wrapped
from rejoinder.text.latex import latex_safe, latex_table

if TYPE_CHECKING:
    from rejoinder.meta.comparing.comparison import Comparison
    from rejoinder.meta.comparing.verdict import Verdict
    from rejoinder.meta.human_means import HumanMeans
    from rejoinder.stats.intervals import Interval

_LONGEST_NAME = 14
_MOST_PAIRS = 12


def text(comparison: Comparison, width: int, *, details: bool = False) -> str:
    """The verdict and a short table, wrapped at the width; with `details` everything else."""
    first, *others = comparison.headline()
    parts = [wrapped(first, width), wrapped(" ".join(others), width), _short_table(comparison, width)]
    if comparison.human is not None:
        parts.append(comparison.human.table(width))
    parts += [slice_text(comparison, field, width) for field in comparison.slices]
    if details:
        parts += _details(comparison, width)
    return "\n\n".join(filter(None, parts))


def slice_text(comparison: Comparison, field: str, width: int) -> str:
    """One row per value of a field and pair of systems: the difference by the primary metric, p, and n."""
    rows = [
        [
            value,
            f"{verdict.a} → {verdict.b}",
            interval_text(verdict.result.difference, sign=True),
            p_text(verdict.p_adjusted),
            verdict.better or "-",
            f"{verdict.n:,}",
        ]
        for value, verdicts in comparison.slices[field].items()
        for verdict in verdicts
    ]
    header = [field, "A → B", f"{comparison.primary.metric}: B - A [95 %]", "p", "better", "n"]
    table = grid(header, rows, left=2, fit=width)
    return f"{table}\n{wrapped(f'p is corrected for all rows (Holm). {CAUTION.format(count=len(rows))}', width)}"


def _short_table(comparison: Comparison, width: int) -> str:
    if len(comparison.table.system_names) == 2:
        return _two_systems(comparison, width)
    return _standings(comparison, width)


def _two_systems(comparison: Comparison, width: int) -> str:
    """One row per metric: both means, the difference, p, n."""
    a, b = map(_shortened, comparison.table.system_names)
    rows = []
    for verdict in comparison.verdicts:
        result = verdict.result
        rows.append(
            [
                _metric(verdict),
                number(result.mean_a) + ("*" if verdict.better == verdict.a else ""),
                number(result.mean_b) + ("*" if verdict.better == verdict.b else ""),
                interval_text(result.difference, sign=True),
                p_text(verdict.p_adjusted),
                f"{verdict.n:,}",
            ]
        )
    table = grid(["metric", a, b, "difference [95 %]", "p", "n"], rows, fit=width)
    caption = f"Difference: {b} minus {a}. n: {_counted(comparison)}. * significantly better{_correction(comparison)}."
    return f"{table}\n{wrapped(caption + _arrow(comparison), width)}"


def _standings(comparison: Comparison, width: int) -> str:
    """One row per system, by the primary metric, best first; ties share a group."""
    verdicts, metric = comparison.decisive_verdicts, comparison.primary.metric
    ranked = next((ranking for ranking in comparison.rankings if ranking.metric == metric), None)
    summary = comparison.table.summary()[metric]
    if ranked is not None:
        order = [(str(place.cluster or "-"), place.system, place.mean) for place in ranked.places]
    else:
        reverse = verdicts[0].higher_is_better is not False
        systems = sorted(summary, key=lambda system: summary[system].mean, reverse=reverse)
        order = [("-", system, summary[system].mean) for system in systems]
    rows = []
    for group, system, mean in order:
        own = [verdict for verdict in verdicts if system in (verdict.a, verdict.b) and verdict.significant]
        ahead = sum(verdict.leader == system for verdict in own)
        rows.append(
            [group, system, number(mean), str(ahead), str(len(own) - ahead), f"{summary[system].n:,}"],
        )
    word = "higher" if verdicts[0].higher_is_better is None else "better"
    table = grid(["group", "system", metric, f"{word} than", f"{_OPPOSITE[word]} than", "n"], rows, left=2, fit=width)
    caption = (
        "Systems of one group do not differ significantly. " if ranked is not None else ""
    ) + f"{word} than, {_OPPOSITE[word]} than: how many systems, p < 0.05 after Holm's correction. n: scored replies."
    return f"{table}\n{wrapped(caption, width)}"


_OPPOSITE = {"better": "worse", "higher": "lower"}


def _details(comparison: Comparison, width: int) -> list[str]:
    """All pairs and metrics with effect sizes and wins, a sentence each where they are few, and all rankings."""
    rows = [
        [
            _metric(verdict),
            f"{verdict.a} → {verdict.b}",
            interval_text(verdict.result.difference, sign=True),
            p_text(verdict.p_adjusted),
            verdict.better or "-",
            signed(verdict.result.effect_size, 2),
            share_text(verdict.outcomes.wins),
            p_text(verdict.result.p_value),
            number(verdict.detectable),
            f"{verdict.n:,}",
        ]
        for verdict in comparison.verdicts
    ]
    header = ["metric", "A → B", "B - A [95 %]", "p (Holm)", "better", "effect", "B wins", "p alone", "detectable", "n"]
    parts = [grid(header, rows, left=2, fit=width)]
    parts[0] += "\n" + wrapped(
        "Intervals are not corrected for the number of comparisons. effect: in standard deviations (Cohen's d_z; "
        "unpaired Hedges' g). B wins: how often B has the better score. detectable: the difference that would have "
        "been detected with 80% power.",
        width,
    )
    if len(comparison.verdicts) <= _MOST_PAIRS:  # beyond that, the table and the rankings are easier to read
        parts.append("\n".join(wrapped(verdict.sentence(), width) for verdict in comparison.verdicts))
    if comparison.rankings:
        title = "Best first; a bar precedes a system that is significantly worse than one after the last bar:"
        lines = (wrapped(ranking.sentence(), width) for ranking in comparison.rankings)
        parts.append("\n".join([wrapped(title, width), *lines]))
    if comparison.human is not None:
        parts.append("\n".join(wrapped(row.sentence(), width) for row in comparison.human.differences))
    return parts


def _metric(verdict: Verdict) -> str:
    return f"{verdict.metric} ↓" if verdict.higher_is_better is False else verdict.metric


def _arrow(comparison: Comparison) -> str:
    return " ↓ lower is better." if any(v.higher_is_better is False for v in comparison.verdicts) else ""


def _correction(comparison: Comparison) -> str:
    """What p-values are corrected for."""
    if len(comparison.table.metrics) == 1:
        return ""
    decides = (
        f"{comparison.primary.metric} alone decides"
        if comparison.decided
        else f"{comparison.primary.metric} decides nothing here"
    )
    return f"; p: {decides}, the others are corrected together (Holm)"


def _counted(comparison: Comparison) -> str:
    first = comparison.verdicts[0]
    if not first.result.paired:
        return "replies of the system with fewer"
    return f"{first.paired_by}s that both {'answered' if first.paired_by == 'context' else 'have scores for'}"


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def latex(comparison: Comparison) -> str:
    """A booktabs table of the differences, and one of the estimated human means where there are labels.

    Significant differences and the better systems are in bold.
    """
    rows = []
    for verdict in comparison.verdicts:
        gap = verdict.result.difference
        names = [_bold(latex_safe(name), verdict.better == name) for name in (verdict.a, verdict.b)]
        means = [number(verdict.result.mean_a), number(verdict.result.mean_b)]
        shown = _bold(number(gap.estimate, decimals_of(gap)), verdict.significant)
        bounds = _latex_bounds(gap, decimals_of(gap))
        rows.append([latex_safe(verdict.metric), *names, *means, shown, bounds, latex_safe(p_text(verdict.p_adjusted))])
    p = "$p$ (Holm)" if len(comparison.verdicts) > 1 else "$p$"
    header = ["metric", "A", "B", "mean A", "mean B", "B $-$ A", r"95\,\% interval", p]
    table = latex_table(header, rows, left=3)
    return table if comparison.human is None else f"{table}\n\n{_latex_human(comparison.human)}"


def _latex_human(human: HumanMeans) -> str:
    """The estimated human means, and the differences of all pairs."""
    rows = []
    for system, result in human.means.items():
        interval = result.interval
        rows.append(
            [latex_safe(system), number(interval.estimate), _latex_bounds(interval), str(result.n_labelled), ""]
        )
    for row in human.differences:
        a, b = (_bold(latex_safe(name), row.better == name) for name in (row.a, row.b))
        gap = row.result.interval
        shown = _bold(number(gap.estimate), row.settled)
        rows.append([f"{b} $-$ {a}", shown, _latex_bounds(gap), "", latex_safe(p_text(row.p_adjusted))])
    header = [f"{latex_safe(human.dimension)} (people)", "estimate", r"95\,\% interval", "labels", "$p$"]
    return latex_table(header, rows)


def _latex_bounds(interval: Interval, digits: int = 3) -> str:
    """The bounds; a dash where they are unknown."""
    return "--" if math.isnan(interval.high - interval.low) else bounds_text(interval, digits)


def _bold(words: str, bold: bool) -> str:
    return rf"\textbf{{{words}}}" if bold else words

"""The comparison of systems: the primary metric's standings, and what every other metric shows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from rejoinder.figures.markup import Html, element, joined, own_text
from rejoinder.figures.numbers import UNKNOWN, decimals_for, shown
from rejoinder.meta.comparing.comparison import Comparison
from rejoinder.meta.comparing.verdict import Verdict
from rejoinder.report.glossary import term
from rejoinder.report.page import Section
from rejoinder.report.sections.names import system_badge, system_label
from rejoinder.report.tables import html_table
from rejoinder.scoring.table import CAUTION, ScoreTable
from rejoinder.stats.formatting import counted, interval_text, names_text, p_text, share_text, signed

MOST_COLUMNS = 6
"""Systems that fit next to each other; more are rows, and the metrics are columns."""
MOST_WITH_BOUNDS = 4
"""Systems up to which the table has room for intervals beside the means."""


def comparison_section(comparison: Comparison) -> Section:
    """Means by all metrics, one row per metric family, and people's estimated means where there are labels."""
    parts = [element("p", _reading(comparison), class_="intro")]
    if comparison.human is not None:
        parts.append(_human(comparison))
    parts.append(_means(comparison))
    return Section("The comparison", joined(parts), "Comparison")


def pairs_section(comparison: Comparison) -> Section:
    """Every pair of systems by every metric, with the test."""
    table = comparison.table
    header = [
        *("metric", "A", "B", "B − A [95 %]", term("p"), term("effect"), "B wins", "n"),
    ]
    rows = [
        [
            own_text(verdict.metric),
            *(_named(table, verdict, name) for name in (verdict.a, verdict.b)),
            interval_text(verdict.result.difference, sign=True),
            p_text(verdict.p_adjusted),
            signed(verdict.result.effect_size, 2),
            share_text(verdict.outcomes.wins),
            f"{verdict.n:,}",
        ]
        for verdict in comparison.verdicts
    ]
    intro = (
        "The better system of a significant difference is in bold. p-values are corrected with Holm's method: those of "
        "the primary metric for the number of pairs, those of the other metrics for all of their tests together. "
        "Intervals are not corrected."
    )
    body = [element("p", intro, class_="intro"), html_table(header, rows, caption="Pairs of systems", left=3)]
    title = f"All {counted(len(rows), 'test')}" if len(rows) > 1 else "The test"
    return Section(title, joined(body), "Tests", folded=True)


def slices_section(comparison: Comparison) -> Section:
    """The primary metric on the replies with each value of a field."""
    parts = []
    for name, values in comparison.slices.items():
        rows = [
            [
                value,
                *(_named(comparison.table, verdict, system) for system in (verdict.a, verdict.b)),
                interval_text(verdict.result.difference, sign=True),
                p_text(verdict.p_adjusted),
                f"{verdict.n:,}",
            ]
            for value, verdicts in values.items()
            for verdict in verdicts
        ]
        header = [own_text(name), "A", "B", "B − A [95 %]", term("p"), "n"]
        parts.append(html_table(header, rows, caption=f"Systems by {name}", left=3))
        parts.append(
            element("p", "p is corrected for all rows (Holm). ", CAUTION.format(count=len(rows)), class_="note")
        )
    return Section(f"By {names_text(list(comparison.slices))}", joined(parts), "Slices", folded=True)


def _named(table: ScoreTable, verdict: Verdict, name: str) -> Html:
    badge = system_badge(table.system_names.index(name), name)
    return element("strong", badge) if name == verdict.better else badge


def _reading(comparison: Comparison) -> str:
    metric = comparison.primary.metric
    if not comparison.decided:
        return f"{metric} cannot judge these replies, so that no system is marked as better by it."
    decided = "People decide." if comparison.human else f"{metric} decides ({comparison.primary.reason})."
    bold = "significantly better than the other" if _two(comparison) else "significantly better than all others"
    bounds = " 95 % intervals are in brackets." if len(comparison.table.system_names) <= MOST_WITH_BOUNDS else ""
    return (
        f"{decided} A mean in colour is {bold} by that metric; a plain one is not, even if it is the highest.{bounds}"
    )


def _two(comparison: Comparison) -> bool:
    return len(comparison.table.system_names) == 2


def _means(comparison: Comparison) -> Html:
    """One row per metric with a column per system, or the other way round where there are many systems."""
    table, systems = comparison.table, comparison.best_first
    labels = list(_representatives(comparison))
    cells = {(label, name): _mean(comparison, label, name) for label, _ in labels for name in systems}
    names = {label: _metric(comparison, label, variants) for label, variants in labels}
    badges = {name: system_badge(table.system_names.index(name), name) for name in systems}
    caption = "Mean score of each system by each metric"
    if len(systems) <= MOST_COLUMNS:
        rows = [[names[label], *(cells[label, name] for name in systems)] for label, _ in labels]
        labels_of = ["metric", *map(system_label, systems)]
        header = ["metric", *(badges[name] for name in systems)]
        return html_table(header, rows, caption=caption, class_="glance", stacked=labels_of)
    rows = [[badges[name], *(cells[label, name] for label, _ in labels)] for name in systems]
    labels_of = ["system", *(label for label, _ in labels)]
    return html_table(["system", *names.values()], rows, caption=caption, class_="glance", stacked=labels_of)


def _representatives(comparison: Comparison) -> Iterator[tuple[str, int]]:
    """The primary metric, then one label of every other family, with how many variants the family has."""
    table = comparison.table
    order = sorted(table.metrics, key=lambda label: label != comparison.primary.metric)
    sizes = Counter(map(table.family_of, order))
    for family in dict.fromkeys(map(table.family_of, order)):
        yield next(label for label in order if table.family_of(label) == family), sizes[family]


def _metric(comparison: Comparison, label: str, variants: int) -> Html:
    parts: list[object] = [own_text(label)]
    if comparison.table.higher_is_better.get(label, True) is False:
        parts.append(element("span", " ↓", title="lower is better"))
    if label == comparison.primary.metric and comparison.human is None and len(comparison.table.metrics) > 1:
        parts.append(element("small", " decides"))
    if variants > 1:
        parts.append(element("small", f" and {variants - 1} more"))
    return joined(parts)


def _mean(comparison: Comparison, label: str, system: str) -> Html:
    table = comparison.table
    cell, decimals = table.summary()[label][system], decimals_for(table[label])
    text = shown(cell.mean, decimals)
    own = [verdict for verdict in comparison.verdicts if verdict.metric == label and system in (verdict.a, verdict.b)]
    if all(verdict.better == system for verdict in own):
        mean = element("strong", text, class_="best")
    else:
        mean = element("span", text)
    if len(table.system_names) > MOST_WITH_BOUNDS or math.isnan(cell.high - cell.low):
        return mean
    bounds = f"[{shown(cell.low, decimals)}, {shown(cell.high, decimals)}]"
    return joined([mean, element("small", f" {bounds}", class_="bounds")])


def _human(comparison: Comparison) -> Html:
    """People's estimated means, best first."""
    human, table = comparison.human, comparison.table
    if human is None:
        return Html("")
    order = sorted(human.means, key=lambda name: -human.means[name].interval.estimate)
    rows = [
        [
            system_badge(table.system_names.index(name), name),
            interval_text(human.means[name].interval),
            f"{human.means[name].n_labelled:,}",
        ]
        for name in order
    ]
    header = ["system", f"estimated human mean ({human.dimension}) [95 %]", "labels"]
    caption = "Estimated human means"
    return element("div", html_table(header, rows or [[UNKNOWN] * 3], caption=caption, class_="glance"), class_="gap")

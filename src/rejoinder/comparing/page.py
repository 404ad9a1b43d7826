"""The report of a table of scores, as one HTML file.

    chosen = rows_to_show(table)
    examples = {row: example for row, example in enumerate(source) if row in chosen.needed}
    text = render_report(table, examples, chosen=chosen)

The same input gives the same file, byte for byte: it contains no time stamp or host name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rejoinder._version import __version__
from rejoinder.comparing.compare import compare_table
from rejoinder.comparing.comparison import Comparison
from rejoinder.comparing.verdict import Verdict
from rejoinder.errors import CallError, cut
from rejoinder.scoring.advice import meaning
from rejoinder.scoring.replies_page import (
    ChosenRows,
    Reasons,
    browse_data,
    browse_section,
    extremes_section,
    ranked_metrics,
    rows_to_show,
    why_section,
)
from rejoinder.scoring.table import CAUTION, Primary, ScoreTable, Summary
from rejoinder.show.figures import bins_for
from rejoinder.show.html import Section, explained, glossary, html_table, render_page, system_badge, system_label, term
from rejoinder.show.markup import UNKNOWN, Html, decimals_for, element, joined, own_text, shown, shown_interval
from rejoinder.show.plots import drawn, interval_plot
from rejoinder.show.text import (
    bounds_text,
    counted,
    inflected,
    interval_text,
    names_text,
    number_text,
    p_text,
    share_text,
    signed,
)
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import LARGE
from rejoinder.types import Example


def render_report(
    table: ScoreTable,
    examples: Mapping[int, Example] | None,
    *,
    title: str = "Reply scores",
    chosen: ChosenRows | None = None,
    comparison: Comparison | None = None,
    reasons: Reasons | None = None,
) -> str:
    """The report as one HTML file.

    `examples` maps row numbers to examples, for all of `rows_to_show(table).needed`; None leaves out the texts.
    `chosen` is the result of `rows_to_show`, needed where it was called with other arguments than its defaults.
    Without `comparison`, two or more systems are compared here, as `compare` does.
    `reasons` are shown beside the replies: see `reasons_of`.
    """
    if not table.metrics:
        raise CallError("a report needs the scores of at least one metric")
    if comparison is None and len(table.system_names) > 1:
        comparison = compare_table(table)
    primary = (comparison.primary if comparison else Primary.of(table, None, ())).metric
    chosen = chosen or rows_to_show(table, primary=primary)
    if examples is not None:
        check_texts(table, examples, chosen)
    notes = [*table.notes, *(comparison.notes if comparison else ())]
    sections = [
        *([comparison_section(comparison)] if comparison else []),
        *([slices_section(comparison)] if comparison and comparison.slices else []),
        *_replies(table, examples, chosen, primary, reasons or {}),
        distributions_section(table, primary),
        browse_section(table, examples, chosen),
        *([pairs_section(comparison)] if comparison else []),
        summary_section(table),
        signatures_section(table.signatures, notes, seed=table.seed, resamples=table.resamples),
    ]
    return render_page(
        title,
        sections,
        question=question_of(table.system_names),
        lead=_lead(table, comparison, primary, notes),
        data=browse_data(table, examples, chosen, reasons or {}, primary),
    )


def _replies(
    table: ScoreTable, examples: Mapping[int, Example] | None, chosen: ChosenRows, primary: str, reasons: Reasons
) -> list[Section]:
    why = why_section(table, examples, chosen, primary, reasons)
    extremes = extremes_section(table, examples, chosen, reasons, folded=len(table.system_names) > 1)
    return [why, extremes] if len(table.system_names) > 1 else [extremes, why]


def check_texts(table: ScoreTable, examples: Mapping[int, Example], chosen: ChosenRows) -> None:
    """Raise a CallError if the examples are not those that were scored."""
    for row in sorted(chosen.needed):
        if row not in examples:
            raise CallError(f"row {row + 1} of the {len(table):,} scored replies is missing from the replies")
        if table.ids and table.ids[row] != examples[row].id:
            raise CallError(
                f"these are not the replies that were scored: row {row + 1} is {table.ids[row]!r} in the scores "
                f"and {examples[row].id!r} in the replies"
            )


def _lead(table: ScoreTable, comparison: Comparison | None, primary: str, notes: Sequence[str]) -> Html:
    counts = [
        (len(table), "reply", "replies"),
        (len(table.system_names), "system", "systems"),
        (len(table.metrics), "metric", "metrics"),
    ]
    if comparison is not None:
        sentences = [*comparison.headline(), *meaning(table, told=primary)]
        figure = standing_figure(table, primary, comparison.best_first)
    else:
        sentences = [*_level(table, primary), *meaning(table)]
        figure = standing_figure(table, primary)
    return joined([answer(sentences, figure), run_facts(counts, table.seed), notes_hint(notes)])


def _level(table: ScoreTable, label: str) -> list[str]:
    """What one system's mean is, in words."""
    cell = next(iter(table.summary()[label].values()), None)
    if cell is None or not cell.n:
        return ["No reply could be scored."]
    limits = table.limits(label)
    scale = "" if limits is None else f" on a scale from {limits[0]:g} to {limits[1]:g}"
    bounds = "" if cell.low != cell.low else f" {bounds_text(Interval(cell.mean, cell.low, cell.high))}"
    direction = "" if table.higher_is_better.get(label, True) else ", lower is better"
    return [
        f"The mean {label} is {number_text(cell.mean)}{bounds}{scale}{direction}.",
        "There is only one system: whether it is good shows in comparison, with another version (`rejoinder compare`) "
        "or with people's ratings (`rejoinder trust`).",
    ]


# Means with their intervals: a figure and a table per metric.


def summary_section(table: ScoreTable) -> Section:
    """Means, spreads and intervals of every system by every metric."""
    cards = element("div", *(_card(table, label) for label in table.metrics), class_="panels")
    body = joined([element("p", _method(table), class_="intro"), cards])
    return Section("Means by metric", body, "Means", folded=True)


def direction(table: ScoreTable, label: str) -> str:
    """Whether higher or lower scores of the metric are better."""
    if label not in ranked_metrics(table):
        return "neither higher nor lower is better"
    return "higher is better" if table.higher_is_better.get(label, True) else "lower is better"


def _method(table: ScoreTable) -> str:
    method = f"95 % intervals, by bootstrap over replies ({table.resamples:,} resamples, seed {table.seed})"
    sizes = [len(table.rows_of(system)) for system in table.system_names]
    if any(size >= LARGE for size in sizes):
        method += f"; by the normal approximation for systems with {LARGE:,} replies or more"
    return f"{method}. Replies that a metric could not score are left out of its mean."


def _card(table: ScoreTable, label: str) -> Html:
    cells = table.summary()[label]
    decimals = decimals_for(table[label])
    intervals = [(system_label(name), Interval(cell.mean, cell.low, cell.high)) for name, cell in cells.items()]
    heading = element("h3", own_text(label), " ", element("small", direction(table, label)))
    figure = interval_plot(intervals, label=f"Mean {label} of each system with its interval", decimals=decimals)
    return element("article", heading, figure, _numbers(table, label, decimals), class_="panel")


def _numbers(table: ScoreTable, label: str, decimals: int) -> Html:
    cells = table.summary()[label]
    with_corpus = any(_differs(cell) for cell in cells.values())
    header = [
        "system",
        "mean",
        "95 % interval",
        element("abbr", "sd", title="standard deviation of the scores"),
        *(["corpus"] if with_corpus else []),
        "scored",
    ]
    rows = []
    for number, (name, cell) in enumerate(cells.items()):
        corpus = [shown(cell.corpus, decimals)] if with_corpus else []
        interval = shown_interval(cell.low, cell.high, decimals)
        numbers = [shown(cell.mean, decimals), interval, shown(cell.std, decimals), *corpus, f"{cell.n:,}"]
        rows.append([system_badge(number, name), *numbers])
    return html_table(header, rows, caption=f"{label}: mean, interval, standard deviation", class_="compact")


def _differs(cell: Summary) -> bool:
    """Whether the metric's own corpus-level score differs from the mean."""
    return not math.isclose(cell.corpus, cell.mean, rel_tol=1e-9, abs_tol=1e-12) and not math.isnan(cell.corpus)


# The distribution of each metric's scores: one histogram per system, on a common axis.


DISTRIBUTIONS_INTRO = (
    "There is one histogram per system. The height of a bar is its share of that system's replies, on the same scale "
    "for all systems; the triangle marks the mean."
)


def distributions_section(table: ScoreTable, primary: str) -> Section:
    """One figure per metric, the primary one first, with the number of replies that could not be scored."""
    others = [label for label in table.metrics if label != primary]
    parts = [element("div", _panel(table, primary), element("p", DISTRIBUTIONS_INTRO, class_="intro"), class_="panels")]
    if others:
        panels = element("div", *(_panel(table, label) for label in others), class_="panels")
        parts.append(element("details", element("summary", counted(len(others), "other metric")), panels))
    return Section("Distributions of scores", joined(parts), "Distributions")


def _panel(table: ScoreTable, label: str) -> Html:
    column = table[label]
    heading = element("h3", own_text(label), " ", element("small", direction(table, label)))
    figure = drawn(table.histogram_panel(label))
    caption = element("figcaption", " ".join(filter(None, [missing(table, label), _beyond(column, label, table)])))
    return element("article", heading, element("figure", figure, caption), class_="panel")


def missing(table: ScoreTable, label: str) -> str:
    """A sentence on how many replies of which system the metric could not score."""
    counts = {system_label(name): int(np.isnan(table[label][table.rows_of(name)]).sum()) for name in table.system_names}
    total = sum(counts.values())
    if not total:
        return "All replies were scored."
    by_system = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
    return f"{counted(total, 'reply', 'replies')} could not be scored: {by_system}."


def _beyond(column: np.ndarray, label: str, table: ScoreTable) -> str:
    bins = bins_for(column)
    if not bins.beyond:
        return ""
    edge = shown(float(bins.edges[-1]), decimals_for(table[label]))
    return f"The last bar includes {counted(bins.beyond, 'reply', 'replies')} above {edge}."


# The top of a report: the question, its answer in words, and a figure that shows it.
#
# The words are those of the terminal and of JSON: `Comparison.headline`, `MetaReport.headline`, `meaning`.


LONGEST_SENTENCE = 700
MOST_PLOTTED = 12
"""Systems in the figure at the top; all are in the table below."""


def question_of(systems: Sequence[str]) -> str:
    """What a report about these systems answers."""
    if len(systems) < 2:
        return "How good are the replies?"
    if len(systems) == 2:
        return f"Which is better: {system_label(systems[0])} or {system_label(systems[1])}?"
    return f"Which of the {len(systems)} systems is best?"


def answer(sentences: Sequence[str], figure: Html | None = None) -> Html:
    """The first sentence large, the others below it, and a figure beside them."""
    first, *others = explained(cut(sentence, LONGEST_SENTENCE) for sentence in sentences)
    words = [element("p", first, class_="answer", dir="auto")]
    if others:
        words.append(element("ul", *(element("li", sentence, dir="auto") for sentence in others), class_="because"))
    return element("div", element("div", *words), figure or Html(""), class_="verdict")


def standing_figure(table: ScoreTable, label: str, order: Sequence[str] | None = None) -> Html:
    """The mean of each system by one metric with its interval, in the given order."""
    systems = list(order or table.system_names)[:MOST_PLOTTED]
    figure = drawn(table.means_panel(label, systems))
    lower = "" if table.higher_is_better.get(label, True) else ", lower is better"
    more = len(table.system_names) - len(systems)
    rest = f" The {more} others are in the table below." if more > 0 else ""
    caption = element("figcaption", f"Means with 95 % intervals{lower}.{rest}")
    return element("figure", element("h2", "Mean ", own_text(label)), figure, caption, class_="panel")


# Where the numbers come from: metric signatures, version, random seed, and notes for the reader.


SIGNATURES_INTRO = (
    "A signature contains everything that determines a number. Quote it with the number, so that others can reproduce "
    "it."
)


def signatures_section(signatures: Mapping[str, str], notes: Sequence[str], *, seed: int, resamples: int) -> Section:
    """The signature of each metric, and the notes."""
    rows = [[own_text(label), element("code", signature)] for label, signature in signatures.items()]
    table = html_table(["metric", "signature"], rows, caption="Signatures", left=2, class_="signatures")
    run = f"Made with rejoinder {__version__}, seed {seed}, {resamples:,} resamples."
    terms = joined([element("h3", "Terms on this page"), glossary()])
    parts = [_notes(notes), element("p", SIGNATURES_INTRO, class_="intro"), table, element("p", run), terms]
    return Section("Notes, signatures and terms", joined(parts), "Notes", folded=True)


def run_facts(counts: Sequence[tuple[int, str, str]], seed: int) -> Html:
    """The counts (number, noun, plural), the random seed and the version in one line, at the top of a report."""
    facts = [f"{count:,} {inflected(count, noun, plural)}" for count, noun, plural in counts]
    return element("p", " · ".join([*facts, f"seed {seed}", f"rejoinder {__version__}"]), class_="run")


def notes_hint(notes: Sequence[str]) -> Html:
    """The line at the top of a report that points to its notes; empty where there are none."""
    if not notes:
        return Html("")
    return element("p", f"{counted(len(notes), 'note')} at the end of this page.", class_="note")


def _notes(notes: Sequence[str]) -> Html:
    if not notes:
        return element("p", "There were no warnings.")
    entries = [element("li", note, dir="auto") for note in notes]
    return joined([element("h3", "Notes"), element("ul", *entries, class_="notes")])


# The comparison of systems: the primary metric's standings, and what every other metric shows.


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

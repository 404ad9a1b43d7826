"""The top of a report: the question, its answer in words, and a figure that shows it.

The words are those of the terminal and of JSON: `Comparison.headline`, `MetaReport.headline`, `meaning`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.errors import cut
from rejoinder.figures.markup import Html, element, own_text
from rejoinder.figures.plots import drawn
from rejoinder.report.glossary import explained
from rejoinder.report.sections.names import system_label
from rejoinder.scoring.table import ScoreTable

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

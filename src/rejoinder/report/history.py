"""The history of releases as one HTML file: a figure and a table per metric."""

from __future__ import annotations

from rejoinder.figures.markup import element, joined
from rejoinder.figures.plots import interval_plot
from rejoinder.meta.history.history import History
from rejoinder.report.page import Section, render_page
from rejoinder.report.sections.agreement import spaced
from rejoinder.report.tables import html_table


def render_history(history: History, title: str) -> str:
    """The whole HTML file."""
    sections = []
    for label in history.metrics:
        entries = history.entries[label]
        # Releases that were scored with different signatures have different colours.
        series, colours = 0, []
        for entry in entries:
            series += entry.broken
            colours.append(series)
        figure = interval_plot(
            [(entry.release.name, entry.interval) for entry in entries],
            label=f"Mean {label} of each release with its 95 % interval",
            series=colours,
        )
        header = ["release", "recorded", "replies", "mean, 95 % interval", "change from the release before"]
        table = html_table(header, history.rows(label), caption=f"Releases by {label}", class_="glance")
        sections.append(Section(label, joined([figure, spaced(table)])))
    notes = [element("p", note, class_="note") for note in history.notes]
    lead = joined([element("p", history.headline(), dir="auto"), *notes])
    return render_page(title, sections, question="How good is each release?", lead=lead)

"""A plan as one HTML file: the recommendation, the curve, and the table of contexts."""

from __future__ import annotations

from rejoinder.figures.markup import element, joined
from rejoinder.meta.planning.result import Plan
from rejoinder.report.page import Section, render_page
from rejoinder.report.panels import panel_grid
from rejoinder.report.sections.agreement import spaced
from rejoinder.report.tables import html_table


def render_plan(plan: Plan) -> str:
    """The whole HTML file."""
    header, rows = plan.needed_table()
    table = html_table(header, rows, caption="Contexts needed, by the difference to detect", class_="glance")
    notes = [element("li", note, dir="auto") for note in plan.notes]
    sections = [
        Section("Smallest difference that is detected", panel_grid([plan.panel()]), "Curve"),
        Section("Contexts needed", joined([spaced(table), element("ul", *notes) if notes else ""])),
    ]
    lead = joined([element("p", plan.recommendation(), dir="auto"), element("p", plan.spread_text(), dir="auto")])
    return render_page("Plan of an evaluation", sections, lead=lead)

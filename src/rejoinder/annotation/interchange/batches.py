"""CSV for Mechanical Turk batches and for forms: one row per item, and the answers of a results file.

Mechanical Turk puts the columns of the batch into `Input.NAME` and the answers into `Answer.NAME`, or, for radio
buttons of its own elements, into `Answer.NAME.VALUE` with `true`. Tables of other forms have the columns `item`, the
rater and the questions by their names.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from rejoinder.annotation.interchange.results import offered, point_text, turns
from rejoinder.annotation.items import Item
from rejoinder.annotation.store import Answer
from rejoinder.annotation.study import Question, Study
from rejoinder.errors import DataError

_ITEM = ("Input.item", "item")
_RATER = ("WorkerId", "PROLIFIC_PID", "Participant id", "rater")


def batch(study: Study, items: Mapping[str, Item]) -> str:
    """One row per item. Every text begins with who says it, so that no spreadsheet takes it for a formula."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\r\n")
    writer.writerow(["item", "context", "reply"])
    for item in offered(study, items):
        context = "\n".join(f"{who}: {text}" for who, text in turns(item))
        writer.writerow([item.id, context, f"Replier: {item.replies[0]}"])
    return table.getvalue()


def results(study: Study, path: Path) -> Iterator[Answer]:
    """The answers of a results file; rejected assignments are left out."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
    except (ValueError, csv.Error) as error:
        raise DataError(f"is not a CSV table ({error})", file=str(path)) from error
    for number, row in enumerate(rows, 2):
        if row.get("AssignmentStatus") == "Rejected":
            continue
        item, rater = (next((row[name] for name in names if row.get(name)), "") for names in (_ITEM, _RATER))
        if not item or not rater:
            missing = " or ".join(_RATER if item else _ITEM)
            raise DataError(f"row {number} has no {missing}", file=str(path))
        seconds = row.get("WorkTimeInSeconds") or "0"
        for question in study.questions:
            if value := _value(row, question):
                yield Answer(rater, item, question.name, value, float(seconds) if seconds.isdecimal() else 0.0, 0.0)


def _value(row: Mapping[str, str], question: Question) -> str:
    for name in (f"Answer.{question.name}", question.name):
        if row.get(name):
            return point_text(row[name])
    ticked = [
        point for point in question.points if (row.get(f"Answer.{question.name}.{point}") or "").lower() == "true"
    ]
    return str(ticked[0]) if len(ticked) == 1 else ""

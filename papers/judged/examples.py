"""Replies shown with their contexts, references and all their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from papers.documents import Document, quoted
from rejoinder.arrays import Bools, Ints
from rejoinder.data.judged import JudgedSet
from rejoinder.show.text import number_text
from rejoinder.types import Scores


def first_of_contexts(judged: JudgedSet, rows: Sequence[int] | Ints, most: int) -> list[int]:
    """The first of the rows, at most one per context."""
    chosen: dict[int, int] = {}
    for row in rows:
        chosen.setdefault(int(judged.contexts[row]), int(row))
    return list(chosen.values())[:most]


def disagreements(first: Scores, second: Scores, eligible: Bools) -> Ints:
    """Eligible rows, by how much higher the first ranks them than the second, most first."""
    gaps = np.where(eligible, _ranks(first) - _ranks(second), -np.inf)
    order = np.argsort(-gaps, kind="stable")
    return order[np.isfinite(gaps[order])]


def _ranks(scores: Scores) -> Scores:
    from rejoinder.stats.correlation import midranks

    return midranks(np.nan_to_num(scores, nan=float(np.nanmin(scores)))) / len(scores)


def add_examples(
    document: Document, judged: JudgedSet, human: Scores, columns: Mapping[str, Scores], rows: Sequence[int]
) -> None:
    """One row per reply: its texts, people's mean rating, and every score."""
    cells = [
        [
            quoted(judged.examples[row].context[-1] if judged.examples[row].context else ""),
            quoted(" / ".join(judged.examples[row].references[:1])),
            quoted(judged.examples[row].response),
            number_text(float(human[row]), 2),
            *(number_text(float(column[row]), 2) for column in columns.values()),
        ]
        for row in rows
    ]
    if not cells:
        document.text("There is no such reply.")
        return
    document.table(["last turn", "reference", "reply", "people", *columns], cells)

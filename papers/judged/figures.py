"""Scatter plots of a few hundred replies, and tables of studies, for the pages on judged sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.documents import Document
from rejoinder.arrays import Ints
from rejoinder.show.plots import scatter
from rejoinder.stats.raters import half_means
from rejoinder.trusting.probing import TableResult, cell_text
from rejoinder.types import Scores

MOST_DOTS = 250
JITTER = 0.3
"""Standard deviation of the noise on the human axis in Lowe et al. 2017."""


def some_rows(count: int) -> Ints:
    """All rows, or a random sample of them in order."""
    if count <= MOST_DOTS:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, MOST_DOTS, replace=False))


def against_people(name: str, scores: Scores, human: Scores) -> str:
    """One dot per reply: the score, and the human rating with noise."""
    rows = some_rows(len(human))
    return scatter(
        human[rows], scores[rows], label=f"{name} against people", x_label="people", y_label=name, jitter=(JITTER, 0)
    )


def people_against_people(ratings: Scores) -> str:
    """One dot per reply: the mean ratings of two random halves of its raters."""
    first, second = half_means(ratings, n_splits=1, within_items=True)
    rows = some_rows(len(first))
    return scatter(
        first[rows, 0],
        second[rows, 0],
        label="one half of the raters against the other",
        x_label="one half of the raters",
        y_label="the other half",
        jitter=(JITTER, JITTER),
    )


def add_study(document: Document, result: TableResult | None, columns: Sequence[str] = ()) -> None:
    """The table of a study, or some of its columns, and its findings."""
    if result is None:
        document.text("There are too few replies for it.")
        return
    places = [result.header.index(name) for name in columns or result.header]
    rows = [[cell_text(row[place]) for place in places] for row in result.rows]
    document.table([result.header[place] for place in places], rows)
    document.text("\n".join(f"- {finding}" for finding in result.sentences))

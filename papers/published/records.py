"""The record of a paper: a citation, tables of numbers, and a list of all its tables and figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from rejoinder.errors import UnknownNameError


class Correlations(NamedTuple):
    """Agreement with people, as a paper prints it."""

    pearson: float
    spearman: float

    def text(self, digits: int = 2, between: str = " / ") -> str:
        """`0.32 / 0.29`."""
        return f"{self.pearson:.{digits}f}{between}{self.spearman:.{digits}f}"


class State(Enum):
    """Whether a table or figure can be reproduced."""

    SAME_DATA = "reproducible here"
    OTHER_DATA = "on other data"
    NOT_PUBLIC = "data no longer public"
    NOTHING_MEASURED = "nothing measured"
    """A diagram, an invented example or a list of settings."""


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """The numbers of one table, as printed.

    A column is called `Pearson`, or `Twitter: Pearson` where the table has several groups of columns. NaN stands for
    an empty cell.
    """

    source: str
    """Authors, year and table: `Lowe et al. 2017, Table 3`."""
    columns: tuple[str, ...]
    rows: Mapping[Any, tuple[float, ...]]
    """Row -> one number per column."""

    def __post_init__(self) -> None:
        wrong = [row for row, values in self.rows.items() if len(values) != len(self.columns)]
        if wrong:
            raise ValueError(f"{self.source}: row {wrong[0]!r} does not have {len(self.columns)} values")

    def column(self, name: str) -> dict[Any, float]:
        """Row -> its number in a column, without empty cells."""
        if name not in self.columns:
            raise UnknownNameError(f"column of {self.source}:", name, self.columns)
        place = self.columns.index(name)
        return {row: values[place] for row, values in self.rows.items() if not math.isnan(values[place])}

    def correlations(self, group: str = "") -> dict[Any, Correlations]:
        """Row -> Pearson and Spearman of a group of columns, for the rows that have both."""
        start = f"{group}: " if group else ""
        pearson, spearman = (self.column(f"{start}{kind}") for kind in ("Pearson", "Spearman"))
        return {row: Correlations(pearson[row], spearman[row]) for row in pearson if row in spearman}


@dataclass(frozen=True, eq=False)
class Item:
    """A table or figure of a paper, and whether it can be reproduced."""

    number: str
    """`Table 3`, `Figure 1`."""
    title: str
    state: State
    data: str
    """Which data ours is measured on, or why nothing can be."""
    page: str = ""
    """The page of docs/results that shows it; empty if nothing can be measured."""
    section: str = ""
    """The section of that page."""
    table: PublishedTable | None = None
    """The numbers, if they are recorded here."""

    def key(self, paper: Paper) -> str:
        """Its name on the command line: `adem-table-3`."""
        return f"{paper.key}-{self.number.lower().replace(' ', '-')}"


@dataclass(frozen=True, eq=False)
class Paper:
    """A paper with all its tables and figures."""

    key: str
    authors: str
    """As it is cited: `Lowe et al. 2017`."""
    title: str
    items: tuple[Item, ...]

    def items_by_key(self) -> dict[str, Item]:
        """Key -> table or figure."""
        return {item.key(self): item for item in self.items}

"""What a result is made of, whatever shows it: blocks in reading order, and the base class of all results.

A class that derives from `Result` writes its verdict, its document and its dictionary. The forms of a document are
written once each: terminal, Markdown and LaTeX in `show/forms`, a page in `show/html`.
"""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rejoinder.errors import CallError, UnknownNameError
from rejoinder.folders.outputs import reserved_file, write_text
from rejoinder.show.markup import Html
from rejoinder.show.text import (
    NOTEBOOK_WIDTH,
    interval_text,
    number_text,
    one_line,
    p_text,
    share_text,
    signed,
    text_html,
    wrapped,
)
from rejoinder.stats.intervals import Interval

if TYPE_CHECKING:
    import polars

    from rejoinder.show.figures import Panel
    from rejoinder.show.plots import Figure

Form = Literal["text", "markdown", "latex", "html"]
ALL_FORMS: tuple[Form, ...] = ("text", "markdown", "latex", "html")
TERMINAL: tuple[Form, ...] = ("text", "markdown")
PAGE: tuple[Form, ...] = ("html",)
NOT_LATEX: tuple[Form, ...] = ("text", "markdown", "html")

# Cells of tables: values, which each form shows in its way.


class PValue(float):
    """A float that is shown as a p-value."""

    __slots__ = ()


class Share(float):
    """A float from 0 to 1 that is shown as a percentage."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SystemName:
    """The name of a system, with the number of its colour."""

    name: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Marked:
    """A cell that is significantly better than others: bold, or with an asterisk where there is no bold."""

    cell: Cell
    starred: bool = True
    """Whether the terminal shows an asterisk; False where another column says the same."""


Cell = str | int | float | Interval | SystemName | Marked | None
"""Text, a count, a number, an interval, a system, or nothing."""


@dataclass(frozen=True, slots=True)
class Column:
    """The name of a column, and how its numbers are shown."""

    name: str | SystemName
    digits: int | None = None
    """Decimals; None: three, or as many as an interval needs."""
    bounds: int | None = None
    """Decimals of the bounds of intervals; None: those of the estimate."""
    sign: bool = False
    """Whether numbers above 0 have a plus sign."""
    full: bool = False
    """Whether the terminal shows the column with `details` only."""
    only: tuple[Form, ...] = ALL_FORMS
    key: str = ""
    """Its name in data frames; by default made of `name`."""

    @property
    def label(self) -> str:
        """The name as text."""
        return self.name.name if isinstance(self.name, SystemName) else self.name

    def text(self, cell: Cell) -> str:
        """A cell as text; NaN is a dash."""
        if isinstance(cell, Marked):
            return self.text(cell.cell)
        if isinstance(cell, SystemName):
            return cell.name
        if isinstance(cell, Interval):
            return interval_text(cell, self.digits, self.bounds, sign=self.sign)
        if isinstance(cell, PValue):
            return p_text(cell)
        if isinstance(cell, Share):
            return share_text(cell)
        if isinstance(cell, float):
            return (
                signed(cell, self.digits) if self.sign else number_text(cell, 3 if self.digits is None else self.digits)
            )
        return "" if cell is None else f"{cell:,}" if isinstance(cell, int) else cell


def text_columns(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> int:
    """How many of the first columns hold text, at least one: forms with rules for columns have them flush left."""
    for place in range(1, len(columns)):
        if any(isinstance(_bare(row[place]), int | float | Interval) for row in rows):
            return place
    return max(1, len(columns))


def _bare(cell: Cell) -> Cell:
    return cell.cell if isinstance(cell, Marked) else cell


# Blocks.


@dataclass(frozen=True, slots=True)
class VerdictText:
    """The verdict: the first sentence stands out, the others explain it."""

    sentences: Sequence[str]
    figure: Panel | None = None
    """Beside it, on a page."""
    caption: str = ""
    more: Sequence[str] = ()
    """Further sentences, on a page only."""
    visible: int | None = None
    """How many of the sentences a page shows at once; the others are folded. None: all."""
    next_step: str = ""
    """What to do next, on a page only."""
    fit: bool = True
    """Whether lines are filled to the width of the terminal."""
    only: tuple[Form, ...] = ALL_FORMS
    full: bool = False


@dataclass(frozen=True, slots=True)
class Say:
    """Some sentences: a paragraph, or with `lines` a list of them."""

    sentences: Sequence[str]
    lines: bool = False
    fit: bool = True
    tight: bool = False
    """Whether it follows what is before it without an empty line."""
    only: tuple[Form, ...] = ALL_FORMS
    full: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values under named columns."""

    columns: Sequence[Any]
    """Columns, or names of columns that are shown as usual."""
    rows: Sequence[Sequence[Any]]
    """Cells, one for each column."""
    title: str = ""
    note: str = ""
    """Below the table."""
    left: int = 1
    """Columns that are flush left in the terminal, and repeated where the table is too wide for it."""
    fit: bool = True
    ruled: bool = True
    """Whether the terminal has a line below the header."""
    tight: bool = False
    only: tuple[Form, ...] = ALL_FORMS
    full: bool = False
    """Whether the terminal shows it with `details` only."""
    main: bool = False
    """Whether data frames are made of it, and not of the first table."""

    @property
    def named_columns(self) -> list[Column]:
        """The columns."""
        return [column if isinstance(column, Column) else Column(column) for column in self.columns]

    def shown_in(self, form: Form, *, details: bool = True) -> tuple[list[Column], list[list[Cell]]]:
        """The columns that a form shows, and their cells, row by row."""
        columns = self.named_columns
        kept = [at for at, one in enumerate(columns) if form in one.only and (details or not one.full)]
        return [columns[at] for at in kept], [[row[at] for at in kept] for row in self.rows]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with their values."""

    facts: Mapping[str, Any]
    only: tuple[Form, ...] = ALL_FORMS
    full: bool = False
    tight: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures, on a page; `captions` are below them, one for each."""

    panels: Sequence[Panel]
    captions: Sequence[str] = ()
    only: tuple[Form, ...] = PAGE
    full: bool = False


@dataclass(frozen=True, slots=True)
class ReplyTexts:
    """Single replies with their texts, on a page: sections, and the data of its scripts, made when they are needed."""

    render: Callable[[], tuple[Sequence[Section], Html]]
    only: tuple[Form, ...] = PAGE
    full: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks with a title, which pages and Markdown show. `Html` within it is shown by pages."""

    title: str
    blocks: Sequence[Block | Html]
    short: str = ""
    """A shorter title for the page's menu."""
    folded: bool = False
    """Whether only the title is visible until the reader opens the section."""
    only: tuple[Form, ...] = ALL_FORMS
    full: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """Blocks that are made when a form shows them, and not for the others."""

    make: Callable[[], Sequence[Block]]
    only: tuple[Form, ...] = PAGE
    full: bool = False

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks, made anew."""
        return self.make()


Block = VerdictText | Say | Table | Facts | Figures | ReplyTexts | Section | Made


@dataclass(frozen=True, slots=True)
class Document:
    """All that is to be shown of a result."""

    title: str
    """What it is about."""
    blocks: Sequence[Block]
    question: str = ""
    """What it answers."""
    counts: Sequence[tuple[int, str, str]] = ()
    """What went into it: a number with its noun in both forms."""
    signatures: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    resamples: int = 0

    def shown_in(self, form: Form, *, details: bool = True) -> Iterator[Block]:
        """The blocks that a form shows, outside of sections."""
        yield from _shown(self.blocks, form, details=details)

    @property
    def tables(self) -> list[Table]:
        """All tables, those that data frames are made of first."""
        found = [block for block in _shown(self.blocks, None, details=True) if isinstance(block, Table)]
        return sorted(found, key=lambda table: not table.main)

    @property
    def panels(self) -> list[Panel]:
        """All figures, the one beside the verdict first."""
        blocks = [*_shown(self.blocks, "html", details=True)]
        first = [block.figure for block in blocks if isinstance(block, VerdictText) and block.figure]
        return first + [panel for block in blocks if isinstance(block, Figures) for panel in block.panels]


def _shown(blocks: Sequence[Block | Html], form: Form | None, *, details: bool) -> Iterator[Block]:
    """The blocks of a form (None: of any), outside of sections."""
    for block in blocks:
        if isinstance(block, Html) or (form and form not in block.only) or (block.full and not details):
            continue
        if isinstance(block, Section | Made):
            yield from _shown(block.blocks, form, details=details)
        else:
            yield block


# The base class of results.


class Result(ABC):
    """What a verb returns: a verdict, what to know about it, and its document in every form."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know."""
        return ()

    @property
    def sentences(self) -> Sequence[str]:
        """The verdict, one sentence each."""
        return ()

    @property
    def verdict(self) -> str:
        """The answer in sentences; "" where the result answers no question."""
        return " ".join(self.sentences)

    @property
    def decided(self) -> bool:
        """Whether the scores can carry the verdict."""
        return True

    def without_texts(self) -> Result:
        """The same result, whose report has no texts of replies."""
        return self

    @abstractmethod
    def document(self) -> Document:
        """The blocks in reading order."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values; an unknown number is None."""

    @property
    def answer(self) -> dict[str, Any]:
        """What the dictionary of every result with a verdict has."""
        return {"decided": self.decided, "verdict": self.verdict, "notes": list(self.notes)}

    def text(self, width: int = 80, *, details: bool = False) -> str:
        """The result as a terminal shows it; with `details`, all that there is."""
        from rejoinder.show.forms import terminal_text

        return terminal_text(self.document(), width, details=details)

    def to_markdown(self) -> str:
        """The result with its notes in Markdown."""
        from rejoinder.show.forms import markdown

        return markdown(self.document(), self.notes)

    def to_latex(self) -> str:
        """Its tables for a paper, with booktabs; the best values are in bold. What is not decided stands above them."""
        from rejoinder.show.forms import latex

        return latex(self.document(), "" if self.decided else self.sentences[0])

    def to_polars(self) -> polars.DataFrame:
        """The main table, one column per value: an interval has three."""
        import polars as pl

        columns: dict[str, list[Any]] = {}
        for table in self.document().tables[:1]:
            for place, column in enumerate(table.named_columns):
                name = column.key or re.sub(r"\W+", "_", column.label).strip("_").lower() or f"column_{place + 1}"
                columns |= _frame_columns(name, [row[place] for row in table.rows])
        return pl.DataFrame(columns, strict=False)

    def plot(self, what: str | None = None) -> Figure:
        """The first figure of the report, or the one that has this title; a notebook shows it, `save` writes an SVG."""
        from rejoinder.show.plots import Figure

        panels = self.document().panels
        by_title = {panel.title: panel for panel in panels}
        if not panels:
            raise CallError(f"a {type(self).__name__} has no figure")
        if what is not None and what not in by_title:
            raise UnknownNameError("figure", what, by_title)
        panel = panels[0] if what is None else by_title[what]
        return Figure.of(panel.title, [panel])

    def page(self, *, texts: bool = True, title: str = "") -> str:
        """The report as one HTML file; without `texts`, no texts of replies are in it."""
        from rejoinder.show.html import document_page

        document = (self if texts else self.without_texts()).document()
        return document_page(replace(document, title=title or document.title), self.notes)

    def report(self, path: str | Path, *, texts: bool = True) -> Path:
        """Write the report as one HTML file; without `texts`, no texts of replies are in it."""
        with reserved_file(path, (".html",)) as target:
            assert target is not None
            write_text(target, self.page(texts=texts))
            return target

    def told(self, width: int = 80) -> str:
        """The text, followed by the notes."""
        notes = "\n".join(wrapped(f"Note: {note}", width) for note in self.notes)
        return "\n\n".join(filter(None, [self.text(width), notes]))

    def __str__(self) -> str:
        return self.told()

    def __repr__(self) -> str:
        about = self.verdict or self.document().title
        return f"<{type(self).__name__}: {one_line(about, 100)}>"

    def _repr_html_(self) -> str:
        return text_html(self.told(NOTEBOOK_WIDTH))


def _frame_columns(name: str, cells: list[Cell]) -> dict[str, list[Any]]:
    """The columns of a data frame for one of a table."""
    plain = [*map(_bare, cells)]
    if any(isinstance(cell, Interval) for cell in plain):
        bounds = [(one.estimate, one.low, one.high) if isinstance(one, Interval) else (None,) * 3 for one in plain]
        names = (name, f"{name}_low", f"{name}_high")
        return {each: [_known(row[place]) for row in bounds] for place, each in enumerate(names)}
    if any(isinstance(cell, int | float) for cell in plain):
        return {name: [_known(cell) if isinstance(cell, int | float) else None for cell in plain]}
    return {name: [cell.name if isinstance(cell, SystemName) else cell for cell in plain]}


def _known(value: float | None) -> float | None:
    return None if value is None or value != value else value if isinstance(value, int) else float(value)


def renamed(old: str, new: str) -> None:
    """Warn that a name has changed."""
    warnings.warn(f"{old} is now {new}, and will be gone in 0.3", FutureWarning, stacklevel=3)

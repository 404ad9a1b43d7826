"""A document as terminal text, as Markdown and as LaTeX, each written once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rejoinder.show.document import (
    Block,
    Cell,
    Column,
    Document,
    Facts,
    Made,
    Marked,
    Say,
    Section,
    Table,
    VerdictText,
    text_columns,
)
from rejoinder.show.markup import Html
from rejoinder.show.text import grid, latex_safe, latex_table, one_line, terminal_safe, width, wrapped

# Text for the terminal.


def terminal_text(document: Document, columns: int, *, details: bool = False) -> str:
    """The blocks below each other, in lines of at most so many columns."""
    parts: list[str] = []
    for block in document.shown_in("text", details=details):
        text = _block_text(block, columns, details=details)
        if text and parts and getattr(block, "tight", False):
            parts[-1] = f"{parts[-1]}\n{text}"
        elif text:
            parts.append(text)
    return "\n\n".join(parts)


def _block_text(block: Block, columns: int, *, details: bool) -> str:
    if isinstance(block, VerdictText):
        first, others = block.sentences[0], block.sentences[1:]
        if not block.fit:
            return _filled(" ".join(block.sentences), columns, fit=False)
        return "\n\n".join(wrapped(text, columns) for text in filter(None, (first, " ".join(others))))
    if isinstance(block, Say):
        paragraphs = block.sentences if block.lines else [" ".join(block.sentences)]
        return "\n".join(_filled(text, columns, fit=block.fit) for text in paragraphs)
    if isinstance(block, Facts):
        room = max(map(width, block.facts)) + 2
        return "\n".join(
            f"{name}{' ' * (room - width(name))}{terminal_safe(Column(name).text(value))}"
            for name, value in block.facts.items()
        )
    if isinstance(block, Table):
        shown, rows = block.shown_in("text", details=details)
        cells = [[_starred(column, cell) for column, cell in zip(shown, row, strict=True)] for row in rows]
        table = grid(
            [column.label for column in shown],
            cells,
            left=block.left,
            fit=columns if block.fit else None,
            ruled=block.ruled,
        )
        around = [_filled(text, columns, fit=block.fit) if text else "" for text in (block.title, block.note)]
        return "\n".join(filter(None, (around[0], table, around[1])))
    return ""


def _filled(text: str, columns: int, *, fit: bool) -> str:
    return wrapped(text, columns) if fit else one_line(text)


def _starred(column: Column, cell: Cell) -> str:
    text = column.text(cell)
    return f"{text}*" if isinstance(cell, Marked) and cell.starred else text


# Markdown.


def markdown(document: Document, notes: Sequence[str]) -> str:
    """The document under a heading, followed by the notes."""
    parts = [f"# {_escaped(document.question or document.title)}", *_markdown_blocks(document.blocks, 2)]
    if notes:
        parts.append("\n".join(["Notes:", "", *(f"- {_escaped(note)}" for note in notes)]))
    return "\n\n".join(parts) + "\n"


def _markdown_blocks(blocks: Sequence[Block | Html], level: int) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Html) or "markdown" not in block.only:
            continue
        if isinstance(block, VerdictText):
            yield " ".join([f"**{_escaped(block.sentences[0])}**", *map(_escaped, block.sentences[1:])])
        elif isinstance(block, Say):
            told = [*map(_escaped, filter(None, block.sentences))]
            yield "\n".join(f"- {sentence}" for sentence in told) if block.lines else " ".join(told)
        elif isinstance(block, Facts):
            yield "\n".join(f"- {_escaped(name)}: {_escaped(Column(name).text(v))}" for name, v in block.facts.items())
        elif isinstance(block, Table):
            yield "\n\n".join(filter(None, [_escaped(block.title), _markdown_table(block), _escaped(block.note)]))
        elif isinstance(block, Section):
            inside = [*_markdown_blocks(block.blocks, level + 1)]
            yield from [f"{'#' * level} {_escaped(block.title)}", *inside] if inside else []
        elif isinstance(block, Made):
            yield from _markdown_blocks(block.blocks, level)


def _markdown_table(table: Table) -> str:
    columns, rows = table.shown_in("markdown")
    left = text_columns(columns, rows)
    lines = [[_escaped(column.label) for column in columns]]
    lines.append(["---" if place < left else "---:" for place in range(len(columns))])
    for row in rows:
        cells = [_escaped(column.text(cell)) for column, cell in zip(columns, row, strict=True)]
        lines.append(
            [f"**{text}**" if isinstance(cell, Marked) else text for text, cell in zip(cells, row, strict=True)]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\`*_[]|#~$"} | {"<": "&lt;", "&": "&amp;"})


def _escaped(text: str) -> str:
    return one_line(text).translate(_MARKDOWN)


# LaTeX.


def latex(document: Document, caution: str = "") -> str:
    """The tables, with booktabs; marked cells are in bold. A caution stands above them."""
    parts = [rf"\noindent\emph{{{latex_safe(caution)}}}"] if caution else []
    for block in document.shown_in("latex"):
        if isinstance(block, Table) and block.rows:
            parts.append(_latex_table(*block.shown_in("latex")))
        elif isinstance(block, Facts):
            parts.append(_latex_table([Column(""), Column("")], [[*fact] for fact in block.facts.items()]))
    return "\n\n".join(parts)


def _latex_table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> str:
    cells = [[_latex_cell(column, cell) for column, cell in zip(columns, row, strict=True)] for row in rows]
    header = [re.sub(r"^p\b", "$p$", latex_safe(column.label)) for column in columns]
    return latex_table(header, cells, left=text_columns(columns, rows))


def _latex_cell(column: Column, cell: Cell) -> str:
    text = latex_safe(column.text(cell))
    return rf"\textbf{{{text}}}" if isinstance(cell, Marked) else text

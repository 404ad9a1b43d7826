"""The page writer: consecutive blocks of Markdown, and the files saved next to the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rejoinder.folders.outputs import write_text

Rows = Sequence[Sequence[str]]


@dataclass
class Document:
    """A page that is being written."""

    name: str
    """The page's name, and the prefix of the names of files next to it."""
    blocks: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)
    """File name -> text, of figures and data that go into the page's folder."""

    def text(self, *blocks: str) -> None:
        """Add headings, paragraphs or lists, each with an empty line before the next."""
        self.blocks += [block.strip("\n") for block in blocks if block.strip()]

    def table(self, header: Sequence[str], rows: Rows) -> None:
        """Add a table."""
        self.text(markdown_table(header, rows))

    def figure(self, name: str, svg: str) -> None:
        """Keep a figure as `name.svg`; the text links to it."""
        self.beside[f"{name}.svg"] = svg

    def __str__(self) -> str:
        """The page in Markdown."""
        return "\n\n".join(self.blocks) + "\n"

    def write(self, path: Path) -> None:
        """Write the page, and the files next to it."""
        for name, text in self.beside.items():
            write_text(path.with_name(name), text)
        write_text(path, str(self))


def markdown_table(header: Sequence[str], rows: Rows) -> str:
    """A table in Markdown; a `|` within a cell is escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def quoted(text: str) -> str:
    """Foreign text as a code span, in which neither Markdown nor HTML means anything."""
    return f"`{' '.join(text.replace('`', chr(39)).split()) or ' '}`"

"""Records of Parquet files, lazy frames and workbooks, and text in CSV that a spreadsheet would run."""

from __future__ import annotations

import importlib
import os
import posixpath
import re
import shutil
import sys
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from xml.parsers import expat

from rejoinder.data.opening import LONGEST_LINE, unreadable
from rejoinder.errors import DataError, MissingExtraError, RejoinderError, cut, shortened
from rejoinder.threads import check_polars_threads

if TYPE_CHECKING:
    import polars as pl

# Parquet files and lazy frames, read by polars in batches; its native code may panic on a damaged file.


_ROWS = 4096


def parquet_records(path: Path, name: str, skipped: int = 0) -> Iterator[dict[str, Any]]:
    """The records of a file, in order, without the first `skipped`; DataError if it is damaged."""
    check_polars_threads()
    import polars as pl

    with polars_failures(name, "is not a readable Parquet file"):
        scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        expected = scan.select(pl.len()).collect().item()
    number = skipped
    for record in frame_records(scan.slice(skipped), name, "is not a readable Parquet file"):
        number += 1
        yield record
    if number != expected:  # a damaged file may end early without an error
        raise DataError(f"is damaged: {number} rows could be read, expected {expected}", file=name)


def frame_records(frame: pl.LazyFrame, name: str, problem: str = "cannot be collected") -> Iterator[dict[str, Any]]:
    """The rows of a lazy frame, collected in batches."""
    check_polars_threads()
    with polars_failures(name, problem):
        batches = frame.collect_batches(chunk_size=_ROWS, maintain_order=True)
    while True:
        with polars_failures(name, problem):
            batch = next(batches, None)
            records = None if batch is None else batch.rows(named=True)
        if records is None:
            return
        yield from records


@contextmanager
def polars_failures(name: str, problem: str) -> Iterator[None]:
    """Turn an error or a panic of polars into a DataError."""
    import polars as pl

    try:
        with _panic_messages_hidden():
            yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError, UnicodeDecodeError) as error:
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise DataError(f"{problem} ({reason})", file=name) from None


@contextmanager
def _panic_messages_hidden() -> Iterator[None]:
    """Discard what native code writes to standard error when it panics; anything else is written afterwards.

    The file descriptor belongs to the whole process, so only the main thread redirects it.
    """
    import polars as pl

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        kept = os.dup(2)
    except OSError:  # closed
        yield
        return
    with tempfile.TemporaryFile() as written:
        _flush()
        os.dup2(written.fileno(), 2)
        try:
            yield
        except pl.exceptions.PanicException:
            written.truncate(0)
            raise
        finally:
            _flush()
            os.dup2(kept, 2)
            os.close(kept)
            written.seek(0)
            with os.fdopen(os.dup(2), "wb") as standard_error:
                shutil.copyfileobj(written, standard_error)


def _flush() -> None:
    if sys.stderr is not None:
        sys.stderr.flush()


# Spreadsheets (.xlsx): the first sheet as rows of text, and rows written to a new one.
#
# A file is a ZIP archive of XML. It is read in pieces, with limits on everything that a crafted file can make large:
# the sizes of its parts are checked before they are opened, cells outside the table are errors, and nothing is
# expanded.


MOST_ROWS = 1_048_576
"""Rows of a sheet, the header included."""
MOST_COLUMNS = 16_384
LONGEST_CELL = 32_767
"""Characters of a cell that is written."""
LARGEST_PART = 512 << 20
"""Bytes of one part of the archive, unpacked: the cells of the sheet, or the texts that they share."""

_MOST_PACKED = 100
"""Times that a large part may be larger unpacked than packed; sheets are packed 5 to 20 times."""
_SMALL = 8 << 20
"""Bytes of a part that may be packed more than that."""
_LARGEST_SMALL_PART = 64 << 20
"""Bytes of the parts that describe the workbook."""
_CHUNK = 1 << 16
_DEEPEST = 100
"""Levels of elements; sheets have about eight."""
_OLE = b"\xd0\xcf\x11\xe0"
"""What an .xls file and an encrypted .xlsx file begin with."""

Cells = tuple[int, list[str] | DataError]
"""The number of a row with its cells, or with the error that replaces them."""
Attributes = dict[str, str]


def sheet_cells(path: Path, name: str) -> Iterator[Cells]:
    """The rows of the first sheet that are not blank, header included, each with its number in the sheet.

    Every cell is text, and an empty cell "". A row has as many cells as the header, or is a DataError where one of its
    cells is an error, is a formula without a stored value, or is outside the header's columns.
    """
    try:
        opened = path.open("rb")
    except OSError as error:
        raise unreadable(error, name) from None
    with opened as file, _damage(name):
        if file.read(len(_OLE)) == _OLE:
            raise DataError("is an .xls file or has a password: expected an .xlsx file without one", file=name)
        with zipfile.ZipFile(file) as archive:
            yield from _Workbook(_ArchiveParts(archive, name)).rows(name)


class _DamagedError(ValueError):
    """The file is not what the format says."""


@contextmanager
def _damage(name: str) -> Iterator[None]:
    """Turn whatever a damaged archive, or damaged XML in it, raises into a DataError."""
    try:
        yield
    except (
        zipfile.BadZipFile, zlib.error, expat.ExpatError, ValueError, EOFError, OSError, NotImplementedError,
        RuntimeError, OverflowError,
    ) as error:  # fmt: skip
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise DataError(f"is not a readable .xlsx file ({reason})", file=name) from None


class _ArchiveParts:
    """The parts of the archive, whatever the case of their names."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive, self._name = archive, name
        self._entries = {entry.filename.lstrip("/").lower(): entry for entry in archive.infolist()}

    def __contains__(self, part: str) -> bool:
        return part.lower() in self._entries

    def check(self, part: str, largest: int | None = None) -> None:
        """DataError if a part is too large; the archive's directory says so, and no more than that is ever unpacked."""
        largest, entry = largest or LARGEST_PART, self._entries.get(part.lower())
        if entry is None:
            raise _DamagedError(f"it has no {cut(part, 80)}")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
            raise _DamagedError(f"{cut(part, 80)} is packed or encrypted in another way than in a spreadsheet")
        if entry.file_size > largest:
            problem = f"unpacks {cut(part, 80)} to {entry.file_size >> 20:,} MiB: expected at most {largest >> 20} MiB"
            raise DataError(f"{problem}; a larger set of replies needs another format, such as .jsonl", file=self._name)

        if entry.file_size > max(_SMALL, _MOST_PACKED * entry.compress_size):
            raise _DamagedError(f"{cut(part, 80)} is more than {_MOST_PACKED} times as large unpacked as packed")

    def parse(
        self,
        part: str,
        start: Callable[[str, Attributes], object],
        end: Callable[[str], object] | None = None,
        text: Callable[[str], object] | None = None,
        largest: int | None = None,
    ) -> Iterator[None]:
        """Call these for the elements of a part, by their names without prefix; yields after each piece that is read.

        Expat's own memory is bounded too: by the depth of the elements, and by the length of a single tag.
        """
        self.check(part, largest)
        depth = 0

        def start_element(tag: str, attributes: Attributes) -> None:
            nonlocal depth
            depth += 1
            if depth > _DEEPEST:
                raise _DamagedError(f"{part} has elements nested more than {_DEEPEST} deep")
            start(tag.rpartition(":")[2], attributes)

        def end_element(tag: str) -> None:
            nonlocal depth
            depth -= 1
            if end is not None:
                end(tag.rpartition(":")[2])

        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = start_element, end_element
        parser.CharacterDataHandler = text
        parser.StartDoctypeDeclHandler = _refuse_doctype  # without it, no entity can be declared
        read = 0
        with self._archive.open(self._entries[part.lower()]) as file:
            while piece := file.read(_CHUNK):
                parser.Parse(piece, False)
                read += len(piece)
                if read - parser.CurrentByteIndex > LONGEST_LINE:
                    raise _DamagedError(f"{part} has a tag longer than {LONGEST_LINE >> 20} MiB")
                yield
        parser.Parse(b"", True)
        yield

    def elements(self, part: str) -> Iterator[tuple[str, str, Attributes]]:
        """Each element of a small part, in order: the name of the one that it is in, its own, its attributes."""
        found: list[tuple[str, str, Attributes]] = []
        open_tags = [""]

        def start(tag: str, attributes: Attributes) -> None:
            found.append((open_tags[-1], tag, attributes))
            open_tags.append(tag)

        for _ in self.parse(part, start, lambda _: open_tags.pop(), largest=_LARGEST_SMALL_PART):
            yield from found
            found.clear()

    def related(self, part: str) -> Iterator[tuple[str, str, str]]:
        """The parts that a part refers to: the reference's id, the last word of its type, the name of the part."""
        folder, base = posixpath.split(part)
        for _, tag, attributes in self.elements(posixpath.join(folder, "_rels", f"{base}.rels")):
            if tag == "Relationship" and attributes.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", "")))
                yield attributes.get("Id", ""), attributes.get("Type", "").rpartition("/")[2], target.lstrip("/")


def _refuse_doctype(*_: object) -> NoReturn:
    raise _DamagedError("it has a document type, which no spreadsheet has")


class _Workbook:
    """What must be known of a workbook to read its first sheet."""

    def __init__(self, parts: _ArchiveParts) -> None:
        self._parts = parts
        book = next((part for _, kind, part in parts.related("") if kind == "officeDocument"), "xl/workbook.xml")
        related = list(parts.related(book))
        sheets = {reference: part for reference, kind, part in related if kind == "worksheet"}
        self.sheet, self._part, self._base = "", "", datetime(1899, 12, 30)
        for _, tag, attributes in parts.elements(book):
            reference = next((value for key, value in attributes.items() if key.endswith(":id")), "")
            if tag == "workbookPr" and attributes.get("date1904") in {"1", "true"}:
                self._base = datetime(1904, 1, 1)
            elif tag == "sheet" and not self._part and reference in sheets:
                self.sheet, self._part = attributes.get("name", ""), sheets[reference]
        if not self._part:
            raise _DamagedError("it has no sheet with cells")
        by_kind = {kind: part for _, kind, part in related if part in parts}
        parts.check(self._part)
        if "sharedStrings" in by_kind:
            parts.check(by_kind["sharedStrings"])
        self.text = _SharedTexts(parts, by_kind.get("sharedStrings", "")).__getitem__
        self._date_styles = _date_styles(parts, by_kind["styles"]) if "styles" in by_kind else frozenset[str]()

    def rows(self, name: str) -> Iterator[Cells]:
        """The rows of the first sheet that are not blank."""
        sheet = _Sheet(self, name)
        for _ in self._parts.parse(self._part, sheet.start, sheet.end, sheet.add_text):
            yield from sheet.rows
            sheet.rows.clear()

    def number(self, value: str, style: str) -> str:
        """A number as text: a date if its style shows one, otherwise all its digits without an exponent."""
        if style not in self._date_styles:
            if value.isascii() and value.isdecimal() and len(value) < 16:
                return str(int(value))
            number = float(value)
            if number - number:  # NaN or infinite
                raise _DamagedError(f"{shortened(value, 20)} is not a number of a sheet")
            digits = format(Decimal(repr(number)), "f")
            return digits.rstrip("0").rstrip(".") if "." in digits else digits
        days = float(value)
        if days < 60 and self._base.year < 1904:  # Excel's 29 February 1900 is day 60, and never was
            days += 1
        at = self._base + timedelta(milliseconds=round(days * 86_400_000))
        return at.isoformat(" ", "milliseconds" if at.microsecond else "seconds")


class _SharedTexts:
    """The texts that cells share, read as far as cells refer to them."""

    def __init__(self, parts: _ArchiveParts, part: str) -> None:
        self._found: list[str] = []
        self._pieces: list[str] = []
        self._takes, self._in_phonetic, self._size = False, False, 0
        self._reading = parts.parse(part, self._start, self._end, self._add_text) if part else iter(())

    def __getitem__(self, place: int) -> str:
        while place >= len(self._found):
            if next(self._reading, self) is self:
                raise _DamagedError(f"a cell refers to text {place}, and there are {len(self._found)}")
        return self._found[place]

    def _start(self, tag: str, _: Attributes) -> None:
        if tag == "t":
            self._takes = not self._in_phonetic
        elif tag == "rPh":  # how a text is pronounced
            self._in_phonetic = True

    def _end(self, tag: str) -> None:
        if tag == "t":
            self._takes = False
        elif tag == "rPh":
            self._in_phonetic = False
        elif tag == "si":
            self._found.append(_unescaped("".join(self._pieces)))
            self._pieces.clear()
            self._size = 0

    def _add_text(self, text: str) -> None:
        if self._takes:
            self._pieces.append(text)
            self._size += len(text)
            _check_length(self._size)


class _Sheet:
    """The rows of a sheet, as its elements are read."""

    def __init__(self, book: _Workbook, name: str) -> None:
        self._book, self._name = book, name
        self.rows: list[Cells] = []
        """Those that were read and not yet taken."""
        self._header: list[str] = []
        self._header_row = self._last_row = 0
        """Of the header, and of the last row that is not blank."""
        self._row, self._row_text = 0, ""
        self._in_data = self._in_row = False
        self._cells: dict[int, str] = {}
        self._problem: DataError | None = None
        self._columns: dict[str, int] = {}
        self._begin_cell(-1, {})

    def _begin_cell(self, column: int, attributes: Attributes) -> None:
        self._column = column
        self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "0")
        self._pieces: list[str] = []
        self._size = 0
        self._takes = self._in_phonetic = self._is_formula = self._has_value = False

    def start(self, tag: str, attributes: Attributes) -> None:
        """An element begins."""
        if not self._in_data:  # what else a sheet contains, such as the anchor of a button, may have rows as well
            if tag == "mergeCell":
                self._check_merged(attributes.get("ref", ""))
            self._in_data = tag == "sheetData"
        elif tag == "c":
            self._begin_cell(self._place(attributes.get("r")), attributes)
        elif tag == "v":
            self._takes = self._has_value = True
        elif tag == "f":
            self._is_formula = True
        elif tag == "t":
            self._takes = self._has_value = not self._in_phonetic
        elif tag == "rPh":
            self._in_phonetic = True
        elif tag == "row":
            self._begin_row(attributes.get("r"))

    def end(self, tag: str) -> None:
        """An element ends."""
        if not self._in_data:
            return
        if tag == "c":
            self._end_cell()
        elif tag in {"v", "t"}:
            self._takes = False
        elif tag == "rPh":
            self._in_phonetic = False
        elif tag == "row":
            self._end_row()
        elif tag == "sheetData":
            self._in_data = False

    def add_text(self, text: str) -> None:
        """Some text of an element."""
        if self._takes:
            self._pieces.append(text)
            self._size += len(text)
            _check_length(self._size)

    def _begin_row(self, given: str | None) -> None:
        number = self._row + 1 if given is None else _whole(given)
        if self._in_row or not self._row < number <= MOST_ROWS:
            raise _DamagedError(f"row {shortened(given)} after row {self._row}, in a sheet of at most {MOST_ROWS:,}")
        self._row, self._row_text, self._column, self._in_row = number, str(number), -1, True

    def _place(self, reference: str | None) -> int:
        """The column of a cell, counted from 0."""
        if reference is None:
            column = self._column + 1
        elif reference.endswith(self._row_text) and reference[: -len(self._row_text)] in self._columns:
            column = self._columns[reference[: -len(self._row_text)]]
        else:
            letters, row, column = _position(reference)
            if row != self._row:
                raise _DamagedError(f"cell {reference} is in row {self._row}")
            self._columns[letters] = column
        if not (self._in_row and column < MOST_COLUMNS):
            raise _DamagedError(f"a cell in column {column + 1} of row {self._row}")
        return column

    def _end_cell(self) -> None:
        value = "".join(self._pieces)
        if self._kind == "e":
            self._refuse(f"is the error {cut(value, 20) or '(unknown)'}: expected a value")
        elif self._is_formula and not (value or (self._has_value and self._kind == "str")):
            self._refuse("is a formula without a stored value: open the file in a spreadsheet program and save it")
        elif value and (text := self._text(value)):
            if self._header and self._column >= len(self._header) and text.strip():
                expected = f"expected values only below its names, {_name(0, self._header_row)} to "
                expected += _name(len(self._header) - 1, self._header_row)
                self._refuse(f"is outside the columns of the header: {expected}")
            elif self._column in self._cells:
                raise _DamagedError(f"cell {_name(self._column, self._row)} occurs twice")
            else:
                self._cells[self._column] = text

    def _text(self, value: str) -> str:
        """A stored value as text."""
        if self._kind == "s":
            return self._book.text(_whole(value))
        if self._kind in {"str", "inlineStr"}:
            return _unescaped(value)
        if self._kind == "b":
            return {"0": "false", "1": "true"}.get(value.strip(), value)
        if self._kind == "d":
            return value
        if self._kind != "n":
            raise _DamagedError(f"a cell of the unknown type {shortened(self._kind)}")
        try:
            return self._book.number(value.strip(), self._style)
        except OverflowError:
            self._refuse(f"is formatted as a date, and {shortened(value, 40)} is none")
            return ""

    def _refuse(self, problem: str) -> None:
        """The problem of a cell, which is that of its row if it is the first."""
        if self._problem is None:
            name = _name(self._column, self._row)
            field = self._header[self._column] if self._column < len(self._header) else ""
            problem = f"cell {name} of sheet {shortened(self._book.sheet)} {problem}"
            self._problem = DataError(problem, file=self._name, line=self._row, field=field)

    def _end_row(self) -> None:
        cells, problem = self._cells, self._problem
        self._cells, self._problem, self._in_row = {}, None, False
        if problem is not None:
            self._last_row = self._row
            self.rows.append((self._row, problem))
        elif any(map(str.strip, cells.values())):
            self._last_row = self._row
            if not self._header:
                width = max(column for column, text in cells.items() if text.strip()) + 1
                self._header, self._header_row = [cells.get(column, "") for column in range(width)], self._row
            self.rows.append((self._row, [cells.get(column, "") for column in range(len(self._header))]))

    def _check_merged(self, reference: str) -> None:
        """DataError for merged cells within the table: only the first of them has the value that all of them show."""
        first, _, last = reference.partition(":")
        (_, top, left), (_, bottom, _) = _position(first), _position(last or first)
        if self._header and left < len(self._header) and bottom > self._header_row and top <= self._last_row:
            problem = f"cells {reference} of sheet {shortened(self._book.sheet)} are merged: expected a value in each"
            raise DataError(f"{problem}; unmerge them and fill them in", file=self._name, line=top)


_REFERENCE = re.compile(r"\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6})")


def _position(reference: str) -> tuple[str, int, int]:
    """The letters of a cell's column as they are written, its row, and the number of the column, counted from 0."""
    matched = _REFERENCE.fullmatch(reference)
    column = 0
    for letter in matched[1].upper() if matched else "":
        column = column * 26 + ord(letter) - ord("A") + 1
    if matched is None or column > MOST_COLUMNS or int(matched[2]) > MOST_ROWS:
        raise _DamagedError(f"there is no cell {shortened(reference, 40)}: a sheet ends at XFD{MOST_ROWS}")
    return matched[1], int(matched[2]), column - 1


def _name(column: int, row: int) -> str:
    """The name of a cell, such as B3; its column is counted from 0."""
    letters, rest = "", column + 1
    while rest:
        rest, letter = divmod(rest - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row}"


def _whole(text: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise _DamagedError(f"expected a whole number, found {shortened(text, 40)}")
    return int(text)


def _check_length(size: int) -> None:
    if size > LONGEST_LINE:
        raise _DamagedError(f"it has a cell longer than {LONGEST_LINE >> 20} MiB")


def _unescaped(text: str) -> str:
    """Text in which control characters are written as _x0001_."""
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


_DATE_FORMATS = {*map(str, range(14, 23)), "45", "46", "47"}
"""Built-in formats of numbers that show a date or a time (ECMA-376, part 1, 18.8.30)."""
_NOT_SHOWN = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE | re.DOTALL)
"""Quoted text, escaped and filling characters, colours and conditions in the format of a number."""


def _date_styles(parts: _ArchiveParts, part: str) -> frozenset[str]:
    """The styles of cells that show their number as a date or a time."""
    dates, formats = set(_DATE_FORMATS), list[str]()
    for parent, tag, attributes in parts.elements(part):
        if parent == "numFmts":
            code = _NOT_SHOWN.sub("", attributes.get("formatCode", "")).partition(";")[0]
            if re.search("[dhmsy]", code, re.IGNORECASE):
                dates.add(attributes.get("numFmtId", ""))
        elif parent == "cellXfs" and tag == "xf":
            formats.append(attributes.get("numFmtId", ""))
    return frozenset(str(style) for style, number_format in enumerate(formats) if number_format in dates)


def write_sheet(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write rows of text to the first sheet of a new file; nothing in a cell is run as a formula or a link."""
    xlsxwriter = _imported("xlsxwriter", "writing .xlsx files")
    book = xlsxwriter.Workbook(str(path), {"constant_memory": True})
    try:
        sheet = book.add_worksheet()
        for number, row in enumerate(chain([header], rows)):
            if number >= MOST_ROWS:
                raise RejoinderError(f"a sheet has at most {MOST_ROWS:,} rows: expected another format, such as .jsonl")
            for column, text in enumerate(row):
                if len(text) > LONGEST_CELL:
                    raise RejoinderError(
                        f"{shortened(text, 30)} has {len(text):,} characters and a cell at most {LONGEST_CELL:,}: "
                        "expected another format, such as .jsonl"
                    )
                if text:
                    sheet.write_string(number, column, text)
    finally:
        book.close()
    with zipfile.ZipFile(path) as archive:
        if any(entry.file_size > LARGEST_PART for entry in archive.infolist()):
            problem = f"the sheet has more than {LARGEST_PART >> 20} MiB and would not be read again"
            raise RejoinderError(f"{problem}: expected another format, such as .jsonl")


def _imported(module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(what, "xlsx") from None


# Text in a CSV file that a spreadsheet would run as a formula.
#
# A cell that begins with =, +, - or @ is computed when the file is opened, and `=HYPERLINK(...)` in a system name could
# send data away. An apostrophe in front makes it text, which spreadsheets show without running it. Plain numbers are
# harmless and stay. No two texts become the same cell, so that a score file is read back as it was written.


# The four signs, also in full width; after blanks, which some programs trim; and after apostrophes, so that no two
# texts become the same cell. The expressions mean the same in Python and in polars.
_FORMULA = r"\A(?:['\t\n\r ]*[=+\-@＝＋－＠]|'*[\t\n\r])"
_NUMBER = r"\A[+-]?[0-9]+(?:\.[0-9]+)?\z"


def for_spreadsheet(text: str) -> str:
    """The text as a cell that no spreadsheet runs."""
    return f"'{text}" if _is_formula(text) else text


def from_spreadsheet(cell: str) -> str:
    """The text that `for_spreadsheet` made a cell of."""
    return cell[1:] if cell.startswith("'") and for_spreadsheet(cell[1:]) == cell else cell


def column_for_spreadsheet(name: str) -> pl.Expr:
    """The column of that name with its texts as cells that no spreadsheet runs."""
    import polars as pl

    column = pl.col(name)
    is_formula = column.str.contains(_FORMULA) & ~column.str.contains(_NUMBER)
    return pl.when(is_formula).then(pl.lit("'") + column).otherwise(column).alias(name)


def _is_formula(text: str) -> bool:
    return bool(re.search(_FORMULA, text)) and not re.search(_NUMBER.replace(r"\z", r"\Z"), text)

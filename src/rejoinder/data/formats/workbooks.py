"""Spreadsheets (.xlsx): the first sheet as rows of text, and rows written to a new one."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from rejoinder.data.formats.opening import unreadable
from rejoinder.data.formats.parquet import check_polars_threads
from rejoinder.errors import DataError, MissingExtraError, RejoinderError, shortened

MOST_ROWS = 1_048_576
"""Rows of a sheet, the header included."""
LONGEST_CELL = 32_767
"""Characters."""


def sheet_cells(path: Path, name: str) -> Iterator[list[str]]:
    """The rows of the first sheet, header included; every cell as text, empty cells as ""."""
    fastexcel = _imported("fastexcel", "reading .xlsx files")
    check_polars_threads()
    try:
        path.open("rb").close()
        book = fastexcel.read_excel(path)
        sheet = book.load_sheet(0, header_row=None, dtypes="string")
        frame = sheet.to_polars()
    except (fastexcel.FastExcelError, ValueError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise DataError(f"is not a readable .xlsx file ({reason})", file=name) from None
    except OSError as error:
        raise unreadable(error, name) from None
    except BaseException as error:  # native code that panics raises no ordinary exception
        if type(error).__name__ != "PanicException":
            raise
        raise DataError("is not a readable .xlsx file", file=name) from None
    for row in frame.iter_rows():
        yield ["" if cell is None else cell for cell in row]


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


def _imported(module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(what, "xlsx") from None

"""Spreadsheets: text in, the same text out; damaged files and texts that do not fit are refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rejoinder
from rejoinder.data.formats import workbooks
from rejoinder.data.formats.workbooks import sheet_cells, write_sheet
from rejoinder.errors import DataError, MissingExtraError, RejoinderError

ROWS = [["1", "=1+1", "https://example.org"], ["", "-3", "ünï\nline"], ["x", "", " blank "]]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_sheet(tmp_path / "a.xlsx", ["id", "response", "context"], iter(ROWS))
    assert list(sheet_cells(tmp_path / "a.xlsx", "a.xlsx")) == [["id", "response", "context"], *ROWS]


def test_numbers_are_text(tmp_path: Path) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
    sheet = book.add_worksheet()
    for row, cells in enumerate([["id", "answer", "model"], [7, "yes", 4.5], [8, 42, "m"]]):
        sheet.write_row(row, 0, cells)
    book.close()
    (first, second) = rejoinder.read(tmp_path / "a.xlsx")
    assert (first.id, first.response, first.system) == ("7", "yes", "4.5")
    assert (second.id, second.response, second.system) == ("8", "42", "m")


@pytest.mark.parametrize("content", [b"", b"PK", b"id,response\n1,hi\n"])
def test_a_damaged_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.xlsx: is not a readable \.xlsx file"):
        list(rejoinder.read(tmp_path / "a.xlsx"))


def test_what_does_not_fit_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RejoinderError, match="has 32,768 characters and a cell at most 32,767"):
        rejoinder.convert([{"response": "a" * 32_768}], tmp_path / "a.xlsx")
    monkeypatch.setattr(workbooks, "MOST_ROWS", 2)
    with pytest.raises(RejoinderError, match="a sheet has at most 2 rows"):
        rejoinder.convert([{"response": "a"}] * 2, tmp_path / "a.xlsx")
    assert not list(tmp_path.iterdir())


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_sheet(tmp_path / "a.xlsx", ["response"], [["a"]])
    for module in ("fastexcel", "xlsxwriter"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"reading \.xlsx files needs .* pip install '\.\[xlsx\]'"):
        list(rejoinder.read(tmp_path / "a.xlsx"))
    with pytest.raises(MissingExtraError, match=r"writing \.xlsx files needs .* pip install '\.\[xlsx\]'"):
        rejoinder.convert([{"response": "a"}], tmp_path / "b.xlsx")

"""Spreadsheets: text in, the same text out; what cannot be read as it is shown is refused, whatever its size."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rejoinder
from rejoinder.data import tables
from rejoinder.data.files import rows_of_file
from rejoinder.data.source import Source
from rejoinder.data.tables import sheet_cells, write_sheet
from rejoinder.errors import DataError, MissingExtraError, RejoinderError
from small_workbooks import cell, table, write_workbook

ROWS = [["1", "=1+1", "https://example.org"], ["", "-3", "ünï\nline"], ["x", "", " blank "]]
HEADER = {"A": "id", "B": "response"}
FIRST, SECOND = {"A": "1", "B": "hi"}, {"A": "2", "B": "yo"}
MILLION = 1_048_576


def read(path: Path) -> list[tuple[int, list[str] | DataError]]:
    return list(sheet_cells(path, path.name))


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        list(rejoinder.read(path))
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path.parent}/")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_sheet(tmp_path / "a.xlsx", ["id", "response", "context"], iter(ROWS))
    assert [cells for _, cells in read(tmp_path / "a.xlsx")] == [["id", "response", "context"], *ROWS]


TEXTS = st.text(st.sampled_from("=+-@'\r\n\t _x000D_<&\ufffe") | st.characters(codec="utf-8"), max_size=6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=3))
def test_any_text_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("texts") / "a.xlsx"
    written = [[str(number), *texts] for number, texts in enumerate(rows)]
    write_sheet(path, ["id", "a", "b"], written)
    assert [cells for _, cells in read(path)] == [["id", "a", "b"], *written]


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


# The texts are those of calamine 0.36, which read these files before.
@pytest.mark.parametrize(
    ("stored", "code", "text"),
    [
        ("7", "General", "7"),
        ("007", "0.00", "7"),
        ("4.50", "General", "4.5"),
        ("1E+21", "General", "1000000000000000000000"),
        ("1E-07", "General", "0.0000001"),
        ("-3", "0", "-3"),
        ("0.25", "0%", "0.25"),
        ("3", '0 "days"', "3"),
        ("3.5", "#,##0.00 [$€-407]", "3.5"),
        ("3.5", "[Red]0.0;d", "3.5"),
        ("45413", "yyyy\\-mm\\-dd", "2024-05-01 00:00:00"),
        ("45413.39601273148", "m/d/yy h:mm", "2024-05-01 09:30:15.500"),
        ("45413.123456", "mm:ss.0", "2024-05-01 02:57:46.598"),
        ("0.5", "hh:mm:ss", "1899-12-31 12:00:00"),
        ("1.75", "[h]:mm", "1900-01-01 18:00:00"),
        ("59", "m/d/yy", "1900-02-28 00:00:00"),
        ("61", "m/d/yy", "1900-03-01 00:00:00"),
    ],
)
def test_numbers_and_dates(stored: str, code: str, text: str, tmp_path: Path) -> None:
    quoted = code.replace("&", "&amp;").replace('"', "&quot;")
    styles = f'<numFmts><numFmt numFmtId="170" formatCode="{quoted}"/></numFmts>'
    styles += '<cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs>'
    rows = table({1: HEADER, 2: {"A": f'<c r="A2" s="1"><v>{stored}</v></c>', "B": "hi"}})
    assert read(write_workbook(tmp_path / "a.xlsx", rows, styles=styles))[1] == (2, [text, "hi"])


def test_dates_from_1904_and_dates_that_are_none(tmp_path: Path) -> None:
    styles = '<cellXfs><xf numFmtId="14"/></cellXfs>'
    rows = table({1: HEADER, 2: {"A": '<c r="A2"><v>1</v></c>', "B": "hi"}, 3: {"A": '<c r="A3"><v>3E9</v></c>'}})
    path = write_workbook(tmp_path / "a.xlsx", rows, styles=styles, settings='<workbookPr date1904="1"/>')
    assert read(path)[1] == (2, ["1904-01-02 00:00:00", "hi"])
    assert refusal(path).startswith("a.xlsx:3: field 'id': cell A3 of sheet 'Data' is formatted as a date, and '3E9'")


def test_texts_of_every_kind(tmp_path: Path) -> None:
    cells = [
        '<c r="A2" t="s"><v>1</v></c><c r="B2" t="s"><v>0</v></c>',
        '<c r="A3" t="str"><f>B2</f><v>formula</v></c><c r="B3" t="str"><f>""</f><v></v></c>',
        '<c r="A4" t="inlineStr"><is><r><t>rich </t></r><r><t>text</t></r><rPh><t>no</t></rPh></is></c>'
        '<c t="b"><v>1</v></c>',
        '<c><v>5</v></c><c r="B5" t="d"><v>2024-05-01</v></c>',
    ]
    rows = table({1: HEADER}) + "".join(f'<row r="{number}">{each}</row>' for number, each in enumerate(cells, start=2))
    shared = (
        "<si><r><t>a</t></r><r><t> b</t></r><rPh><t>no</t></rPh></si><si><t>_x0041_\n</t></si><si><t>unused</t></si>"
    )
    assert [each for _, each in read(write_workbook(tmp_path / "a.xlsx", rows, shared=shared))][1:] == [
        ["A\n", "a b"],
        ["formula", ""],
        ["rich text", "true"],
        ["5", "2024-05-01"],
    ]


def test_cells_and_rows_without_a_reference_and_with_a_prefix(tmp_path: Path) -> None:
    rows = f"<row>{cell('', 'id')}{cell('', 'response')}</row><row><c/>{cell('', 'hi')}</row>"
    assert read(write_workbook(tmp_path / "a.xlsx", rows)) == [(1, ["id", "response"]), (2, ["", "hi"])]
    prefixed = rows.replace("</", "</x:").replace("<", "<x:").replace("<x:/x:", "</x:")
    assert read(write_workbook(tmp_path / "b.xlsx", prefixed)) == [(1, ["id", "response"]), (2, ["", "hi"])]


BLANK = [
    {},
    {"A": '<c r="A{}" s="1"/>', "B": '<c r="B{}" s="1"/>', "XFD": '<c r="XFD{}" s="1"/>'},
    {"A": " ", "B": "\n\t"},
    {"B": '<c r="B{}" t="str"><f>""</f><v></v></c>'},
]


@pytest.mark.parametrize("blank", BLANK)
@pytest.mark.parametrize("columns", ["AB", "B"])
def test_blank_rows_are_no_replies_and_the_others_keep_their_numbers(
    blank: dict[str, str], columns: str, tmp_path: Path
) -> None:
    def filled(row: int) -> dict[str, str]:
        return {column: text.format(row) for column, text in blank.items()}

    def kept(cells: dict[str, str]) -> dict[str, str]:
        return {column: text for column, text in cells.items() if column in columns}

    rows = {1: filled(1), 2: kept(HEADER), 3: filled(3), 4: kept(FIRST), 5: filled(5), 6: filled(6), 7: kept(SECOND)}
    rows |= {number: filled(number) for number in (8, 9, 100, MILLION)}
    path = write_workbook(tmp_path / "a.xlsx", table(rows))
    assert [(number, record["response"]) for number, record in rows_of_file(path, "a.xlsx")] == [(4, "hi"), (7, "yo")]
    assert [example.response for example in rejoinder.read(path)] == ["hi", "yo"]


ERRORS = ["#REF!", "#N/A", "#DIV/0!", "#NAME?", "#VALUE!", "#NUM!", "#NULL!", "#SPILL!"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        *[(f' t="e"><v>{error}</v>', f"is the error {error}: expected a value") for error in ERRORS],
        (' t="e"><f>A9</f><v>#REF!</v>', "is the error #REF!: expected a value"),
        (' t="e">', "is the error (unknown): expected a value"),
        ("><f>A1</f>", "is a formula without a stored value: open the file in a spreadsheet program and save it"),
        ("><f>A1</f><v></v>", "is a formula without a stored value: open the file in a spreadsheet program"),
        (' t="str"><f>A1</f>', "is a formula without a stored value: open the file in a spreadsheet program"),
        ('><f t="shared" si="0"/>', "is a formula without a stored value: open the file in a spreadsheet program"),
    ],
)
@pytest.mark.parametrize("column", ["id", "response"])
def test_errors_and_formulas_without_a_value_are_errors_with_their_place(
    content: str, problem: str, column: str, tmp_path: Path
) -> None:
    letter = {"id": "A", "response": "B"}[column]
    bad = FIRST | {letter: f'<c r="{letter}5"{content}</c>'}
    path = write_workbook(tmp_path / "a.xlsx", table({1: HEADER, 3: SECOND, 5: bad, 6: {"A": "3", "B": "ok"}}))
    assert refusal(path).startswith(f"a.xlsx:5: field '{column}': cell {letter}5 of sheet 'Data' {problem}")
    source = Source(path, on_error="skip")
    assert [example.response for example in source] == ["yo", "ok"]
    assert [error.line for error in source.skipped.values()] == [5]


def test_an_error_in_the_header(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", table({1: HEADER | {"C": '<c r="C1" t="e"><v>#REF!</v></c>'}, 2: FIRST}))
    assert refusal(path).startswith("a.xlsx:1: cell C1 of sheet 'Data' is the error #REF!")


@pytest.mark.parametrize("place", ["C2", "D2", "XFD2", "C1048576", f"XFD{MILLION}"])
def test_a_stray_cell_is_refused_with_its_place(place: str, tmp_path: Path) -> None:
    row = int(place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    rows = {1: HEADER, 2: dict(FIRST)}
    rows.setdefault(row, {})[place.removesuffix(str(row))] = "stray"
    assert refusal(write_workbook(tmp_path / "a.xlsx", table(rows))) == (
        f"a.xlsx:{row}: cell {place} of sheet 'Data' is outside the columns of the header: "
        "expected values only below its names, A1 to B1"
    )


def test_a_stray_cell_below_the_table_is_a_row(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", table({1: HEADER, 2: FIRST, MILLION: {"A": "9"}}))
    assert read(path)[1:] == [(2, ["1", "hi"]), (MILLION, ["9", ""])]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ('<row r="3"><c r="ZZZZZZZ99999999999"><v>1</v></c></row>', "there is no cell 'ZZZZZZZ99999999999'"),
        ('<row r="3"><c r="XFE3"><v>1</v></c></row>', "there is no cell 'XFE3': a sheet ends at XFD1048576"),
        ('<row r="1048577"/>', "row '1048577' after row 1"),
        ('<row r="99999999999999999999"/>', "expected a whole number, found '99999999999999999999'"),
        ('<row r="0"/>', "row '0' after row 1"),
        ('<row r="1"/>', "row '1' after row 1"),
        ('<row r="-3"/>', "expected a whole number, found '-3'"),
        ('<row r="3"><c r="A4"><v>1</v></c></row>', "cell A4 is in row 3"),
        ('<row r="3"><c r="3"><v>1</v></c></row>', "there is no cell '3'"),
        ('<row r="3"><c r="A3"><v>1</v></c><c r="A3"><v>2</v></c></row>', "cell A3 occurs twice"),
        ("<row>" + "<c/>" * 16_385 + "</row>", "a cell in column 16385 of row 2"),
        ("<row><row/></row>", "row None after row 2"),
        ('<c r="A1"><v>1</v></c>', "a cell in column 1 of row 1"),
        ('<row><c t="s"><v>7</v></c></row>', "a cell refers to text 7, and there are 0"),
        ('<row><c t="s"><v>-1</v></c></row>', "expected a whole number, found '-1'"),
        ('<row><c t="x"><v>1</v></c></row>', "a cell of the unknown type 'x'"),
        ("<row><c><v>nan</v></c></row>", "'nan' is not a number of a sheet"),
        ("<row><c><v>one</v></c></row>", "could not convert string to float: 'one'"),
        (f"<row><c t='str'><v>{'a' * ((4 << 20) + 1)}</v></c></row>", "it has a cell longer than 4 MiB"),
        (f"<row x='{'a' * (5 << 20)}'/>", "xl/worksheets/sheet1.xml has a tag longer than 4 MiB"),
        ("<a>" * 200 + "</a>" * 200, "xl/worksheets/sheet1.xml has elements nested more than 100 deep"),
        ("<row>", "mismatched tag"),
    ],
)
def test_what_no_program_writes(rows: str, reason: str, tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", table({1: HEADER}) + rows)
    assert refusal(path).startswith(f"a.xlsx: is not a readable .xlsx file ({reason}")


@pytest.mark.parametrize("entity", ['<!ENTITY a "{}">'.format("b" * 1000), '<!ENTITY a SYSTEM "file:///etc/passwd">'])
def test_no_entity_is_expanded(entity: str, tmp_path: Path) -> None:
    rows = table({1: HEADER}) + "<row><c t='str'><v>&a;</v></c></row>"
    path = write_workbook(tmp_path / "a.xlsx", rows, before=f"<!DOCTYPE worksheet [{entity}]>")
    assert "it has a document type, which no spreadsheet has" in refusal(path)


@pytest.mark.parametrize("part", ["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"])
def test_sizes_are_read_before_anything_is_unpacked(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, many = table({1: HEADER, 2: FIRST}), 3000
    shared = "".join(f"<si><t>{number}</t></si>" for number in range(many)) if "shared" in part else "<si/>"
    if "sheet" in part:
        rows += "".join(f'<row r="{number}"/>' for number in range(3, many))
    path = write_workbook(tmp_path / "a.xlsx", rows, shared=shared)
    assert read(path)[1:] == [(2, ["1", "hi"])]
    monkeypatch.setattr(tables, "LARGEST_PART", 20_000)
    monkeypatch.setattr(zipfile.ZipFile, "open", _opened_but(part, zipfile.ZipFile.open))
    assert f"unpacks {part} to 0 MiB: expected at most" in refusal(path)


def _opened_but(part: str, really: object) -> object:
    def opened(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, *arguments: object) -> object:
        assert entry.filename != part
        return really(archive, entry, *arguments)  # type: ignore[operator]

    return opened


def test_a_part_that_is_packed_too_well(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", table({1: HEADER, 2: FIRST}) + "<row/>" * (3 << 19))
    assert "sheet1.xml is more than 100 times as large unpacked as packed" in refusal(path)


@pytest.mark.parametrize(
    ("merged", "refused"),
    [("A2:A3", 2), ("B3:B4", 3), ("A1:A2", 1), ("A1:B1", 0), ("C2:C3", 0), ("A9:B9", 0), ("B3", 3)],
)
def test_merged_cells_within_the_table_are_refused(merged: str, refused: int, tmp_path: Path) -> None:
    rows = table({1: HEADER, 2: FIRST, 3: SECOND})
    path = write_workbook(tmp_path / "a.xlsx", rows, after=f'<mergeCells><mergeCell ref="{merged}"/></mergeCells>')
    if not refused:
        assert len(read(path)) == 3
    else:
        assert refusal(path).startswith(f"a.xlsx:{refused}: cells {merged} of sheet 'Data' are merged")


@pytest.mark.parametrize("content", [b"", b"PK", b"id,response\n1,hi\n"])
def test_a_damaged_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.xlsx: is not a readable \.xlsx file"):
        list(rejoinder.read(tmp_path / "a.xlsx"))


def test_other_formats_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    assert (
        refusal(tmp_path / "a.xlsx") == "a.xlsx: is an .xls file or has a password: expected an .xlsx file without one"
    )
    for suffix in (".xls", ".xlsb", ".xlsm", ".ods"):
        (tmp_path / f"a{suffix}").write_bytes(b"PK")
        with pytest.raises(rejoinder.CallError, match=f"cannot read {suffix} files"):
            list(rejoinder.read(tmp_path / f"a{suffix}"))


def test_what_does_not_fit_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RejoinderError, match="has 32,768 characters and a cell at most 32,767"):
        rejoinder.convert([{"response": "a" * 32_768}], tmp_path / "a.xlsx")
    monkeypatch.setattr(tables, "MOST_ROWS", 2)
    with pytest.raises(RejoinderError, match="a sheet has at most 2 rows"):
        rejoinder.convert([{"response": "a"}] * 2, tmp_path / "a.xlsx")
    monkeypatch.undo()
    monkeypatch.setattr(tables, "LARGEST_PART", 1 << 10)
    with pytest.raises(RejoinderError, match="the sheet has more than 0 MiB and would not be read again"):
        rejoinder.convert([{"response": "a" * 2000}], tmp_path / "a.xlsx")
    assert not list(tmp_path.iterdir())


def test_only_writing_needs_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_sheet(tmp_path / "a.xlsx", ["response"], [["a"]])
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    assert [example.response for example in rejoinder.read(tmp_path / "a.xlsx")] == ["a"]
    with pytest.raises(MissingExtraError, match=r"writing \.xlsx files needs .* pip install '\.\[xlsx\]'"):
        rejoinder.convert([{"response": "a"}], tmp_path / "b.xlsx")

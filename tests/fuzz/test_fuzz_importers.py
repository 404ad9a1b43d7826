"""Whatever records of other tools contain, importers give examples or a RejoinderError with a short message."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

import foreign_records as foreign
from checked_reading import check_example, only_our_errors
from fuzzing import damaged, fuzz, mutated
from rejoinder.data.convert import convert
from rejoinder.data.source import Source
from rejoinder.errors import DataError
from small_workbooks import table, write_workbook

pytestmark = pytest.mark.slow

KINDS: list[Callable[[], list[Any]]] = [
    *foreign.RECORDS.values(),
    foreign.openai_batch,
    lambda: foreign.flat("question", "answer", "model"),
]

NAMES = (
    "input output inputs outputs messages conversations response request choices body role content from value type "
    "kwargs data runs observations model system id answer question user bot expected history"
).split()


def read_every_way(origin: Any) -> None:
    for unit in ("reply", "turn"):
        with only_our_errors():
            strict = list(Source(origin, unit=unit))
            lenient = Source(origin, on_error="skip", unit=unit)
            assert (list(lenient), lenient.skipped) == (strict, {})
        with only_our_errors():
            source = Source(origin, on_error="skip", unit=unit)
            first = list(source)
            assert list(source) == first, "a second pass reads the same"
            for example in first:
                check_example(example)


def test_damaged_records() -> None:
    fuzz(damaged([kind() for kind in KINDS], NAMES), read_every_way)


def test_damaged_documents(tmp_path: Path) -> None:
    pages: list[Any] = [*(kind() for kind in KINDS), {"data": foreign.langfuse_traces(), "meta": {}}]
    files = [json.dumps(page, indent=indent).encode() for page in pages for indent in (None, 1)]
    path = tmp_path / "a.json"

    def target(content: bytes) -> None:
        path.write_bytes(content)
        read_every_way(path)

    fuzz(mutated(files, [b"[", b"]", b"{", b"}", b",", b'"', b'"role": ', b'"messages": [', b"null"]), target)


def test_damaged_spreadsheets(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    convert(foreign.sharegpt(), path)
    content = path.read_bytes()

    def target(content: bytes) -> None:
        path.write_bytes(content)
        read_every_way(path)

    fuzz(mutated([content], [b"PK\x03\x04", b"PK\x05\x06", b"xl/worksheets/sheet1.xml"]), target)


def test_damaged_sheets(tmp_path: Path) -> None:
    """Unlike a damaged archive, which its checksums reveal, damaged XML is read."""
    path = tmp_path / "a.xlsx"
    rows = table({1: {"A": "id", "B": "response"}, 2: {"A": "1", "B": '<c r="B2" t="s"><v>1</v></c>'}})
    rows += table({4: {"A": '<c r="A4" s="1"><v>45413.5</v></c>', "B": '<c r="B4" t="str"><f>A4</f><v>hi</v></c>'}})
    tokens = 'r="A1" r="XFD1048576" r="ZZZ9999999" t="e" t="s" t="n" s="1" <row> </row> <c> </c> <v> </v> <f/> <!-- &a;'

    def target(content: bytes) -> None:
        text = content.decode("utf-8", "replace")
        try:
            write_workbook(path, text, shared="<si><t>a</t></si><si><r><t>b</t></r></si>", styles=STYLES)
        except UnicodeEncodeError:
            return
        read_every_way(path)

    fuzz(mutated([rows.encode()], [b" " + token.encode() for token in tokens.split()]), target)
    shared = b"<si><t>a</t></si><si><r><t>b</t></r><rPh><t>c</t></rPh></si>"

    def target_shared(content: bytes) -> None:
        write_workbook(path, rows, shared=content.decode("utf-8", "replace"), styles=STYLES)
        read_every_way(path)

    fuzz(mutated([shared], [b"<si>", b"</si>", b"<t>", b"<rPh>", b"&amp;", b"<!DOCTYPE a>"]), target_shared)


STYLES = '<numFmts><numFmt numFmtId="9" formatCode="d/m"/></numFmts><cellXfs><xf/><xf numFmtId="9"/></cellXfs>'
BLANK = ("", "<c/>", '<c s="1"/>', "  ", '<c t="str"><f>A1</f><v></v></c>')
REFUSED = (
    '<c t="e"><v>#REF!</v></c>',
    '<c t="e"><f>A1</f><v>#N/A</v></c>',
    "<c><f>A1</f></c>",
    '<c t="str"><f>A1</f></c>',
    "<c><f>A1</f><v/></c>",
)


@st.composite
def sheets(draw: st.DrawFn) -> tuple[str, list[tuple[int, str]], list[int]]:
    """The rows of a sheet, its replies with the numbers of their rows, and the numbers of the rows that are refused."""
    xml, replies, refused, number = table({1: {"A": "id", "B": "response"}}), [], [], 1
    for kind in draw(st.lists(st.sampled_from(["reply", "blank", "refused", "stray"]), max_size=8)):
        number += draw(st.sampled_from([1, 1, 2, 1000]))
        cells = {"A": draw(st.sampled_from(BLANK)), "B": draw(st.sampled_from(BLANK))}
        if kind == "reply":
            cells |= {"A": f"n{number}", "B": f"reply {number}"}
            replies.append((number, f"reply {number}"))
        elif kind != "blank":
            place = draw(st.sampled_from("AB")) if kind == "refused" else draw(st.sampled_from(["C", "XFD"]))
            cells[place] = draw(st.sampled_from(REFUSED)) if kind == "refused" else "stray"
            refused.append(number)
        placed = {
            column: text.replace("<c", f'<c r="{column}{number}"', 1) if text.startswith("<c") else text
            for column, text in cells.items()
        }
        xml += table({number: placed})
    return xml, replies, refused


def test_blank_rows_error_cells_and_stray_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"

    def target(case: tuple[str, list[tuple[int, str]], list[int]]) -> None:
        xml, replies, refused = case
        source = Source(write_workbook(path, xml), on_error="skip")
        assert [(line, example.response) for _, line, example in source.numbered()] == replies
        assert [error.line for error in source.skipped.values()] == refused
        if refused:
            with pytest.raises(DataError, match=rf":{refused[0]}: .*cell [A-Z]+{refused[0]} of sheet 'Data'"):
                list(Source(path))

    fuzz(sheets(), target)


def test_paths_that_callers_name() -> None:
    record = foreign.langsmith_runs()[0]

    def target(path: str) -> None:
        with only_our_errors():
            for example in Source([record], {"response": path}):
                check_example(example)

    fuzz(st.text(st.sampled_from("inputs.ouwer0129 "), min_size=1, max_size=20), target)

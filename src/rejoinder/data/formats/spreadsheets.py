"""Text in a CSV file that a spreadsheet would run as a formula.

A cell that begins with =, +, - or @ is computed when the file is opened, and `=HYPERLINK(...)` in a system name could
send data away. An apostrophe in front makes it text, which spreadsheets show without running it. Plain numbers are
harmless and stay. No two texts become the same cell, so that a score file is read back as it was written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

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

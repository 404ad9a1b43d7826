"""Spreadsheets from their XML, with whatever no spreadsheet program would write."""

from __future__ import annotations

import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

_RELATED = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
_REFERENCE = '<Relationship Id="{0}" Type="http://schemas.openxmlformats.org/{1}" Target="{2}"/>'


def cell(reference: str, text: str) -> str:
    """A cell with text, such as that of B3; "" has no reference."""
    at = f' r="{reference}"' if reference else ""
    return f'<c{at} t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'


def table(rows: dict[int, dict[str, str]]) -> str:
    """The rows of a sheet: their number -> column -> text, or a cell's XML."""
    return "".join(
        f'<row r="{number}">'
        + "".join(text if text.startswith("<c") else cell(f"{column}{number}", text) for column, text in cells.items())
        + "</row>"
        for number, cells in rows.items()
    )


def write_workbook(
    path: Path, rows: str, *, shared: str = "", styles: str = "", after: str = "", before: str = "", settings: str = ""
) -> Path:
    """A file whose first sheet, "Data", has these rows and, beside them, texts that are shared, styles and merges."""
    parts = [("r1", "worksheet", "worksheets/sheet1.xml")]
    parts += [("r2", "sharedStrings", "sharedStrings.xml")] * bool(shared) + [("r3", "styles", "styles.xml")] * bool(
        styles
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", _RELATED.format(_REFERENCE.format("r0", "officeDocument", "xl/workbook.xml")))
        archive.writestr(
            "xl/_rels/workbook.xml.rels", _RELATED.format("".join(_REFERENCE.format(*part) for part in parts))
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns:r="r">{settings}<sheets><sheet name="Data" sheetId="1" r:id="r1"/></sheets></workbook>',
        )
        sheet = f"{before}<worksheet><sheetData>{rows}</sheetData>{after}</worksheet>"
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
        if shared:
            archive.writestr("xl/sharedStrings.xml", f"<sst>{shared}</sst>")
        if styles:
            archive.writestr("xl/styles.xml", f"<styleSheet>{styles}</styleSheet>")
    return path

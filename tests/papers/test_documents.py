"""Pages as they are written."""

from __future__ import annotations

from pathlib import Path

from papers.documents import Document, markdown_table
from rejoinder.show.plots import panels, standalone


def test_a_page_with_what_goes_beside_it(tmp_path: Path) -> None:
    document = Document("page")
    document.text("# Title\n", "", "A sentence.")
    document.table(["a", "b"], [["1", "x | y"]])
    document.figure("plot", "<svg></svg>\n")
    document.write(tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text() == (
        "# Title\n\nA sentence.\n\n| a | b |\n| --- | --- |\n| 1 | x \\| y |\n"
    )
    assert (tmp_path / "plot.svg").read_text() == "<svg></svg>\n"


def test_a_table_without_rows_has_a_header() -> None:
    assert markdown_table(["a", "b"], []) == "| a | b |\n| --- | --- |"


def test_a_figure_is_a_file_of_its_own() -> None:
    drawn = standalone('<svg viewBox="0 0 1 1"><g></g></svg>')
    assert drawn.startswith('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><style>')
    assert drawn.endswith("<g></g></svg>\n")


def test_panels_stand_in_rows_and_columns() -> None:
    drawn = panels([["<svg a></svg>", "<svg b></svg>"], ["<svg c></svg>", "<svg d></svg>"]])
    assert 'viewBox="0 0 760 620"' in drawn
    assert '<svg x="380" y="310" width="360" height="300" d>' in drawn

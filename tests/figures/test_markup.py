"""Nothing that came with the data reaches a page unescaped."""

from __future__ import annotations

import json
import re

import pytest

from rejoinder.show.html import html_table, script_json
from rejoinder.show.markup import Html, element, escaped, joined, printable


def test_text_is_escaped_and_markup_is_not() -> None:
    assert element("td", "a < b & c", Html("<b>d</b>")) == "<td>a &lt; b &amp; c<b>d</b></td>"
    assert escaped(escaped("<")) == "&lt;"
    assert joined(["<", Html("<i></i>")], " & ") == "&lt; &amp; <i></i>"


def test_attributes_are_escaped_even_where_they_are_markup() -> None:
    assert element("p", title='"><img src=x>') == '<p title="&quot;&gt;&lt;img src=x&gt;"></p>'
    assert element("p", title=Html('"onload="x')) == '<p title="&quot;onload=&quot;x"></p>'
    assert element("p", aria_label="x", class_="y", hidden=True, id=None, open=False) == (
        '<p aria-label="x" class="y" hidden></p>'
    )


def test_a_formatted_string_is_text_again() -> None:
    assert element("p", f"{Html('<b>')}") == "<p>&lt;b&gt;</p>"


def test_control_characters_become_visible_and_can_be_written_as_utf8() -> None:
    assert printable("a\x00b\x7f\ud800\tc\n") == "a␀b␡\ufffd\tc\n"
    printable("\udfff 👍").encode()


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "\u2028", "&amp;", "<script", "ﷺ \\ \" '"])
def test_embedded_json_holds_no_markup_and_reads_back(text: str) -> None:
    markup = script_json({"text": [text]}, "data")
    inside = re.fullmatch('<script type="application/json" id="data">(.*)</script>', markup, re.DOTALL)
    assert inside is not None
    assert not set("<>&\u2028") & set(inside[1])
    assert json.loads(inside[1]) == {"text": [text]}


def test_embedded_json_refuses_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json([float("nan")], "data")


def test_table_escapes_every_cell_and_its_caption() -> None:
    markup = html_table(["<h>", "n"], [["<a>", "<b>"]], caption="<c>")
    for text in ("<h>", "<a>", "<b>", "<c>"):
        assert text not in markup
        assert str(escaped(text)) in markup
    assert '<th scope="row">&lt;a&gt;</th><td class="number">&lt;b&gt;</td>' in markup


def test_table_refuses_a_row_of_another_length() -> None:
    with pytest.raises(ValueError, match="a row has 1 cells: expected 2"):
        html_table(["a", "b"], [["only one"]], caption="c")

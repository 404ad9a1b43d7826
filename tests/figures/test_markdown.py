"""Replies in Markdown as HTML: what becomes an element, and that nothing else does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.show.markdown import markdown_html

REPLY = """Two things **first**:

1. Open *Settings*
2. Choose `Language`

```html
<b>
```

| a | b |
|---|---|
| 1 | 2 |

# Then
> restart
> the phone"""
ELEMENTS = set("p ul ol li blockquote table thead tbody tr th td strong em pre code br hr".split())


def test_lists_tables_code_and_headings_become_elements() -> None:
    assert markdown_html(REPLY) == (
        "<p>Two things <strong>first</strong>:</p>"
        "<ol><li>Open <em>Settings</em></li><li>Choose <code>Language</code></li></ol>"
        "<pre><code>&lt;b&gt;\n</code></pre>"
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>"
        '<p class="heading"><strong>Then</strong></p><blockquote><p>restart<br>the phone</p></blockquote>'
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hi there!",
        "*waves* hello",
        "3 * 4 * 5",
        "2016. That was a good year.",
        "- no, thanks",
        "a\n---\nb",
        "I said\n    hello",
        "x" * 30_000,
    ],
)
def test_what_people_type_in_chat_stays_as_it_is(text: str) -> None:
    assert markdown_html(text) is None


@pytest.mark.parametrize(
    "attack",
    [
        "[x](javascript:alert(1))",
        "![x](https://example.org/a.png)",
        "<https://example.org>",
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[x]\n\n[x]: https://example.org",
        '```"><script>alert(1)</script>\nx\n```',
        "`<b onclick=alert(1)>`",
        "\x1b[31m\x00",
    ],
)
def test_links_images_and_markup_stay_text(attack: str) -> None:
    found = markdown_html(f"- **bold**\n- {attack}\n\n{attack}")
    assert found is not None
    assert_harmless(found)


@given(st.text(alphabet=st.sampled_from("ab *_`#|->1.)[]()!<&\"'\n\t\\~:=\x00\u202e"), max_size=80))
def test_any_text_gives_only_known_elements_without_attributes(text: str) -> None:
    found = markdown_html(text)
    if found is not None:
        assert_harmless(found)


def assert_harmless(found: str) -> None:
    tags = re.findall(r"<[^>]*>", found)
    for tag in tags:
        match = re.fullmatch(r'</?(\w+)(?: class="heading"| start="\d+")?>', tag)
        assert match, tag
        assert match[1] in ELEMENTS
    assert "<" not in re.sub(r"<[^>]*>", "", found)
    assert not re.search(r"[\x00-\x08\x1b]", found)

"""Results in a notebook: the text of the terminal as HTML, with everything from the data escaped."""

from __future__ import annotations

import html

from rejoinder.text.terminal import terminal_safe

NOTEBOOK_WIDTH = 110
"""Characters that fit into the width of a notebook."""


def text_html(text: str) -> str:
    """The text in a box that keeps its columns aligned."""
    return f'<pre style="line-height: 1.3">{html.escape(terminal_safe(text, newlines=True))}</pre>'

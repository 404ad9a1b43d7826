"""Data as JSON inside a page, escaped so that no text in it can end its script element."""

from __future__ import annotations

import json
from typing import Any

from rejoinder.figures.markup import Html, element

# "<" starts "</script>" and "<!--"; ">" and "&" are escaped too, so that no markup remains.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def script_json(value: Any, element_id: str) -> Html:
    """A script element with JSON, which a browser does not execute."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # JSON has these characters only inside strings, where the escapes are valid.
    return element("script", Html(text.translate(_ESCAPES)), type="application/json", id=element_id)

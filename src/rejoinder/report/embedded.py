"""Data as JSON inside a page, written so that no text in it can end the script element that holds it."""

from __future__ import annotations

import json
from typing import Any

from rejoinder.report.markup import Html, element

# "<" alone starts "</script>" and "<!--"; ">" and "&" go with it so that no markup is left at all.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def script_json(value: Any, element_id: str) -> Html:
    """A script element of JSON, which a browser reads but never runs."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Outside of strings JSON has none of these characters, so the escapes stand in strings only.
    return element("script", Html(text.translate(_ESCAPES)), type="application/json", id=element_id)

"""Texts that break careless code: invisible characters, markup, escapes, very long words."""

from __future__ import annotations

HOSTILE = [
    "",
    " ",
    "\t\n",
    "\u200b",
    "\ufeff",
    "a" * 5000,
    "﷽" * 50,
    "e\u0301" * 20,
    "<script>",
    "{{x}}",
    "%s %n",
    "\\",
    "\r\n",
    "a\u2028b",
]

"""Text and tables for LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.text.terminal import one_line

_ESCAPES = {
    **{character: rf"\{character}" for character in "&%_#${}"},
    "<": "$<$",
    ">": "$>$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


def latex_safe(text: str) -> str:
    """The text on one line, with escapes for the characters that mean something to LaTeX."""
    return "".join(_ESCAPES.get(character, character) for character in one_line(text))


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A booktabs table; the first `left` columns are flush left. Cells are LaTeX: escape text with `latex_safe`."""
    lines = [rf"\begin{{tabular}}{{{'l' * left}{'r' * (len(header) - left)}}}", r"\toprule"]
    lines += [rf"{' & '.join(header)} \\", r"\midrule"]
    lines += [rf"{' & '.join(row)} \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])

"""Text to tokens, a whole column at once in polars.

`words`       our default: a run of letters, digits and marks, with inner apostrophes, is a token; so is every other
              visible character. Scripts that write no spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) go by the
              character with its marks: no dictionary is needed and identical replies are identical.
`whitespace`  what stands between spaces: the papers' corpora come tokenised.
`13a`         mteval-v13a as sacreBLEU's default has it; `intl`: mteval-v14's international one, likewise.
`rouge`       what rouge-score does: lower-cased ASCII letters and digits only.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from rejoinder.errors import UnknownNameError

# Python's str.split also breaks at these four separators, which a regex's \s leaves out.
_BETWEEN_SPACES = r"[^\s\x1c-\x1f]+"
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*"
_WORDS = rf"{_UNSPACED}|[\p{{L}}\p{{N}}\p{{M}}]+(?:['’][\p{{L}}\p{{N}}\p{{M}}]+)*|\S"


def _words(column: pl.Expr) -> pl.Expr:
    return column.str.extract_all(_WORDS)


def _whitespace(column: pl.Expr) -> pl.Expr:
    return column.str.extract_all(_BETWEEN_SPACES)


def _mteval_13a(column: pl.Expr) -> pl.Expr:
    for old, new in (("<skipped>", ""), ("-\n", ""), ("\n", " ")):
        column = column.str.replace_all(old, new, literal=True)
    for old, new in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        column = column.str.replace_all(old, new, literal=True)
    column = pl.format(" {} ", column)
    for pattern, new in (
        (r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", " ${1} "),
        (r"([^0-9])([\.,])", "${1} ${2} "),  # a full stop or comma, unless a digit is before it
        (r"([\.,])([^0-9])", " ${1} ${2}"),  # ... or after it
        (r"([0-9])(-)", "${1} ${2} "),
    ):
        column = column.str.replace_all(pattern, new)
    return _whitespace(column)


def _mteval_intl(column: pl.Expr) -> pl.Expr:
    for pattern, new in (
        (r"(\P{N})(\p{P})", "${1} ${2} "),
        (r"(\p{P})(\P{N})", " ${1} ${2}"),
        (r"(\p{S})", " ${1} "),
    ):
        column = column.str.replace_all(pattern, new)
    return _whitespace(column)


def _rouge(column: pl.Expr) -> pl.Expr:
    return column.str.to_lowercase().str.extract_all(r"[a-z0-9]+")


TOKENISERS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "words": _words,
    "whitespace": _whitespace,
    "13a": _mteval_13a,
    "intl": _mteval_intl,
    "rouge": _rouge,
}


def tokenise(texts: pl.Series, tokeniser: str, *, lowercase: bool) -> pl.Series:
    """A list of tokens a text."""
    if tokeniser not in TOKENISERS:
        raise UnknownNameError("tokeniser", tokeniser, TOKENISERS)
    column = pl.col("text").str.to_lowercase() if lowercase else pl.col("text")
    frame = texts.rename("text").to_frame()
    return frame.select(tokens=TOKENISERS[tokeniser](column))["tokens"]

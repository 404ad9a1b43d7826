"""Text to tokens, for a whole polars column at once.

`words`       the default: a token is a run of letters, digits and marks with inner apostrophes and joiners, an emoji
              with its modifiers, or any other visible character. In scripts without spaces (Chinese, Japanese, Thai,
              Lao, Khmer, Burmese) each character with its marks is a token: no dictionary is needed.
`whitespace`  split at white space, for corpora that are already tokenised.
`13a`         mteval-v13a, sacreBLEU's default; `intl`: the international tokeniser of mteval-v14, as in sacreBLEU.
`rouge`       as in rouge-score: lower-case ASCII letters and digits only.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from rejoinder.arrays import Ragged
from rejoinder.data.formats.parquet import check_polars_threads
from rejoinder.errors import UnknownNameError
from rejoinder.text.coding import coded_lists

# Python's str.split and str.rstrip also treat these four separators as white space, unlike \s in a polars regex.
_BETWEEN_SPACES = r"[^\s\x1c-\x1f]+"
WHITE_SPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
"""The characters that Python treats as white space; the last one is U+3000, the ideographic space."""

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
# Japanese signs without a script property, which lengthen or voice the preceding character.
_PROLONGED = r"\u{30fc}\u{ff70}\u{ff9e}\u{ff9f}"
_CHARACTER = rf"[{_UNSPACED}][\p{{M}}{_PROLONGED}]*"
_LETTERS = rf"[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}{_PROLONGED}]]+"
_INSIDE_A_WORD = r"['’\u{200c}\u{200d}]"  # apostrophes; joiners of Persian and of Indian scripts
_EMOJI = r"\p{Extended_Pictographic}[\p{Emoji_Modifier}\u{fe0f}]*"
_WORDS = rf"{_CHARACTER}|{_LETTERS}(?:{_INSIDE_A_WORD}{_LETTERS})*|{_EMOJI}(?:\u{{200d}}{_EMOJI})*|\p{{RI}}\p{{RI}}|\S"


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
_SEES_SPACES = {"intl"}  # treats punctuation next to a space differently from punctuation at the edge of a text


def tokenise(texts: pl.Series, tokeniser: str, *, lowercase: bool) -> pl.Series:
    """One list of tokens per text."""
    return _tokens(_trimmed(texts, tokeniser), tokeniser, lowercase)


def token_codes(texts: pl.Series, tokeniser: str, *, lowercase: bool) -> tuple[pl.Series, Ragged]:
    """The distinct tokens of all texts, and each text as codes into them."""
    texts = _trimmed(texts, tokeniser)
    if tokeniser in _SEES_SPACES:
        return coded_lists(_tokens(texts, tokeniser, lowercase))
    # No token spans a space or depends on what is beyond one, so each distinct piece is tokenised once.
    pieces, rows = coded_lists(texts.str.split(" "))
    vocabulary, parts = coded_lists(_tokens(pieces, tokeniser, lowercase))
    tokens = parts.take(rows.values)  # one row per piece
    return vocabulary, Ragged(tokens.values, tokens.offsets[rows.offsets])


def _trimmed(texts: pl.Series, tokeniser: str) -> pl.Series:
    """The texts, without trailing white space for tokenisers where sacreBLEU removes it."""
    return texts.str.strip_chars_end(WHITE_SPACE) if tokeniser in {"13a", "intl"} else texts


def _tokens(texts: pl.Series, tokeniser: str, lowercase: bool) -> pl.Series:
    check_polars_threads()
    if tokeniser not in TOKENISERS:
        raise UnknownNameError("tokeniser", tokeniser, TOKENISERS)
    column = pl.col("text").str.to_lowercase() if lowercase else pl.col("text")
    return texts.rename("text").to_frame().select(tokens=TOKENISERS[tokeniser](column))["tokens"]

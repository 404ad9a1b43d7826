"""Text to tokens, a whole column at once in polars.

`words`       our default: a run of letters, digits and marks, with inner apostrophes and joiners, is a token; so is an
              emoji with what modifies it, and every other visible character. Scripts that write no spaces (Chinese,
              Japanese, Thai, Lao, Khmer, Burmese) go by the character with its marks: no dictionary is needed and
              identical replies are identical.
`whitespace`  what stands between spaces: the papers' corpora come tokenised.
`13a`         mteval-v13a as sacreBLEU's default has it; `intl`: mteval-v14's international one, likewise.
`rouge`       what rouge-score does: lower-cased ASCII letters and digits only.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from rejoinder.arrays import Ragged
from rejoinder.errors import UnknownNameError
from rejoinder.text.coding import coded_lists

# Python's str.split and str.rstrip also know these four separators, which a regex's \s leaves out.
_BETWEEN_SPACES = r"[^\s\x1c-\x1f]+"
WHITE_SPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
"""What Python takes for white space; none comes after the ideographic space, U+3000."""

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
# Of no script of their own: Japanese signs that lengthen or voice the character before them.
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
_SEES_SPACES = {"intl"}  # to it, punctuation beside a space is not what it is at a text's edge


def tokenise(texts: pl.Series, tokeniser: str, *, lowercase: bool) -> pl.Series:
    """A list of tokens a text."""
    return _tokens(_trimmed(texts, tokeniser), tokeniser, lowercase)


def token_codes(texts: pl.Series, tokeniser: str, *, lowercase: bool) -> tuple[pl.Series, Ragged]:
    """The different tokens of all texts, and each text as codes into them."""
    texts = _trimmed(texts, tokeniser)
    if tokeniser in _SEES_SPACES:
        return coded_lists(_tokens(texts, tokeniser, lowercase))
    # No token reaches over a space, nor depends on what is beyond it: each different piece is tokenised once.
    pieces, rows = coded_lists(texts.str.split(" "))
    vocabulary, parts = coded_lists(_tokens(pieces, tokeniser, lowercase))
    tokens = parts.take(rows.values)  # a row a piece
    return vocabulary, Ragged(tokens.values, tokens.offsets[rows.offsets])


def _trimmed(texts: pl.Series, tokeniser: str) -> pl.Series:
    """The texts without white space at their end, where sacreBLEU takes it off."""
    return texts.str.strip_chars_end(WHITE_SPACE) if tokeniser in {"13a", "intl"} else texts


def _tokens(texts: pl.Series, tokeniser: str, lowercase: bool) -> pl.Series:
    if tokeniser not in TOKENISERS:
        raise UnknownNameError("tokeniser", tokeniser, TOKENISERS)
    column = pl.col("text").str.to_lowercase() if lowercase else pl.col("text")
    return texts.rename("text").to_frame().select(tokens=TOKENISERS[tokeniser](column))["tokens"]

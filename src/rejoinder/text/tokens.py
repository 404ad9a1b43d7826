"""Text to tokens, for a whole column at once; the tokens as numbers; text cleaned for reading."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, offsets_of
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.threads import check_polars_threads

# Text to tokens, for a whole polars column at once.
#
# `words`       the default: a token is a run of letters, digits and marks with inner apostrophes and joiners, an emoji
#               with its modifiers, or any other visible character. In scripts without spaces (Chinese, Japanese, Thai,
#               Lao, Khmer, Burmese) each character with its marks is a token: no dictionary is needed.
# `whitespace`  split at white space, for corpora that are already tokenised.
# `13a`         mteval-v13a, sacreBLEU's default; `intl`: the international tokeniser of mteval-v14, as in sacreBLEU.
# `rouge`       as in rouge-score: lower-case ASCII letters and digits only.
# `zh`          as in sacreBLEU: each Chinese character by itself, the rest as in 13a.
# `char`        as in sacreBLEU: each visible character by itself.
# `ja-mecab`    as in sacreBLEU: Japanese words by MeCab with the dictionary IPA; `ko-mecab`: Korean words by MeCab-ko.
# `auto`        what sacreBLEU recommends for the language of the text: zh, ja-mecab or ko-mecab by script, else 13a.


# Python's str.split and str.rstrip also treat these four separators as white space, unlike \s in a polars regex.
_BETWEEN_SPACES = r"[^\s\x1c-\x1f]+"
WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))
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
    return _whitespace(_punctuation_apart(pl.format(" {} ", column)))


def _punctuation_apart(column: pl.Expr) -> pl.Expr:
    """The rules of mteval-v13a for ASCII punctuation."""
    for pattern, new in (
        (r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", " ${1} "),
        (r"([^0-9])([\.,])", "${1} ${2} "),  # a full stop or comma, unless a digit is before it
        (r"([\.,])([^0-9])", " ${1} ${2}"),  # ... or after it
        (r"([0-9])(-)", "${1} ${2} "),
    ):
        column = column.str.replace_all(pattern, new)
    return column


# The characters that sacreBLEU's tokeniser zh takes for Chinese. Two of its ranges were meant for code points beyond
# U+FFFF and are written with four digits, so that they cover U+2001 to U+2A6D (quotation marks, dashes, arrows) and
# U+2F81 to U+2FA1 instead.
_CHINESE = (
    r"[\u{2001}-\u{2a6d}\u{2e80}-\u{2fdf}\u{2ff0}-\u{303f}\u{3100}-\u{312f}\u{31a0}-\u{31bf}\u{31c0}-\u{31ef}"
    r"\u{3200}-\u{33ff}\u{3400}-\u{4db5}\u{4e00}-\u{9fbb}\u{f900}-\u{fa2d}\u{fa30}-\u{fa6a}\u{fa70}-\u{fad9}"
    r"\u{fe10}-\u{fe1f}\u{fe30}-\u{fe4f}\u{ff00}-\u{ffef}]"
)


def _chinese(column: pl.Expr) -> pl.Expr:
    column = column.str.strip_chars(WHITE_SPACE)
    return _whitespace(_punctuation_apart(column.str.replace_all(f"({_CHINESE})", " ${1} ")))


def _characters(column: pl.Expr) -> pl.Expr:
    return column.str.extract_all(r"[^\s\x1c-\x1f]")


_MECAB = {"ja-mecab": ("japanese", 392_126), "ko-mecab": ("korean", 811_795)}
"""Tokeniser -> our extra with MeCab and its dictionary, and the dictionary's size, since another gives other tokens."""


@cache
def _tagger(tokeniser: str) -> Callable[[str], str]:
    """MeCab with its dictionary: text to words with spaces between them."""
    from rejoinder.folders.sources import EXTRAS, require_extra  # imports a part of urllib that takes long

    extra, size = _MECAB[tokeniser]
    require_extra(extra, f"the tokeniser {tokeniser}")
    mecab, dictionary = map(import_module, EXTRAS[extra])
    tagger = mecab.Tagger(f"{dictionary.MECAB_ARGS} -Owakati")
    found = tagger.dictionary_info()
    if found.size != size or found.next is not None:
        raise CallError(
            f"{tokeniser} needs the dictionary of {dictionary.__name__} alone ({size:,} words): MeCab has loaded one "
            f"of {found.size:,} words"
        )
    parse: Callable[[str], str] = tagger.parse
    return parse


def _mecab_words(texts: pl.Series, tokeniser: str) -> pl.Series:
    parse = _tagger(tokeniser)
    return pl.Series([parse(text).split() for text in texts.str.strip_chars(WHITE_SPACE)], dtype=pl.List(pl.String))


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
    "zh": _chinese,
    "char": _characters,
}
AUTO = "auto"
"""The tokeniser that depends on the language of the text."""
TOKENISER_NAMES = (*TOKENISERS, *_MECAB, AUTO)
_SEES_SPACES = {"intl", "zh", *_MECAB}
"""These treat text next to a space differently from text at the edge."""
_OF_SCRIPT = (("ja-mecab", r"[\p{Hiragana}\p{Katakana}]"), ("ko-mecab", r"\p{Hangul}"), ("zh", r"\p{Han}"))
"""The first whose script a text has: Japanese has Chinese characters too."""


def tokenisers_of(texts: pl.Series) -> pl.Series:
    """The tokeniser that `auto` stands for, by the script of each text."""
    chosen = pl.lit("13a")
    for tokeniser, script in reversed(_OF_SCRIPT):
        chosen = pl.when(pl.col("text").str.contains(script)).then(pl.lit(tokeniser)).otherwise(chosen)
    return texts.rename("text").to_frame().select(tokeniser=chosen)["tokeniser"]


def tokenise(texts: pl.Series, tokeniser: str, *, lowercase: bool) -> pl.Series:
    """One list of tokens per text."""
    return _tokens(_trimmed(texts, tokeniser), tokeniser, lowercase)


def token_codes_by_language(texts: pl.Series, tokenisers: pl.Series, *, lowercase: bool) -> tuple[pl.Series, Ragged]:
    """As `token_codes`, with a tokeniser for each text."""
    groups = [(tokenisers == name).arg_true() for name in tokenisers.unique(maintain_order=True)]
    names = [tokenisers[int(rows[0])] for rows in groups]
    lists = [tokenise(texts.gather(rows), name, lowercase=lowercase) for rows, name in zip(groups, names, strict=True)]
    order = np.argsort(np.concatenate([np.empty(0, np.int64), *(rows.to_numpy() for rows in groups)]))
    return coded_lists(pl.concat([pl.Series(dtype=pl.List(pl.String)), *lists]).gather(order))


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
    if tokeniser in _MECAB:
        return _mecab_words(texts.str.to_lowercase() if lowercase else texts, tokeniser)
    if tokeniser not in TOKENISERS:
        raise UnknownNameError("tokeniser", tokeniser, TOKENISER_NAMES)
    column = pl.col("text").str.to_lowercase() if lowercase else pl.col("text")
    return texts.rename("text").to_frame().select(tokens=TOKENISERS[tokeniser](column))["tokens"]


# Strings and hashes to dense integer codes: a column of words has few distinct ones, and small integers are fast.


Hashes = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: an odd constant for multiplicative hashing (Knuth)."""

# glibc returns a large array's memory to the system when it is freed, and requests it again, page by page, for the next
# array. Once a block of this size was freed, it keeps up to twice as much (mallopt(3), M_MMAP_THRESHOLD), which makes
# the metrics a fifth faster. Nothing is written to the block, so it costs no memory.
np.empty(1 << 24, np.uint8)


def coded_lists(lists: pl.Series) -> tuple[pl.Series, Ragged]:
    """The distinct strings in a column of lists, and the lists as codes into them."""
    offsets = offsets_of(lists.list.len().to_numpy().astype(np.int64))
    words, codes = coded(lists.explode(empty_as_null=False, keep_nulls=False))
    return words, Ragged(codes, offsets)


def coded(strings: pl.Series) -> tuple[pl.Series, Ints]:
    """The distinct strings of a column, and the column as codes into them."""
    same = place_of_equal(strings.hash().to_numpy())
    if not (strings.gather(same) == strings).all():  # two strings with the same 64-bit hash
        return _interned(strings)
    code = np.arange(len(same))
    chosen = np.flatnonzero(same == code)
    code[chosen] = np.arange(len(chosen))
    return strings.gather(chosen), code.take(same)


def place_of_equal(hashes: Hashes) -> NDArray[np.int32]:
    """For each hash the position of one equal to it: the same position for all equal hashes."""
    bits = max(1, len(hashes).bit_length())
    table = np.empty(1 << bits, np.int32)

    def last_in_slot(places: NDArray[np.int32], mixed: Hashes) -> NDArray[np.int32]:
        slot = (mixed >> np.uint64(64 - bits)).view(np.int64)
        table[slot] = places
        return table.take(slot)

    found = last_in_slot(np.arange(len(hashes), dtype=np.int32), hashes)
    waiting = np.flatnonzero(hashes.take(found) != hashes).astype(np.int32)
    mixed = hashes[waiting]
    while len(waiting):  # each round settles the hashes that equal the last one in their slot
        mixed = mixed * GOLDEN
        found[waiting] = last_in_slot(waiting, mixed)
        missed = hashes.take(found[waiting]) != hashes[waiting]
        waiting, mixed = waiting[missed], mixed[missed]
    return found


def _interned(strings: pl.Series) -> tuple[pl.Series, Ints]:
    """The same through polars' categories, which compare whole strings and are slower."""
    categories = pl.Categories.random()  # its own, so that codes are dense
    column = strings.cast(pl.Categorical(categories))
    return categories.to_series(), column.to_physical().to_numpy().astype(np.int64)


# What can be removed from texts before they are compared, as published evaluations did.
#
# `speakers`     leading speaker tokens: <first_speaker>, <second_speaker> ... (Lowe et al. 2017, Table 10)
# `stopwords`    English function words (Liu et al. 2016, Table 4)
# `punctuation`  tokens without a letter or digit (Liu et al. 2016, Table 4)


STRIPPABLE = ("speakers", "stopwords", "punctuation")

_SPEAKER = r"^(?:\s*<(?:first|second|third|next|fourth|fifth)_speaker>\s*)+"

# Closed-class words of English, written out here so that no score depends on a download. As other lists do, it
# contains contractions both whole and split as in tokenised corpora.
STOP_WORDS = frozenset(
    """
    a an the this that these those
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
    she her hers herself it its itself they them their theirs themselves one ones
    who whom whose which what when where why how
    am is are was were be been being do does did doing done have has had having
    can could may might must shall should will would ought need dare
    and or but nor so yet if because as until while although though unless since whether than
    of at by for with about against between into through during before after above below to from up down in out on off
    over under again further then once here there upon within without toward towards among along across per via
    all any both each few more most other some such no not only own same too very just also even ever never now
    'm 's 're 've 'd 'll n't ca wo sha ain't aren't can't couldn't didn't doesn't don't hadn't hasn't haven't isn't
    mightn't mustn't needn't shan't shouldn't wasn't weren't won't wouldn't
    i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll we're we've we'd
    we'll they're they've they'd they'll that's that'd that'll there's there'd there'll here's what's who's where's
    when's why's how's let's
    """.split()
)


def parse_strip(strip: str) -> frozenset[str]:
    """'speakers+stopwords' -> {'speakers', 'stopwords'}; 'none' -> the empty set."""
    parts = frozenset() if strip in {"", "none"} else frozenset(strip.split("+"))
    for part in parts:
        if part not in STRIPPABLE:
            raise UnknownNameError("value of strip:", part, [*STRIPPABLE, "none"])
    return parts


def strip_speakers(texts: pl.Series) -> pl.Series:
    """The texts without their leading speaker tokens."""
    return texts.str.replace(_SPEAKER, "")


def dropped_words(vocabulary: pl.Series, parts: frozenset[str]) -> pl.Series:
    """Which words of a vocabulary are removed. (vocabulary,) of booleans"""
    dropped = pl.repeat(False, len(vocabulary), eager=True)
    if "stopwords" in parts:
        dropped |= vocabulary.str.to_lowercase().str.replace_all("’", "'").is_in(list(STOP_WORDS))
    if "punctuation" in parts:
        dropped |= ~vocabulary.str.contains(r"[\p{L}\p{N}]")
    return dropped


def writable(text: str) -> str:
    """The text with a question mark for each lone surrogate, which cannot be encoded as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()

"""What can be removed from texts before they are compared, as published evaluations did.

`speakers`     leading speaker tokens: <first_speaker>, <second_speaker> ... (Lowe et al. 2017, Table 10)
`stopwords`    English function words (Liu et al. 2016, Table 4)
`punctuation`  tokens without a letter or digit (Liu et al. 2016, Table 4)
"""

from __future__ import annotations

import polars as pl

from rejoinder.errors import UnknownNameError

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

"""The language of a text, by py3langid; "unknown" where the text is too short to be sure.

docs/results/language-identification.md compares libraries on short turns, and says how the limits were found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any
from unicodedata import category

UNKNOWN_LANGUAGE = "unknown"

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "ar": "Arabic",
        "bg": "Bulgarian",
        "bn": "Bengali",
        "ca": "Catalan",
        "cs": "Czech",
        "da": "Danish",
        "de": "German",
        "el": "Greek",
        "en": "English",
        "es": "Spanish",
        "et": "Estonian",
        "fa": "Persian",
        "fi": "Finnish",
        "fr": "French",
        "he": "Hebrew",
        "hi": "Hindi",
        "hr": "Croatian",
        "hu": "Hungarian",
        "id": "Indonesian",
        "it": "Italian",
        "ja": "Japanese",
        "ko": "Korean",
        "lt": "Lithuanian",
        "lv": "Latvian",
        "ms": "Malay",
        "nl": "Dutch",
        "no": "Norwegian",
        "pl": "Polish",
        "pt": "Portuguese",
        "ro": "Romanian",
        "ru": "Russian",
        "sk": "Slovak",
        "sl": "Slovenian",
        "sr": "Serbian",
        "sv": "Swedish",
        "sw": "Swahili",
        "ta": "Tamil",
        "th": "Thai",
        "tl": "Tagalog",
        "tr": "Turkish",
        "uk": "Ukrainian",
        "ur": "Urdu",
        "vi": "Vietnamese",
        "zh": "Chinese",
    }
)
"""Code -> name of the languages that are told apart."""

SURE = 0.4
"""The probability from which the language of a text is taken as known."""
SURE_OF_FEW = 0.6
"""The same for a text with fewer than FEW_LETTERS letters."""
FEW_LETTERS = 15
SURE_BY_SCRIPT = 0.2
"""The same for a text whose letters are mostly not Latin: few languages share a script."""
FEWEST_LETTERS = 6
"""Texts with fewer Latin letters are not looked at: "ok", "haha"."""
_FEWEST_OTHERS = 2
_MOST_CHARACTERS = 120
"""The beginning of a text that is read: more would not change the answer."""
_CACHED = 65_536
_SURE_OF_SEVERAL = 0.9
FEWEST_POOLED = 3
"""Different texts below which nothing follows from all of them together."""
_LEAST_PROBABILITY = 1e-3
"""No single text makes a language less probable than this: it may be a name, or a slip."""
_SHORTEST_ITEM = 4
"""Words of an item of a list, a heading or a row of a table, from which it counts as a sentence and not as a name."""
_MARKUP = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`"  # code
    r"|<!--.*?-->|</?[A-Za-z][^<>]*>|&#?\w+;"  # HTML
    r"|(?:https?://|www\.)\S+|\S+@\S+",
    re.DOTALL,
)
_MARKED_LINE = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|\|)[ \t]*")
_HAS_MARKUP = re.compile(r"[`<&|@#*•]|://|www\.|\n[ \t]*(?:[-+]|\d)|~~~|^[ \t]*[-+\d]")
_ENGLISH = frozenset(
    "the you that and have it's don't for they are what know think would with just about really how there this your my "
    "i'm i've i'll you're that's if she could should want been were because yes some when from get to do one".split()
)
_LAST_LATIN = "\u024f"


def languages(texts: Iterable[str]) -> list[str]:
    """The code of each text's language (ISO 639-1), or "unknown"."""
    return list(map(language, texts))


@lru_cache(_CACHED)
def language(text: str) -> str:
    """The code of the text's language (ISO 639-1), or "unknown"."""
    beginning = prose(text)[:_MOST_CHARACTERS]
    letters = list(filter(str.isalpha, beginning))
    others = sum(letter > _LAST_LATIN for letter in letters)
    by_script = 2 * others > len(letters)
    if others < _FEWEST_OTHERS if by_script else len(letters) < FEWEST_LETTERS:
        return UNKNOWN_LANGUAGE
    if not others and _is_plainly_english(beginning):
        return "en"
    # Lone surrogates cannot be encoded.
    found, probability = _identifier().classify(beginning.encode("utf-8", "replace").decode())
    needed = SURE_BY_SCRIPT if by_script else SURE_OF_FEW if len(letters) < FEW_LETTERS else SURE
    return str(found) if probability >= needed else UNKNOWN_LANGUAGE


def prose(text: str) -> str:
    """The text without code, HTML, addresses and symbols such as emoji, and without short items of lists, headings and
    rows of tables, which are often names."""
    if _HAS_MARKUP.search(text):
        lines = []
        for line in _MARKUP.sub(" ", text).splitlines():
            bare = _MARKED_LINE.sub("", line, count=1) if _MARKED_LINE.match(line) else line
            if bare == line or len(bare.split()) >= _SHORTEST_ITEM:
                lines.append(bare)
        text = "\n".join(lines)
    return text if text.isascii() else "".join(" " if category(sign)[0] in "SC" else sign for sign in text)


def evidence(text: str) -> tuple[float, ...]:
    """How probable each of NAMES is for a text, as logarithms, up to a constant."""
    found = dict(_identifier().rank(prose(text)[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()))
    return tuple(math.log(max(found.get(code, 0.0), _LEAST_PROBABILITY)) for code in NAMES)


def language_of_all(found: Sequence[Sequence[float]]) -> str:
    """The code of the language that short texts are in which cannot be told one by one, by the `evidence` of each; or
    "unknown"."""
    if len(found) < FEWEST_POOLED:
        return UNKNOWN_LANGUAGE
    sums = [sum(column) for column in zip(*found, strict=True)]
    most = max(sums)
    share = 1 / sum(math.exp(each - most) for each in sums)
    return list(NAMES)[sums.index(most)] if share >= _SURE_OF_SEVERAL else UNKNOWN_LANGUAGE


def _is_plainly_english(text: str) -> bool:
    """Whether at least two words, and a fifth of all, are common in English alone: most text is, and it is quick."""
    words = text.lower().split()
    found = _ENGLISH.intersection(word.strip('.,!?;:"') for word in words)
    return len(found) >= 2 and 5 * len(found) >= len(words)


def name_of(code: str) -> str:
    """'French' for "fr"; the code itself where it has no name here."""
    return NAMES.get(code, code)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    # Without rare neighbours of English, such as Nigerian Pidgin, which chat is often taken for.
    identifier.set_languages(list(NAMES))
    return identifier

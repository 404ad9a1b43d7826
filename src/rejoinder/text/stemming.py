"""English stems by Porter's second algorithm ("Porter2"), in the version that METEOR 1.5 was published with.

The rules are those of https://snowballstem.org/algorithms/english/stemmer.html before Snowball 3 changed them:
`snowballstemmer` 3 stems "added", "evening" and "organize" differently from version 2, so a score based on it would
depend on the installed version. Stems are cached.

Terms of the algorithm: R1 is what follows the first non-vowel after a vowel, R2 is the same within R1; a
"short syllable" is a vowel between two non-vowels of which the second is not w, x or Y, or an initial vowel
before a non-vowel. A capital Y marks a y that acts as a consonant.
"""

from __future__ import annotations

import re
from functools import lru_cache

_VOWELS = frozenset("aeiouy")
_TO_NON_VOWEL = re.compile(r"[^aeiouy]*[aeiouy]+[^aeiouy]", re.DOTALL)
_LONG_PREFIX = re.compile("gener|commun|arsen")  # words that would otherwise share a stem: general, generous
_CONSONANT_Y = re.compile(r"(^|[aeiouy])y")
_HAS_VOWEL = re.compile("[aeiouy]")
_ENDS_IN_SHORT_SYLLABLE = re.compile(r"(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy])\Z", re.DOTALL)
_DOUBLES = frozenset(("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"))

_WHOLE_WORDS = {
    "skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "idly": "idl",
    "gently": "gentl", "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl", "sky": "sky",
    "news": "news", "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}  # fmt: skip
_DONE_AFTER_PLURAL = frozenset(("inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"))

_Rules = dict[str, tuple[tuple[str, str], ...]]


def _by_ending(replacements: dict[str, str]) -> _Rules:
    """The last two letters of a suffix -> (suffix, replacement) of all suffixes with that ending, longest first."""
    endings = {suffix[-2:] for suffix in replacements}
    longest_first = sorted(replacements.items(), key=lambda rule: -len(rule[0]))
    return {end: tuple(rule for rule in longest_first if rule[0].endswith(end)) for end in endings}


_STEP_1B = _by_ending(dict.fromkeys(("eedly", "ingly", "edly", "eed", "ing", "ed"), ""))
# Suffix -> replacement, if the suffix lies in R1 (steps 2 and 3) or in R2 (step 4).
_STEP_2 = _by_ending({
    "tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent", "izer": "ize",
    "ization": "ize", "ational": "ate", "ation": "ate", "ator": "ate", "alism": "al", "aliti": "al",
    "alli": "al", "fulness": "ful", "ousli": "ous", "ousness": "ous", "iveness": "ive", "iviti": "ive",
    "biliti": "ble", "bli": "ble", "fulli": "ful", "lessli": "less", "ogi": "og", "li": "",
})  # fmt: skip
_STEP_3 = _by_ending({
    "tional": "tion", "ational": "ate", "alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic", "ful": "",
    "ness": "", "ative": "",
})  # fmt: skip
_STEP_4 = _by_ending(dict.fromkeys((
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ism", "ate", "iti",
    "ous", "ive", "ize", "ion",
), ""))  # fmt: skip
_BEFORE_LI = frozenset("cdeghkmnrt")


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """The stem of one lower-case word; a word of one or two letters is its own stem."""
    if len(word) <= 2:
        return word
    if word in _WHOLE_WORDS:
        return _WHOLE_WORDS[word]
    word = _with_consonant_y(word.removeprefix("'"))
    r1, r2 = _regions(word)
    word = _without_plural(_without_genitive(word))
    if word not in _DONE_AFTER_PLURAL:
        word = _without_past_or_gerund(word, r1)
        word = _final_y_to_i(word)
        word = _step_2(word, r1)
        word = _step_3(word, r1, r2)
        word = _step_4(word, r2)
        word = _without_final_e_or_l(word, r1, r2)
    return word.replace("Y", "y")


def _with_consonant_y(word: str) -> str:
    """A capital for each y that begins the word or follows a vowel (Y itself is not a vowel)."""
    return _CONSONANT_Y.sub(r"\1Y", word) if "y" in word else word


def _regions(word: str) -> tuple[int, int]:
    """Where R1 and R2 begin."""
    first = _LONG_PREFIX.match(word) or _TO_NON_VOWEL.match(word)
    if first is None:
        return len(word), len(word)
    second = _TO_NON_VOWEL.match(word, first.end())
    return first.end(), second.end() if second else len(word)


def _without_genitive(word: str) -> str:
    """Step 0."""
    if "'" in word:
        for suffix in ("'s'", "'s", "'"):
            if word.endswith(suffix):
                return word[: -len(suffix)]
    return word


def _without_plural(word: str) -> str:
    """Step 1a."""
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _HAS_VOWEL.search(word, 0, len(word) - 2):
        return word[:-1]
    return word


def _without_past_or_gerund(word: str, r1: int) -> str:
    """Step 1b."""
    base, suffix, _ = _split(word, _STEP_1B)
    if not suffix:
        return word
    if suffix.startswith("ee"):
        return base + "ee" if len(base) >= r1 else word
    if not _HAS_VOWEL.search(base):
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if base[-2:] in _DOUBLES:
        return base[:-1]
    is_short_word = len(base) == r1 and _ENDS_IN_SHORT_SYLLABLE.search(base) is not None
    return base + "e" if is_short_word else base


def _final_y_to_i(word: str) -> str:
    """Step 1c."""
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
        return word[:-1] + "i"
    return word


def _split(word: str, rules: _Rules) -> tuple[str, str, str]:
    """The word before its longest suffix, that suffix ("" where no rule applies) and its replacement."""
    for suffix, replacement in rules.get(word[-2:], ()):
        if word.endswith(suffix):
            return word[: -len(suffix)], suffix, replacement
    return word, "", ""


def _step_2(word: str, r1: int) -> str:
    base, suffix, replacement = _split(word, _STEP_2)
    if len(base) < r1 or (suffix == "li" and base[-1:] not in _BEFORE_LI):
        return word
    if suffix == "ogi" and not base.endswith("l"):
        return word
    return base + replacement


def _step_3(word: str, r1: int, r2: int) -> str:
    base, suffix, replacement = _split(word, _STEP_3)
    return word if len(base) < (r2 if suffix == "ative" else r1) else base + replacement


def _step_4(word: str, r2: int) -> str:
    base, suffix, _ = _split(word, _STEP_4)
    if len(base) < r2 or (suffix == "ion" and base[-1:] not in ("s", "t")):
        return word
    return base


def _without_final_e_or_l(word: str, r1: int, r2: int) -> str:
    """Step 5."""
    base = word[:-1]
    if word.endswith("e"):
        if len(base) >= r2 or (len(base) >= r1 and not _ENDS_IN_SHORT_SYLLABLE.search(base)):
            return base
    elif word.endswith("ll") and len(base) >= r2:
        return base
    return word

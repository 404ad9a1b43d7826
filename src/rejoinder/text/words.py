"""What is known of single words: stems, WordNet, and how common they are."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ragged, offsets_of
from rejoinder.folders.foreign import array_archive, saved_arrays

# English stems by Porter's second algorithm ("Porter2"), in the version that METEOR 1.5 was published with.
#
# The rules are those of https://snowballstem.org/algorithms/english/stemmer.html before Snowball 3 changed them:
# `snowballstemmer` 3 stems "added", "evening" and "organize" differently from version 2, so a score based on it would
# depend on the installed version. Stems are cached.
#
# Terms of the algorithm: R1 is what follows the first non-vowel after a vowel, R2 is the same within R1; a
# "short syllable" is a vowel between two non-vowels of which the second is not w, x or Y, or an initial vowel
# before a non-vowel. A capital Y marks a y that acts as a consonant.


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
    rules: _Rules = {}
    for suffix in sorted(replacements, key=len, reverse=True):
        rules[suffix[-2:]] = (*rules.get(suffix[-2:], ()), (suffix, replacements[suffix]))
    return rules


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
    word = word.removeprefix("'")
    if "y" in word:  # a capital for each y that begins the word or follows a vowel (Y itself is not a vowel)
        word = _CONSONANT_Y.sub(r"\1Y", word)
    r1, r2 = _regions(word)
    word = _without_plural(_without_genitive(word))
    if word not in _DONE_AFTER_PLURAL:
        word = _without_past_or_gerund(word, r1)
        if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:  # step 1c
            word = word[:-1] + "i"
        word = _step_2(word, r1)
        base, suffix, replacement = _split(word, _STEP_3)
        word = word if len(base) < (r2 if suffix == "ative" else r1) else base + replacement
        word = _step_4(word, r2)
        word = _without_final_e_or_l(word, r1, r2)
    return word.replace("Y", "y")


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


# The WordNet 3.0 synsets of English words: two words are synonyms if they share a synset.
#
# A word has its own synsets and those of its base form: "geese" has those of "goose", "went" those of "go", "likes"
# those of "like". An irregular form has the bases that WordNet lists for it; any other word has the first base found
# by WordNet's rules of detachment, as in METEOR 1.5. The table comes with the package (built by
# recipes/wordnet_table.py) and is loaded at first use.


# Suffix and replacement, in the order they are tried: nouns, verbs, adjectives. From morphy(7WN).
_DETACHMENTS = (
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
    ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""), ("er", ""),
    ("est", ""), ("er", "e"), ("est", "e"),
)  # fmt: skip
_DETACHABLE = tuple(dict(_DETACHMENTS))


@dataclass(frozen=True, slots=True)
class WordNet:
    """Which synsets a word belongs to."""

    words: list[str]  # ascending
    word_synsets: Ragged  # one row per word
    forms: dict[str, int]  # irregular form -> row of `form_synsets`
    form_synsets: Ragged  # the synsets of all base words of an irregular form

    def synsets_of(self, word: str) -> tuple[int, ...]:
        """The synsets of a lower-case word and of its base form, ascending; () for an unknown word."""
        return tuple(sorted({*self._own(word), *self._of_base(word)}))

    def _own(self, word: str) -> list[int]:
        row = bisect_left(self.words, word)
        if row == len(self.words) or self.words[row] != word:
            return []
        return list(self.word_synsets[row].tolist())

    def _of_base(self, word: str) -> list[int]:
        if word in self.forms:
            return list(self.form_synsets[self.forms[word]].tolist())
        if not word.endswith(_DETACHABLE) or word.endswith("ss") or len(word) <= 2:
            return []
        for suffix, ending in _DETACHMENTS:
            if word.endswith(suffix):
                of_base = self._own(word[: -len(suffix)] + ending)
                if of_base:
                    return of_base
        return []


@cache
def wordnet() -> WordNet:
    """The table that comes with the package, loaded once."""
    with files("rejoinder").joinpath("resources", "wordnet.npz").open("rb") as file, array_archive(file) as table:
        return WordNet(
            words=_lines(table["words"]),
            word_synsets=_ragged(table["words_synsets"], table["words_synset_counts"]),
            forms={form: row for row, form in enumerate(_lines(table["forms"]))},
            form_synsets=_ragged(table["forms_synsets"], table["forms_synset_counts"]),
        )


@lru_cache(maxsize=1 << 18)
def synsets(word: str) -> tuple[int, ...]:
    """The synsets of a lower-case word and of its base form, ascending; () for an unknown word."""
    return wordnet().synsets_of(word)


def _lines(text: NDArray[np.uint8]) -> list[str]:
    return text.tobytes().decode("ascii").split("\n")


def _ragged(values: NDArray[np.int32], counts: NDArray[np.uint8]) -> Ragged:
    return Ragged(values.astype(np.int64), offsets_of(counts.astype(np.int64)))


# How usual words, pairs of words and whole turns are in English dialogues.
#
# The counts come with the package (recipes/usage.py makes them, from dialogues that are free for any use). They are
# kept under hashes and rounded to about 3 %. Words that occur in fewer than three turns, and pairs of words that
# occur fewer than five times, count as unknown.


TABLES = Path(__file__).parent.parent / "resources" / "usage.safetensors"
STEP = 16
"""Counts are stored as the nearest whole number to this times their logarithm."""
EDGE = "\n"
"""What stands before the first word of a turn, and after its last."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PRIOR = 10
"""Occurrences of a word that the probability of its follower is known from without any pair."""


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return _WORD.findall(text.lower().replace("’", "'"))


@dataclass(frozen=True, eq=False)
class WordUsage:
    """Tables of hashes with counts."""

    words: Mapping[int, float]
    """Word -> how often it occurs; that of EDGE is the number of turns."""
    turns_with: Mapping[int, float]
    """Word -> in how many turns it occurs."""
    pairs: Mapping[int, float]
    turns: Mapping[int, float]
    """Turn, as words joined by spaces -> how often it occurs."""
    total: float
    """The number of words."""

    def information(self, word: str) -> float:
        """-log of the share of turns that have the word; unknown words as if they were in two turns."""
        turns = self.words[crc32(EDGE.encode())]
        return math.log(turns / self.turns_with.get(crc32(word.encode()), 2.0))

    def usual_order(self, words: Sequence[str]) -> float:
        """The mean logarithm of the probability of each word after the one before it."""
        sequence = [EDGE, *words, EDGE]
        counts = [self.words.get(crc32(word.encode()), 0.5) for word in sequence]
        found = 0.0
        for (before, after), (of_before, of_after) in zip(pairwise(sequence), pairwise(counts), strict=True):
            together = self.pairs.get(crc32(f"{before} {after}".encode()), 0.0)
            found += math.log((together + _PRIOR * of_after / self.total) / (of_before + _PRIOR))
        return found / (len(sequence) - 1)

    def turn_count(self, words: Iterable[str]) -> float:
        """How often a turn of these words occurs."""
        return self.turns.get(crc32(" ".join(words).encode()), 0.0)


@cache
def shipped_usage() -> WordUsage:
    """The tables that come with the package."""
    return word_usage(saved_arrays(TABLES))


def word_usage(arrays: Mapping[str, NDArray[Any]]) -> WordUsage:
    """From saved arrays."""

    def table(name: str, counts: str) -> dict[int, float]:
        return dict(zip(arrays[name].tolist(), np.exp(arrays[counts] / STEP).tolist(), strict=True))

    return WordUsage(
        table("words", "word_counts"),
        table("words", "turns_with"),
        table("pairs", "pair_counts"),
        table("turns", "turn_counts"),
        float(arrays["total"][0]),
    )

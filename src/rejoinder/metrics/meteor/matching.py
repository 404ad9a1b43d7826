"""All possible matches between replies and references, by form, stem, synonym and paraphrase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, offsets_of
from rejoinder.text.tokens import GOLDEN
from rejoinder.text.words import stem, synsets

# All possible matches between replies and references, from which an alignment is chosen.
#
# Row i of `left` (replies) belongs to row i of `right` (references). A match pairs `length` words of the reference,
# from `start` on, with `left_length` words of the reply, from `left_start` on. Positions index `right.values` and
# `left.values`, across all rows.


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches as columns."""

    start: Ints
    length: Ints
    left_start: Ints
    left_length: Ints
    module: Ints

    @classmethod
    def of_words(cls, left: Ints, right: Ints, module: int) -> Matches:
        """Matches of single words."""
        one = np.ones(len(left), np.int64)
        return cls(right, one, left, one, np.full(len(left), module))

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> Ints:
        """The position after the last word in the reference."""
        return self.start + self.length

    @property
    def left_end(self) -> Ints:
        """The position after the last word in the reply."""
        return self.left_start + self.left_length

    def take(self, chosen: Ints | NDArray[np.bool_]) -> Matches:
        """The chosen matches."""
        return Matches(*(column[chosen] for column in self._columns()))

    def __add__(self, other: Matches) -> Matches:
        return Matches(*map(np.concatenate, zip(self._columns(), other._columns(), strict=True)))

    def _columns(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        return self.start, self.length, self.left_start, self.left_length, self.module

    def by_start(self) -> Matches:
        """The same matches sorted by their position in the reference; the sort is stable."""
        return self.take(np.argsort(self.start, kind="stable"))


def word_matches(lexicon: Lexicon, left: Ragged, right: Ragged) -> Matches:
    """Matches of equal words, then by stem, then of synonyms; a pair may match both by stem and as synonyms."""
    left_at, right_at = lexicon.related.passing(left, right)
    left_word, right_word = left.values[left_at], right.values[right_at]
    equal = left_word == right_word
    exact = Matches.of_words(left_at[equal], right_at[equal], EXACT)
    left_at, right_at = left_at[~equal], right_at[~equal]
    left_word, right_word = left_word[~equal], right_word[~equal]
    same_stem = lexicon.stems[left_word] == lexicon.stems[right_word]
    stems = Matches.of_words(left_at[same_stem], right_at[same_stem], STEM)
    synonymous = lexicon.are_synonyms(left_word, right_word)
    synonyms = Matches.of_words(left_at[synonymous], right_at[synonymous], SYNONYM)
    return exact + stems + synonyms


# METEOR's information on each word of a batch: its stem, its synonyms, and whether it is a function word.


_NO_PAIRS = (np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of a batch, as codes 0, 1, ..."""

    words: list[str]
    is_function: NDArray[np.bool_]  # by code
    stems: Ints  # by code: words with the same stem have the same number
    synonyms: Ints  # ascending left * len(words) + right of all synonyms, in both directions
    related: PairFilter  # equal words, words with the same stem, synonyms

    @classmethod
    def of(cls, words: list[str], parameters: MeteorParameters) -> Lexicon:
        """The lexicon of distinct words."""
        size = len(words)
        every = np.arange(size)
        stems = _stem_codes(words) if parameters.use_stems else every
        stem_pairs = sharing(stems, every) if parameters.use_stems else _NO_PAIRS
        synonym_pairs = _synonyms(words) if parameters.use_synonyms else _NO_PAIRS
        left, right = (np.concatenate(side) for side in zip((every, every), stem_pairs, synonym_pairs, strict=True))
        function_words = meteor_function_words()
        return cls(
            words=words,
            is_function=np.fromiter((word.lower() in function_words for word in words), np.bool_, size),
            stems=stems,
            synonyms=synonym_pairs[0] * size + synonym_pairs[1],
            related=PairFilter.of(left, right, size),
        )

    def are_synonyms(self, left: Ints, right: Ints) -> NDArray[np.bool_]:
        """Whether the two words of each pair are different and share a synset."""
        return find(left * len(self.words) + right, self.synonyms)[0]


def used_words(vocabulary: Sequence[str], *codes: Ints) -> tuple[list[str], Ints]:
    """The words that occur, and for each code of the vocabulary the index of its word among them."""
    occurs = np.zeros(len(vocabulary), np.bool_)
    for values in codes:
        occurs[values] = True
    used = np.flatnonzero(occurs)
    return [vocabulary[code] for code in used.tolist()], np.cumsum(occurs) - 1


@cache
def meteor_function_words() -> frozenset[str]:
    """METEOR 1.5's English function words: those with a relative frequency above 0.001 in its training text."""
    path = files("rejoinder").joinpath("resources", "meteor_function_words.txt")
    return frozenset(path.read_text("utf-8").split())


def _stem_codes(words: list[str]) -> Ints:
    codes: dict[str, int] = {}
    return np.fromiter((codes.setdefault(stem(word), len(codes)) for word in words), np.int64, len(words))


def _synonyms(words: list[str]) -> tuple[Ints, Ints]:
    of_word = [synsets(word) for word in words]
    counts = np.fromiter(map(len, of_word), np.int64, len(words))
    groups = np.fromiter(chain.from_iterable(of_word), np.int64, int(counts.sum()))
    return sharing(groups, np.repeat(np.arange(len(words)), counts))


# Which words of a reply and of its reference are related, for all pairs of rows at once.
#
# Two rows of 8 words have 64 pairs of words, of which only a few match. So every pair of words is first looked up in a
# table of single bytes by a hash of the two codes; the caller tests the remaining pairs exactly.


_PAIRS_AT_ONCE = 1 << 17  # keeps the working arrays in the processor's cache
_BYTES_PER_PAIR = 32  # of the table, per related pair: one in 32 unrelated pairs is a false positive
_LARGEST_TABLE = 1 << 26
_LEFT, _RIGHT = GOLDEN, np.uint64(0xC2B2AE3D27D4EB4F)  # a different odd constant for each side


def find(values: Ints, ascending: Ints) -> tuple[NDArray[np.bool_], Ints]:
    """Which values occur in an ascending array, and where; the position of a value that does not occur is 0."""
    if not len(ascending):
        return np.zeros(len(values), np.bool_), np.zeros(len(values), np.int64)
    place = np.searchsorted(ascending, values)
    place[place == len(ascending)] = 0
    occurs: NDArray[np.bool_] = ascending[place] == values
    return occurs, np.where(occurs, place, 0)


def sharing(groups: Ints, members: Ints) -> tuple[Ints, Ints]:
    """All ordered pairs (left, right) of different members that share a group, each pair once.

    Member `members[i]` is in group `groups[i]`; it may be in several.
    """
    order = np.argsort(groups, kind="stable")
    groups, members = groups[order], members[order]
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    sizes = np.diff(starts, append=len(groups))
    of_member = np.repeat(sizes, sizes)
    left = np.repeat(members, of_member)
    shift = np.repeat(starts, sizes) - offsets_of(of_member)[:-1]
    right = members[np.repeat(shift, of_member) + np.arange(len(left))]
    different = left != right
    size = int(members.max(initial=0)) + 1
    keys = np.unique(left[different] * size + right[different])
    return keys // size, keys % size


@dataclass(frozen=True, slots=True)
class PairFilter:
    """A set of (left, right) codes with false positives, but no false negatives."""

    table: NDArray[np.bool_]
    left_hash: Ints  # by code
    right_hash: Ints

    @classmethod
    def of(cls, left: Ints, right: Ints, size: int) -> PairFilter:
        """The set of the given pairs of codes; all codes are below `size`."""
        bits = max(12, min(_BYTES_PER_PAIR * len(left), _LARGEST_TABLE).bit_length())
        codes = np.arange(size, dtype=np.uint64)
        left_hash = ((codes * _LEFT) >> np.uint64(64 - bits)).astype(np.int64)
        right_hash = ((codes * _RIGHT) >> np.uint64(64 - bits)).astype(np.int64)
        table = np.zeros(1 << bits, np.bool_)
        table[left_hash[left] ^ right_hash[right]] = True
        return cls(table, left_hash, right_hash)

    def passing(self, left: Ragged, right: Ragged) -> tuple[Ints, Ints]:
        """Indices into `left.values` and `right.values` of the pairs in the same row that may be in the set.

        They are in the order of the right values, and for each of these in the order of the left values.
        """
        found = list(self._passing(left, right))
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        lefts, rights = zip(*found, strict=True)
        return np.concatenate(lefts), np.concatenate(rights)

    def _passing(self, left: Ragged, right: Ragged) -> Iterator[tuple[Ints, Ints]]:
        left_hash, right_hash = self.left_hash[left.values], self.right_hash[right.values]
        row = right.row_of_value
        first, count = left.offsets[:-1][row], left.lengths[row]
        ends = np.cumsum(count)
        begin = 0
        while begin < len(row):
            done = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, done + _PAIRS_AT_ONCE, "right")))
            counts = count[begin:end]
            starts = ends[begin:end] - counts - done
            index = np.repeat(first[begin:end] - starts, counts)
            index += np.arange(len(index))
            hashes = left_hash[index]
            hashes ^= np.repeat(right_hash[begin:end], counts)
            hits = np.flatnonzero(self.table[hashes])
            yield index[hits], begin + np.searchsorted(starts + counts, hits, "right")
            begin = end


# METEOR's parameters, and those of its tasks.


EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
"""The modules: the ways in which two words or phrases can match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteorParameters:
    """METEOR 1.5's parameters; the defaults are those of its English ranking task (Denkowski and Lavie 2014)."""

    alpha: float = 0.85  # the weight of recall in the mean of precision and recall
    beta: float = 0.2  # the exponent of fragmentation
    gamma: float = 0.6  # the largest penalty for fragmentation
    delta: float = 0.75  # the weight of a content word; that of a function word is 1 - delta
    exact: float = 1.0  # the weight of a match, by module
    stem: float = 0.6
    synonym: float = 0.8
    paraphrase: float = 0.6
    use_stems: bool = True
    use_synonyms: bool = True
    beam: int = 40  # how many partial alignments the search keeps

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in ("beam", "beta") and not 0 <= value <= 1:
                raise ValueError(f"{field.name} must be between 0 and 1, not {value}")
        if self.beta < 0:
            raise ValueError(f"beta must not be negative, but is {self.beta}")
        if self.beam < 1:
            raise ValueError(f"beam must be at least 1, not {self.beam}")

    @property
    def weights(self) -> tuple[float, float, float, float]:
        """The weight of a match, by module."""
        return self.exact, self.stem, self.synonym, self.paraphrase


TASKS = {
    "rank": MeteorParameters(),
    "adq": MeteorParameters(alpha=0.75, beta=1.4, gamma=0.45, delta=0.7, stem=1.0, synonym=0.6, paraphrase=0.8),
    "hter": MeteorParameters(alpha=0.4, beta=1.5, gamma=0.35, delta=0.55, stem=0.2, synonym=0.6, paraphrase=0.8),
    "li": MeteorParameters(alpha=0.75, beta=1.4, gamma=0.7, delta=0.5, stem=0.5, synonym=0.5, paraphrase=0.5),
}
"""The parameters of METEOR 1.5's tasks for English: `-t rank`, `adq`, `hter` and the language-independent `li`."""

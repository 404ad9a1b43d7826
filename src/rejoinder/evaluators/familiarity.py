"""Whether replies resemble the text that an evaluator was trained on: docs/guide/calibration.md.

Three properties are checked, each of the reply and of the context. *Language*: how many words are frequent in the
training text, and of the other words, how many three-letter pieces are. *Script*: how many characters belong to scripts
and signs of the training text. *Length*, in words. Each property has limits that training text itself exceeds only as
often as `rates` says: one half of it determines what is frequent, the other half where the limits are.

Rare words and signs alone are no evidence: a recipe or an answer about code has them as well, among the words that are
the commonest in all text of the language ("the", "is", "to"). So they only count where these are rare, too.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, repeat
from types import MappingProxyType
from typing import Any, ClassVar, Self
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.folders.array_schema import Array
from rejoinder.folders.schema import check_range, checked_member, checked_object
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.base import State
from rejoinder.metrics.batch import Batch
from rejoinder.text.tokens import token_codes
from rejoinder.text.words import synsets
from rejoinder.types import Example

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "language": "hardly any common words, perhaps because of another language",
        "script": "letters or signs that are rare there",
        "length": "much shorter or longer",
    }
)
"""Reason -> what was noticed, in words."""
_REASON_SETS = tuple(chain(*map(combinations, repeat(REASONS), range(1, len(REASONS) + 1))))

RATE = 0.001
"""How often training text itself may exceed a limit; a reason has two or four limits."""

FEWEST = 500
"""Below this number of replies no limits are set."""

MOST = 10_000
"""The largest number of replies that are used: more would hardly change the limits."""

_MOST_WORDS = 8192
_COMMONEST = 60  # words that make up about half of all text
_FEW_COMMON = 0.2  # the share of these words below which a text may be in another language
_COMMON_PIECES = 0.98  # the share of all three-letter pieces that the frequent ones make up
_COMMON_SIGN = 0.01  # the share of texts that must contain a sign for it to be usual
_COMMON_SCRIPT = 0.001  # the share of all letters that must be of a script for it to be usual
_SPACE, _USUAL, _ODD_SIGN, _ODD_LETTER, _UNSEEN = range(5)  # kinds of characters; unseen: not looked up yet


@dataclass(frozen=True, eq=False)
class Familiarity:
    """A description of an evaluator's training text."""

    SAVED: ClassVar[Mapping[str, Array]] = {
        "words": Array("i", ("any words",), low=0, high=2**32 - 1),
        "pieces": Array("i", ("any pieces",), low=0, high=2**32 - 1),
    }
    """Its arrays in a file."""

    words: NDArray[np.uint32]
    """Hashes of the frequent words, sorted."""
    pieces: NDArray[np.uint32]
    """Hashes of the frequent three-letter pieces of words, sorted."""
    scripts: tuple[str, ...]
    """Scripts of the letters, by the first word of their Unicode names: LATIN, CJK."""
    signs: str
    """The usual characters other than letters, digits and spaces."""
    commonest: tuple[str, ...]
    """The most frequent words; none in folders that were saved before these were counted."""
    unknown: float
    """The share of words that are not frequent."""
    unknown_pieces: float
    """The share of pieces that are not frequent; all pieces of a frequent word count as frequent."""
    odd: float
    """The share of characters that belong neither to these scripts nor to these signs."""
    limits: Mapping[str, float]
    """The lowest log-probability of as many unknown or odd items; the smallest and largest number of words."""
    rates: Mapping[str, float]
    """Reason -> how often text that is like the training text exceeds one of its limits."""
    _kinds: NDArray[np.uint8] = field(default_factory=lambda: _unseen(), init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy in another process needs: it has its own memory of characters, which Ray would make read-only."""
        return {name: value for name, value in self.__dict__.items() if name != "_kinds"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state, _kinds=_unseen())

    @classmethod
    def of(cls, data: TrainingData) -> Self | None:
        """The description of an evaluator's training data; None if there are too few."""
        judged, spoken = _judged_sample(data), _spoken_sample(data)
        if len(judged) + len(spoken) < FEWEST:
            return None
        halves = [[*_half(judged, number), *_half(spoken, number)] for number in (0, 1)]
        return cls.of_examples(*halves)

    @classmethod
    def of_examples(cls, first: Sequence[Example], second: Sequence[Example]) -> Self:
        """From two halves of the training text that share no dialogue: one for what is frequent, one for the limits."""
        common, other = CountedTexts.of(first), CountedTexts.of(second)
        counts = np.bincount(common.words, minlength=len(common.vocabulary))
        listed = [place for place in np.argsort(-counts, kind="stable")[:_MOST_WORDS].tolist() if counts[place] > 1]
        scripts, signs = _alphabet(common.texts)
        known = np.unique(common.hashes[listed])
        pieces = _common_pieces(common.vocabulary, np.where(common.is_word, counts, 0))
        words = [common.vocabulary[place] for place in listed if common.is_word[place]]
        made = cls(known, pieces, scripts, signs, tuple(words[:_COMMONEST]), 0.5, 0.5, 0.5, {}, {})
        # One is added, so that no rate is 0.
        unknown, unknown_pieces, odd = (
            (int(met.sum()) + 1) / (int(seen.sum()) + 2)
            for met, seen in (
                made._unknown_words(other),
                made._unknown_pieces(other),
                made._odd_characters(other, _ODD_SIGN),
            )
        )
        return replace(made, unknown=unknown, unknown_pieces=unknown_pieces, odd=odd)._with_limits(other)

    def _with_limits(self, texts: CountedTexts) -> Self:
        """A copy with limits that a share `RATE` of these texts exceeds."""
        n, values = len(texts) // 2, self._values(texts)
        limits, rates = {}, {}
        for reason, sides in _SIDES.items():
            rank = max(1, int(RATE * (n + 1)))
            rates[reason] = len(sides) * rank / (n + 1)
            for name, sign in sides:
                limits[name] = float(sign * np.sort(sign * values[name])[rank - 1])
        return replace(self, limits=limits, rates=rates)

    def unfamiliar(self, batch: Batch) -> list[tuple[str, ...]]:
        """The reasons why each reply of the batch is unlike the training text, if it is."""
        flags = self.flags(batch)
        return [tuple(reason for reason in REASONS if flags[reason][row]) for row in range(len(batch))]

    def flags(self, batch: Batch) -> dict[str, NDArray[np.bool_]]:
        """Reason -> which replies are unlike the training text for it; an empty reply never is."""
        # This object is kept with them, so that no other one can get its id meanwhile.
        return batch.keep(("unfamiliar", id(self)), lambda: (self, self._flags(batch)))[1]

    def rarity(self, batch: Batch) -> Floats:
        """How unusual it is that a reply has so many English words that are rare in training text: -log probability.

        Each word counts once. Names, typos and words of other languages, which WordNet does not have, do not count.
        """
        texts, n = self._counted(batch)[0], len(batch)
        rare = self._is_unknown(texts)
        for place in np.flatnonzero(rare).tolist():
            rare[place] = bool(synsets(texts.vocabulary[place]))
        in_reply = texts.owner < n
        size = max(1, len(texts.vocabulary))
        once = np.unique(texts.owner[in_reply] * size + texts.words[in_reply])
        owner, word = once // size, once % size
        met, seen = (np.bincount(owner, weights=flags[word], minlength=n) for flags in (rare, texts.is_word))
        rarity: Floats = -_log_probability(met.astype(np.int64), seen.astype(np.int64), self.unknown)
        return rarity

    def _counted(self, batch: Batch) -> tuple[CountedTexts, dict[str, Floats]]:
        """The texts of the batch and their values, counted once."""

        def count() -> tuple[Familiarity, CountedTexts, dict[str, Floats]]:
            texts = CountedTexts.of(batch.examples)
            return self, texts, self._values(texts)

        return batch.keep(("familiarity", id(self)), count)[1:]

    def _flags(self, batch: Batch) -> dict[str, NDArray[np.bool_]]:
        texts, values = self._counted(batch)
        few = self._few_common(texts)
        beyond = {
            name: sign * values[name] < sign * self.limits[name] for sides in _SIDES.values() for name, sign in sides
        }
        letters = _log_probability(*self._odd_characters(texts, _ODD_LETTER), self.odd)
        for name, rare, foreign in zip(("reply", "context"), few, np.split(letters, 2), strict=True):
            for property_ in ("words", "pieces"):
                beyond[f"{name} {property_}"] &= rare
            beyond[f"{name} script"] &= rare | (foreign < self.limits[f"{name} script"])
        return {
            reason: np.logical_or.reduce([beyond[name] for name, _ in sides]) & ~batch.blank
            for reason, sides in _SIDES.items()
        }

    def _few_common(self, texts: CountedTexts) -> NDArray[np.bool_]:
        """Which replies, and which last turns, have few of the commonest words. (2, examples)"""
        if not self.commonest:
            return np.ones((2, len(texts) // 2), np.bool_)
        common = np.isin(texts.hashes, [crc32(word.encode()) for word in self.commonest])
        met, seen = texts.totals(common), texts.totals(texts.is_word)
        return (met < _FEW_COMMON * np.maximum(seen, 1)).reshape(2, -1)

    def _values(self, texts: CountedTexts) -> dict[str, Floats]:
        """Name of a limit -> the value of each example that is compared with it."""
        n = len(texts) // 2
        values: dict[str, Floats] = {}
        for name, counts, rate in (
            ("words", self._unknown_words(texts), self.unknown),
            ("pieces", self._unknown_pieces(texts), self.unknown_pieces),
            ("script", self._odd_characters(texts, _ODD_SIGN), self.odd),
        ):
            probable = _log_probability(*counts, rate)
            values[f"reply {name}"], values[f"context {name}"] = probable[:n], probable[n:]
        for side in ("shortest", "longest"):
            values[f"{side} reply"] = texts.reply_words.astype(np.float64)
            values[f"{side} context"] = texts.context_words.astype(np.float64)
        return values

    def _unknown_words(self, texts: CountedTexts) -> tuple[Ints, Ints]:
        """The number of words of each text that are not frequent, and of all words."""
        return texts.totals(self._is_unknown(texts)), texts.totals(texts.is_word)

    def _unknown_pieces(self, texts: CountedTexts) -> tuple[Ints, Ints]:
        """The number of three-letter pieces of each text that are not frequent, and of all pieces."""
        count, common = np.zeros((2, len(texts.vocabulary)), np.int64), set(self.pieces.tolist())
        for place, word in enumerate(texts.vocabulary):
            count[0, place] = len(word)
        for place in np.flatnonzero(self._is_unknown(texts)).tolist():
            count[1, place] = sum(crc32(piece) not in common for piece in _pieces(texts.vocabulary[place]))
        return texts.totals(count[1]), texts.totals(np.where(texts.is_word, count[0], 0))

    def _is_unknown(self, texts: CountedTexts) -> NDArray[np.bool_]:
        unknown: NDArray[np.bool_] = ~np.isin(texts.hashes, self.words) & texts.is_word
        return unknown

    def _odd_characters(self, texts: CountedTexts, least: int) -> tuple[Ints, Ints]:
        """The number of odd letters of each text, with _ODD_SIGN of odd signs as well, and of all but spaces."""
        kinds = self._kinds[texts.characters]
        for code in np.unique(texts.characters[kinds == _UNSEEN]).tolist():
            self._kinds[code] = self._kind(chr(code))
        kinds = self._kinds[texts.characters]
        return texts.sums(kinds >= least), texts.sums(kinds != _SPACE)

    def _kind(self, character: str) -> int:
        if character.isspace():
            return _SPACE
        if character.isalpha():
            return _USUAL if _script(character) in self.scripts else _ODD_LETTER
        # Marks belong to their letters; digits of any script count as usual.
        usual = character in self.signs or unicodedata.category(character)[0] in "MN"
        return _USUAL if usual else _ODD_SIGN

    def plain(self) -> dict[str, Any]:
        """The plain values, for config.json."""
        return {
            "scripts": list(self.scripts),
            "signs": self.signs,
            "commonest": list(self.commonest),
            "unknown": self.unknown,
            "unknown_pieces": self.unknown_pieces,
            "odd": self.odd,
            "limits": dict(self.limits),
            "rates": dict(self.rates),
        }

    @property
    def arrays(self) -> dict[str, NDArray[np.uint32]]:
        """The arrays."""
        return {"words": self.words, "pieces": self.pieces}

    @classmethod
    def from_plain(cls, plain: object, arrays: Mapping[str, NDArray[np.uint32]], file: str) -> Self:
        """From the results of `plain` and `arrays`; `file` is where the former was read."""
        where = "familiarity"
        given = checked_object(plain, file, where)
        scripts = checked_member(given, "scripts", tuple[str, ...], file, where)
        signs = checked_member(given, "signs", str, file, where)
        commonest = checked_member({"commonest": [], **given}, "commonest", tuple[str, ...], file, where)
        shares = {
            name: checked_member(given, name, float, file, where) for name in ("unknown", "unknown_pieces", "odd")
        }
        limits, rates = (checked_object(given.get(key), file, f"{where}.{key}") for key in ("limits", "rates"))
        names = [name for sides in _SIDES.values() for name, _ in sides]
        bounds = {name: float(checked_member(limits, name, float, file, f"{where}.limits")) for name in names}
        chances = {reason: float(checked_member(rates, reason, float, file, f"{where}.rates")) for reason in REASONS}
        for name, share in (shares | chances).items():
            check_range(share, 0, 1, file, f"{where}.{name}")
        return cls(arrays["words"], arrays["pieces"], scripts, signs, commonest, **shares, limits=bounds, rates=chances)


def _unseen() -> NDArray[np.uint8]:
    """The kinds of all characters before any is seen."""
    return np.full(0x110000, _UNSEEN, np.uint8)


@dataclass(eq=False)
class OutOfDomainCounter:
    """Counts replies that are unlike the training text, batch by batch."""

    familiarity: Familiarity
    rows: int = 0
    counts: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """Reasons -> the number of replies with exactly these."""
    first: dict[str, int] = field(default_factory=dict)
    """Reason -> the first row with it, counted from 1."""

    def add(self, batch: Batch) -> None:
        """Take a batch into account."""
        for row, reasons in enumerate(self.familiarity.unfamiliar(batch), start=self.rows + 1):
            if reasons:
                self.counts[reasons] += 1
                for reason in reasons:
                    self.first.setdefault(reason, row)
        self.rows += len(batch)

    def state(self) -> State:
        """How many replies have each set of reasons, and the first row with each reason (0: none)."""
        counts = [self.counts[reasons] for reasons in _REASON_SETS]
        first = [self.first.get(reason, 0) for reason in REASONS]
        return {"rows": np.array(self.rows), "counts": np.array(counts), "first": np.array(first)}

    def merge(self, state: State) -> None:
        """Add the replies that another one counted after these."""
        self.counts.update(dict(zip(_REASON_SETS, state["counts"].tolist(), strict=True)))
        for reason, row in zip(REASONS, state["first"].tolist(), strict=True):
            if row:
                self.first.setdefault(reason, self.rows + row)
        self.rows += int(state["rows"])

    def notes(self) -> list[str]:
        """One sentence if significantly more replies are out of domain than in text like the training text."""
        by_reason = {
            reason: sum(count for reasons, count in self.counts.items() if reason in reasons) for reason in REASONS
        }
        significant = {reason: count for reason, count in by_reason.items() if self._is_beyond_chance(reason, count)}
        if not significant:
            return []
        total = sum(count for reasons, count in self.counts.items() if not significant.keys().isdisjoint(reasons))
        listed = "; ".join(
            f"{REASONS[reason]}: {count}, the first in row {self.first[reason]}"
            for reason, count in significant.items()
        )
        return [f"{total} of {self.rows} replies are unlike the training text ({listed}): their scores are unreliable"]

    def _is_beyond_chance(self, reason: str, count: int) -> bool:
        """Whether this many replies would have p < .05 if all replies were like the training text."""
        rate = self.familiarity.rates[reason]
        return bool(_probability(np.array([count]), np.array([self.rows]), rate)[0] < 0.05)


_SIDES: dict[str, tuple[tuple[str, int], ...]] = {
    "language": (("reply words", 1), ("context words", 1), ("reply pieces", 1), ("context pieces", 1)),
    "script": (("reply script", 1), ("context script", 1)),
    "length": (("shortest reply", 1), ("longest reply", -1), ("shortest context", 1), ("longest context", -1)),
}
"""Reason -> its limits; 1: a lower limit, -1: an upper limit."""


def _probability(met: Ints, seen: Ints, rate: float) -> Floats:
    """The probability of at least `met` of `seen` at this rate (binomial)."""
    from scipy.special import betainc

    probable = np.ones(len(met))
    some = met > 0
    probable[some] = betainc(met[some], seen[some] - met[some] + 1, rate)
    return probable


def _log_probability(met: Ints, seen: Ints, rate: float) -> Floats:
    """The logarithm of `_probability`, always finite."""
    return np.log(np.maximum(_probability(met, seen, rate), np.finfo(np.float64).tiny))


def _common_pieces(vocabulary: pl.Series, counts: Ints) -> NDArray[np.uint32]:
    """Hashes of the most frequent three-letter pieces of these words, sorted."""
    found: Counter[int] = Counter()
    for word, count in zip(vocabulary, counts.tolist(), strict=True):
        for piece in _pieces(word) if count else ():
            found[crc32(piece)] += count
    ranked = found.most_common()
    share = np.cumsum([count for _, count in ranked]) / max(1, found.total())
    enough = int(np.searchsorted(share, _COMMON_PIECES)) + 1
    return np.sort(np.array([piece for piece, _ in ranked[:enough]], np.uint32))


def _pieces(word: str) -> list[bytes]:
    """'an' -> ' an', 'an ': as many pieces as the word has letters."""
    marked = f" {word} "
    return [marked[start : start + 3].encode() for start in range(len(word))]


def _alphabet(texts: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The usual scripts and signs of the texts."""
    letters: Counter[str] = Counter()
    holding: Counter[str] = Counter()
    for text in texts:
        letters.update(filter(str.isalpha, text))
        holding.update({character for character in text if not character.isalnum() and not character.isspace()})
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        scripts[_script(letter)] += count
    common = {script for script, count in scripts.items() if count >= _COMMON_SCRIPT * scripts.total()}
    signs = [sign for sign, count in holding.items() if count >= _COMMON_SIGN * len(texts)]
    return tuple(sorted(common)), "".join(sorted(signs))


def _script(letter: str) -> str:
    """The first word of the letter's Unicode name, LATIN for é; the letter itself if it has no name."""
    return unicodedata.name(letter, letter).partition(" ")[0]


def _judged_sample(data: TrainingData) -> list[Example]:
    """Judged replies in their order, in which those of one context are mostly neighbours."""
    count = len(data.judged)
    chosen = np.random.default_rng(data.seed).permutation(count)[: MOST // 2]
    return [data.judged[place].example for place in np.sort(chosen).tolist()]


def _spoken_sample(data: TrainingData) -> list[Example]:
    """Turns of dialogues with their contexts; those of one dialogue are neighbours."""
    rng = np.random.default_rng(data.seed)
    order = rng.permutation(len(data.dialogues))
    ends = np.cumsum([len(data.dialogues[place].turns) - 1 for place in order.tolist()], dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    chosen = np.sort(rng.choice(total, min(total, MOST), replace=False, shuffle=False))
    owner = np.searchsorted(ends, chosen, side="right")
    made = []
    for place, end, turn in zip(order[owner].tolist(), ends[owner].tolist(), chosen.tolist(), strict=True):
        turns = data.dialogues[place].turns
        reply = len(turns) - (end - turn)
        made.append(Example("", turns[:reply], turns[reply]))
    return made


def _half(examples: Sequence[Example], number: int) -> Sequence[Example]:
    middle = len(examples) // 2
    return examples[middle:] if number else examples[:middle]


# Texts as indices of their words, and what is counted in them: words, characters.


@dataclass(frozen=True, eq=False)
class CountedTexts:
    """The replies of some examples, then the last turns of their contexts, as word indices."""

    texts: Sequence[str]
    reply_words: Ints
    context_words: Ints
    """Words of the whole context."""
    vocabulary: pl.Series
    words: Ints
    """Indices into the vocabulary, text after text."""
    owner: Ints
    """The text of each word."""

    @classmethod
    def of(cls, examples: Sequence[Example]) -> CountedTexts:
        """The texts of these examples."""
        replies = [_sound(example.response) for example in examples]
        last = [_sound(example.context[-1]) if example.context else "" for example in examples]
        vocabulary, rows = token_codes(pl.Series([*replies, *last], dtype=pl.String), "words", lowercase=True)
        contexts = [_sound(" ".join(example.context)) for example in examples]
        return cls(
            [*replies, *last],
            word_counts(replies),
            word_counts(contexts),
            vocabulary,
            rows.values,
            rows.row_of_value,
        )

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def hashes(self) -> NDArray[np.uint32]:
        """The same hash for a word on every machine. (vocabulary,)"""
        return np.fromiter((crc32(word.encode()) for word in self.vocabulary), np.uint32, len(self.vocabulary))

    @cached_property
    def is_word(self) -> NDArray[np.bool_]:
        """Which tokens begin with a letter: punctuation and numbers belong to no language. (vocabulary,)"""
        return np.fromiter((word[0].isalpha() for word in self.vocabulary), np.bool_, len(self.vocabulary))

    @cached_property
    def characters(self) -> NDArray[np.uint32]:
        """The code points of all texts, text after text."""
        return np.frombuffer("".join(self.texts).encode("utf-32-le"), np.uint32)

    def totals(self, of_word: NDArray[Any]) -> Ints:
        """The sum over each text's words of one number per word of the vocabulary."""
        return np.bincount(self.owner, weights=of_word[self.words], minlength=len(self)).astype(np.int64)

    def sums(self, flags: NDArray[np.bool_]) -> Ints:
        """The number of flagged characters of each text."""
        ends = np.cumsum(np.fromiter(map(len, self.texts), np.int64, len(self.texts)))
        total = np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])
        return np.diff(total[ends], prepend=0)


def word_counts(texts: Sequence[str] | pl.Series) -> Ints:
    """The number of runs of letters and digits of each text, so that spaces before punctuation do not matter."""
    return pl.Series(texts, dtype=pl.String).str.count_matches(r"[\p{L}\p{N}]+").to_numpy().astype(np.int64)


def _sound(text: str) -> str:
    """A text without lone surrogates, which cannot be encoded."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()

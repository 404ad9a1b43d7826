"""The search for many rows at once against a plain one that takes a row at a time, on rows full of choices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rejoinder.arrays import Ragged
from rejoinder.metrics.meteor.alignment import _Search, align, chunks
from rejoinder.metrics.meteor.matching import (
    EXACT,
    PARAPHRASE,
    STEM,
    SYNONYM,
    Lexicon,
    Matches,
    MeteorParameters,
    word_matches,
)
from rejoinder.text.words import stem, synsets

# Forms of one word, synonyms of another, and a word that has neither.
WORDS = ["like", "likes", "liked", "dog", "dogs", "hound", "the", "car", "automobile", "cars", "."]
LEXICON = Lexicon.of(WORDS, MeteorParameters())

Option = tuple[int, int, int, int, int]  # start, length, start in the reply, length there, module
Row = tuple[list[int], list[int]]  # codes of reply and reference


def plain_matches(reply: list[int], reference: list[int]) -> list[Option]:
    """All matches of two rows, straight from the definition."""
    left, right = [WORDS[code] for code in reply], [WORDS[code] for code in reference]

    def match(module: int, one: str, other: str) -> bool:
        if module == EXACT or one == other:
            return module == EXACT and one == other
        return stem(one) == stem(other) if module == STEM else not {*synsets(one)}.isdisjoint(synsets(other))

    return [
        (start, 1, left_start, 1, module)
        for start, word in enumerate(right)
        for module in (EXACT, STEM, SYNONYM)
        for left_start, left_word in enumerate(left)
        if (module == EXACT or left != right) and match(module, left_word, word)
    ]


class Path(NamedTuple):
    """A partial alignment."""

    covered: int = 0
    chunks: int = 0
    distance: int = 0
    next_place: int = 0
    last_end: int = -1
    used: frozenset[int] = frozenset()
    taken: tuple[Option, ...] = ()

    def merit(self) -> tuple[int, int, int]:
        return -self.covered, self.chunks, self.distance

    def taking(self, option: Option, distance: int) -> Path:
        start, length, left_start, left_length, module = option
        return Path(
            self.covered + (length + left_length if module == EXACT else length // 2 + left_length // 2),
            self.chunks + (self.last_end not in (-1, left_start)),
            distance,
            start + length,
            left_start + left_length,
            self.used | {*range(left_start, left_start + left_length)},
            (*self.taken, option),
        )


def plain_search(options: list[Option], words: int, beam: int) -> tuple[list[Option], int]:
    """The best alignment and its chunks: every place of the reference, one after the other."""

    def spans(option: Option) -> tuple[set[int], set[int]]:
        start, length, left_start, left_length, _ = option
        return {*range(start, start + length)}, {*range(left_start, left_start + left_length)}

    certain = {
        option[0]: option
        for option in options
        if not any(
            other is not option and (spans(option)[0] & spans(other)[0] or spans(option)[1] & spans(other)[1])
            for other in options
        )
    }
    paths = [Path()]
    for place in range(words + 1):
        after = []
        for path in sorted(paths, key=Path.merit)[:beam]:
            if place < path.next_place:
                after.append(path)
                continue
            distance = path.distance
            for option in [certain[place]] if place in certain else [o for o in options if o[0] == place]:
                if not path.used & spans(option)[1]:
                    after.append(path.taking(option, distance))
                    distance += abs(option[0] - option[2])
            if place not in certain:
                chunks_then = path.chunks + (path.last_end != -1)
                after.append(path._replace(chunks=chunks_then, distance=distance, next_place=place + 1, last_end=-1))
        paths = after
    best = min(paths, key=Path.merit)
    return list(best.taken), best.chunks


def fast_search(rows: list[Row], options: list[list[Option]], beam: int) -> tuple[list[list[Option]], list[int]]:
    """The same by the code under test, all rows together."""
    left, right = Ragged.of([row[0] for row in rows]), Ragged.of([row[1] for row in rows])
    row_of = np.repeat(np.arange(len(rows)), [len(row) for row in options])
    columns = np.array([option for row in options for option in row], np.int64).reshape(-1, 5).T
    shift = np.stack([right.offsets[row_of], 0 * row_of, left.offsets[row_of], 0 * row_of, 0 * row_of])
    aligned = align(Matches(*(columns + shift)).by_start(), left, right, beam)
    row_of = right.row_of_value[aligned.start]
    found: list[list[Option]] = [[] for _ in rows]
    for row, start, length, left_start, left_length, module in zip(
        row_of.tolist(),
        (aligned.start - right.offsets[row_of]).tolist(),
        aligned.length.tolist(),
        (aligned.left_start - left.offsets[row_of]).tolist(),
        aligned.left_length.tolist(),
        aligned.module.tolist(),
        strict=True,
    ):
        found[row].append((start, length, left_start, left_length, module))
    return found, chunks(aligned, right).tolist()


some_words = st.lists(st.integers(0, len(WORDS) - 1), max_size=12)
few_words = st.lists(st.sampled_from([0, 1, 6]), max_size=14)
rows_of_words = st.lists(st.one_of(st.tuples(some_words, some_words), st.tuples(few_words, few_words)), max_size=6)


@settings(max_examples=60, deadline=None)
@given(rows=rows_of_words, beam=st.sampled_from([1, 3, 40]))
def test_words_are_aligned_as_by_the_plain_search(rows: list[Row], beam: int) -> None:
    options = [plain_matches(*row) for row in rows]
    expected = [plain_search(of_row, len(row[1]), beam) for of_row, row in zip(options, rows, strict=True)]
    found, parts = fast_search(rows, options, beam)
    assert found == [taken for taken, _ in expected]
    assert parts == [count for _, count in expected]


@settings(max_examples=60, deadline=None)
@given(rows=rows_of_words)
def test_all_matches_of_words_are_found(rows: list[Row]) -> None:
    left, right = Ragged.of([row[0] for row in rows]), Ragged.of([row[1] for row in rows])
    found = word_matches(LEXICON, left, right).by_start()
    expected = [
        (start + right.offsets[number], left_start + left.offsets[number], module)
        for number, (reply, reference) in enumerate(rows)
        # A reply that equals its reference is no special case yet: `align` sees to that.
        for start, _, left_start, _, module in plain_matches([*reply, -1], reference)
        if left_start < len(reply)
    ]
    assert list(zip(found.start, found.left_start, found.module, strict=True)) == expected


@st.composite
def rows_with_phrases(draw: st.DrawFn) -> tuple[Row, list[Option]]:
    """Two rows, and matches of any spans between them in METEOR's order of modules."""
    words, left_words = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    options = []
    for _ in range(draw(st.integers(0, 12))):
        start, left_start = draw(st.integers(0, words - 1)), draw(st.integers(0, left_words - 1))
        module = draw(st.sampled_from([EXACT, SYNONYM, PARAPHRASE, PARAPHRASE]))
        longest = 3 if module == PARAPHRASE else 1
        length = draw(st.integers(1, min(longest, words - start)))
        left_length = draw(st.integers(1, min(longest, left_words - left_start)))
        options.append((start, length, left_start, left_length, module))
    options.sort(key=lambda option: (option[0], option[4]))
    return ([0] * left_words, [1] * words), options


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(cases=st.lists(rows_with_phrases(), max_size=5), beam=st.sampled_from([2, 40]))
def test_phrases_are_aligned_as_by_the_plain_search(cases: list[tuple[Row, list[Option]]], beam: int) -> None:
    expected = [plain_search(options, len(row[1]), beam) for row, options in cases]
    found, parts = fast_search([row for row, _ in cases], [options for _, options in cases], beam)
    assert found == [taken for taken, _ in expected]
    assert parts == [count for _, count in expected]


def test_phrases_that_span_several_integers_of_used_words() -> None:
    random = np.random.default_rng(5)
    cases: list[tuple[Row, list[Option]]] = []
    for _ in range(30):
        options = []
        for _ in range(25):
            start, left_start, left_length = random.integers(0, 20), random.integers(0, 130), random.integers(1, 80)
            options.append((int(start), 1, int(left_start), int(min(left_length, 150 - left_start)), PARAPHRASE))
        cases.append((([0] * 150, [1] * 20), sorted(options)))
    expected = [plain_search(options, len(row[1]), 3)[0] for row, options in cases]
    assert fast_search([row for row, _ in cases], [options for _, options in cases], 3)[0] == expected


@pytest.mark.slow
def test_rows_of_more_than_63_words_and_sums_beyond_64_bits_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    rows: list[Row] = [(random.integers(0, 4, 80).tolist(), random.integers(0, 4, 40).tolist()) for _ in range(2)]
    options = [plain_matches(*row) for row in rows]
    expected = [plain_search(of_row, len(row[1]), 5)[0] for of_row, row in zip(options, rows, strict=True)]
    assert fast_search(rows, options, 5)[0] == expected

    def with_huge_bounds(self: _Search, *arguments: object) -> None:
        original(self, *arguments)  # type: ignore[arg-type]
        self.bounds = (2**40, 2**40, 2**40)

    original = _Search.__init__
    monkeypatch.setattr(_Search, "__init__", with_huge_bounds)
    assert fast_search(rows, options, 5)[0] == expected

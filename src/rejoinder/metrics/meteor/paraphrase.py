"""METEOR's paraphrase table, which the user provides, and the phrases it is looked up by."""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, offsets_of
from rejoinder.errors import DataError
from rejoinder.folders.foreign import array_archive
from rejoinder.folders.outputs import replacing_file
from rejoinder.metrics.meteor.matching import PARAPHRASE, Matches, PairFilter, find
from rejoinder.threads import check_polars_threads

# METEOR's paraphrase table, which the user provides.
#
# METEOR 1.5 comes with such a table (data/paraphrase-en.gz, LGPL, 5.3 million entries); this package does not. An entry
# is three lines of a gzipped text file: a probability, which METEOR does not use, a phrase, and a paraphrase of it.
#
#     table = ParaphraseTable.read(Path("paraphrase-en.gz"))   # takes some seconds
#     table.save(Path("paraphrase-en.npz"))                    # read() also accepts this file, and loads it quickly


_BYTES_AT_ONCE = 1 << 23
_UNREADABLE = (
    OSError,
    EOFError,
    KeyError,
    MemoryError,
    OverflowError,
    RuntimeError,  # encrypted, or of a later version
    TypeError,  # a single array
    ValueError,
    struct.error,
    zlib.error,
    BadZipFile,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)


@dataclass(frozen=True)
class ParaphraseTable:
    """Phrases as nodes of a trie of words; node 0 is the empty phrase.

    Node n + 1 extends node `keys[n] // len(words)` by the word `keys[n] % len(words)`. The keys are sorted, so that a
    node is found by bisection.
    """

    words: list[str]
    keys: Ints  # (nodes - 1,)
    paraphrases: Ragged  # one row per node: the nodes of its paraphrases, in the order of the table

    @classmethod
    def read(cls, path: Path) -> ParaphraseTable:
        """Read a table: METEOR's gzipped text, or a file written by `save`."""
        check_polars_threads()
        if not path.is_file():
            raise DataError("no such file; expected a paraphrase table", file=str(path))
        try:
            return cls._load(path) if path.suffix == ".npz" else cls._parse(path)
        except _UNREADABLE as error:
            raise DataError(f"not a paraphrase table: {error}", file=str(path)) from error

    def save(self, path: Path) -> None:
        """Write the table to a file that `read` loads quickly."""
        text = np.frombuffer("\n".join(self.words).encode("utf-8"), np.uint8)
        with replacing_file(path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                words=text,
                keys=self.keys,
                counts=self.paraphrases.lengths.astype(np.int32),
                paraphrases=self.paraphrases.values.astype(np.int32),
            )

    @cached_property
    def _code_of_word(self) -> dict[str, int]:
        """Word -> its code."""
        return {word: code for code, word in enumerate(self.words)}

    @cached_property
    def is_phrase(self) -> NDArray[np.bool_]:
        """Which nodes are complete phrases on either side of an entry, not just prefixes. (nodes,)"""
        whole = self.paraphrases.lengths > 0
        whole[self.paraphrases.values] = True
        return whole

    def step(self, nodes: Ints, words: Ints) -> Ints:
        """The node reached from each node by its next word; 0 if there is none, as for the word -1."""
        exists, place = find(np.where(words < 0, -1, nodes * len(self.words) + words), self.keys)
        return np.where(exists, place + 1, 0)

    def codes(self, words: Sequence[str]) -> Ints:
        """The code of each word, -1 if no phrase contains it."""
        return np.fromiter((self._code_of_word.get(word, -1) for word in words), np.int64, len(words))

    @classmethod
    def _load(cls, path: Path) -> ParaphraseTable:
        with path.open("rb") as file, array_archive(file) as stored:
            words = stored["words"].tobytes().decode("utf-8").split("\n")
            keys, counts, paraphrases = (_integers(stored[name]) for name in ("keys", "counts", "paraphrases"))
        nodes = len(keys) + 1
        if len(counts) != nodes or not _is_within(counts, len(paraphrases) + 1) or counts.sum() != len(paraphrases):
            raise ValueError("the numbers of paraphrases do not fit")
        if not _is_within(paraphrases, nodes) or not _is_within(keys, nodes * len(words)) or (np.diff(keys) <= 0).any():
            raise ValueError("the phrases do not fit")
        return cls(words, keys, Ragged(paraphrases, offsets_of(counts)))

    @classmethod
    def _parse(cls, path: Path) -> ParaphraseTable:
        categories = pl.Categorical(pl.Categories.random())
        parts = [part.cast(categories) for part in _entries(path)]
        if not parts:
            raise ValueError("it is empty")
        entries = pl.concat(parts)
        phrases = pl.concat(entries.get_columns()).unique()
        words, keys, nodes = _trie(phrases.cast(pl.String))
        code = phrases.to_physical().to_numpy()
        node_of_code = np.zeros(int(code.max()) + 1, np.int64)
        node_of_code[code] = nodes
        phrase, paraphrase = (node_of_code[column.to_physical().to_numpy()] for column in entries)
        order = np.argsort(phrase, kind="stable")
        counts = np.bincount(phrase, minlength=len(keys) + 1)
        return cls(words, keys, Ragged(paraphrase[order], offsets_of(counts)))


def _integers(stored: NDArray[np.generic]) -> Ints:
    if stored.ndim != 1 or not np.issubdtype(stored.dtype, np.integer):
        raise ValueError(f"expected a list of integers, found {stored.dtype} {stored.shape}")
    return stored.astype(np.int64)


def _is_within(values: Ints, end: int) -> bool:
    return bool(((values >= 0) & (values < end)).all())


def _entries(path: Path) -> Iterator[pl.DataFrame]:
    """The table in blocks, with the columns phrase and paraphrase."""
    rest = pl.Series("line", [], pl.String)
    for lines in _lines(path):
        lines = pl.concat([rest, lines])
        whole = len(lines) // 3 * 3
        rest, lines = lines[whole:], lines[:whole]
        probability, phrase, paraphrase = (lines.gather_every(3, line) for line in range(3))
        if lines.null_count() or probability.cast(pl.Float64, strict=False).null_count():
            raise ValueError("an entry should be a line with a number and two lines with a phrase")
        yield pl.DataFrame({"phrase": phrase, "paraphrase": paraphrase})
    if len(rest):
        raise ValueError("the last entry has fewer than three lines")


def _lines(path: Path) -> Iterator[pl.Series]:
    """The lines of a gzipped text, in blocks."""
    rest = b""
    with gzip.open(path, "rb") as file:
        while block := file.read(_BYTES_AT_ONCE):
            text, newline, rest = (rest + block).rpartition(b"\n")
            if newline:
                yield _as_lines(text)
    if rest:
        yield _as_lines(rest)


def _as_lines(text: bytes) -> pl.Series:
    # A separator that does not occur in text makes each line one column.
    lines = pl.read_csv(
        io.BytesIO(text), has_header=False, separator="\x01", quote_char=None, schema={"line": pl.String}
    )
    return lines["line"]


def _trie(phrases: pl.Series) -> tuple[list[str], Ints, Ints]:
    """The words of all phrases, the keys of their trie, and the node of each phrase."""
    split = phrases.str.split(" ")
    lengths = split.list.len().to_numpy().astype(np.int64)
    spoken = split.explode()
    words = spoken.unique().sort().to_list()
    flat = spoken.cast(pl.Enum(words)).to_physical().to_numpy().astype(np.int64)
    first = offsets_of(lengths)[:-1]
    node = np.zeros(len(phrases), np.int64)
    keys: list[Ints] = []
    nodes = 1
    for depth in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > depth)
        level, place = np.unique(node[longer] * len(words) + flat[first[longer] + depth], return_inverse=True)
        node[longer] = nodes + place
        nodes += len(level)
        keys.append(level)
    return words, np.concatenate(keys), node


# Matches of phrases with their paraphrases.
#
# METEOR looks up every phrase of the reference and searches its paraphrases in the reply, and then the other way
# round; a pair that the table has in both directions is therefore found twice.


def phrase_matches(table: ParaphraseTable, left: Ragged, right: Ragged) -> Matches:
    """Phrases of the reference with a paraphrase in the reply, then the other way round, each sorted by start.

    Rows contain the table's word codes, -1 for a word that it does not have.
    """
    of_left, of_right = Phrases.of(table, left), Phrases.of(table, right)
    nodes = np.unique(np.concatenate([of_left.nodes.values, of_right.nodes.values]))
    code_of_node = np.full(len(table.paraphrases), -1)
    code_of_node[nodes] = np.arange(len(nodes))
    forward = ParaphraseEntries.between(table, of_right, of_left, code_of_node)
    backward = ParaphraseEntries.between(table, of_left, of_right, code_of_node)
    related = PairFilter.of(
        np.concatenate([forward.paraphrase, backward.phrase]),
        np.concatenate([forward.phrase, backward.paraphrase]),
        len(nodes),
    )
    left_codes = Ragged(code_of_node[of_left.nodes.values], of_left.nodes.offsets)
    right_codes = Ragged(code_of_node[of_right.nodes.values], of_right.nodes.offsets)
    left_at, right_at = related.passing(left_codes, right_codes)
    matches = Matches(
        start=of_right.start[right_at],
        length=of_right.length[right_at],
        left_start=of_left.start[left_at],
        left_length=of_left.length[left_at],
        module=np.full(len(left_at), PARAPHRASE),
    )
    left_code, right_code = left_codes.values[left_at], right_codes.values[right_at]
    is_entry, number = forward.find(right_code, left_code)
    by_phrase = np.lexsort((matches.left_start, number, matches.length, matches.start))
    found_forward = matches.take(by_phrase[is_entry[by_phrase]])
    is_entry, number = backward.find(left_code, right_code)
    by_phrase = np.lexsort((number, matches.left_length, matches.left_start, matches.start))
    return found_forward + matches.take(by_phrase[is_entry[by_phrase]])


@dataclass(frozen=True, slots=True)
class Phrases:
    """The phrases of a table that occur in rows of words, sorted by position and then by length."""

    nodes: Ragged
    start: Ints  # the position of the first word, an index into the rows' values
    length: Ints

    @classmethod
    def of(cls, table: ParaphraseTable, rows: Ragged) -> Phrases:
        """The phrases that occur in rows of the table's word codes."""
        row_end = np.repeat(rows.offsets[1:], rows.lengths)
        start, length = np.arange(len(rows.values)), 0
        node = np.zeros(len(start), np.int64)
        found = []
        while len(start):
            node = table.step(node, rows.values[start + length])
            length += 1
            start, node = start[node > 0], node[node > 0]
            whole = table.is_phrase[node]
            found.append((start[whole], np.full(int(whole.sum()), length), node[whole]))
            goes_on = start + length < row_end[start]
            start, node = start[goes_on], node[goes_on]
        if not found:
            nothing = np.zeros(0, np.int64)
            return cls(Ragged(nothing, np.zeros(len(rows) + 1, np.int64)), nothing, nothing)
        starts, lengths, nodes = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(starts, kind="stable")
        counts = np.bincount(rows.row_of_value[starts], minlength=len(rows))
        return cls(Ragged(nodes[order], offsets_of(counts)), starts[order], lengths[order])


@dataclass(frozen=True, slots=True)
class ParaphraseEntries:
    """Entries of a table whose phrase occurs on one side and whose paraphrase occurs on the other, as codes."""

    phrase: Ints
    paraphrase: Ints
    number: Ints  # the index of the paraphrase among those of its phrase, in the order of the table
    codes: int  # all codes are below this

    @classmethod
    def between(cls, table: ParaphraseTable, one: Phrases, other: Phrases, code_of_node: Ints) -> ParaphraseEntries:
        """The entries with a phrase in `one` and a paraphrase in `other`, sorted by these two."""
        nodes = np.unique(one.nodes.values)
        listed = table.paraphrases.take(nodes)
        occurs = np.zeros(len(table.paraphrases), np.bool_)
        occurs[other.nodes.values] = True
        kept = np.flatnonzero(occurs[listed.values])
        phrase, paraphrase = code_of_node[nodes][listed.row_of_value[kept]], code_of_node[listed.values[kept]]
        number = kept - listed.offsets[:-1][listed.row_of_value[kept]]
        order = np.lexsort((paraphrase, phrase))
        return cls(phrase[order], paraphrase[order], number[order], int(code_of_node.max(initial=-1)) + 1)

    def find(self, phrase: Ints, paraphrase: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """Whether each pair is an entry, and if so its number."""
        is_entry, place = find(phrase * self.codes + paraphrase, self.phrase * self.codes + self.paraphrase)
        return is_entry, self.number[place] if len(self.number) else place

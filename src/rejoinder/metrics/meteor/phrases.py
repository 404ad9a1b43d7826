"""Matches of phrases with their paraphrases.

METEOR looks up every phrase of the reference and searches its paraphrases in the reply, and then the other way round; a
pair that the table has in both directions is therefore found twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, offsets_of
from rejoinder.metrics.meteor.matching import Matches
from rejoinder.metrics.meteor.parameters import PARAPHRASE
from rejoinder.metrics.meteor.paraphrase import ParaphraseTable
from rejoinder.metrics.meteor.relation import PairFilter, find


def phrase_matches(table: ParaphraseTable, left: Ragged, right: Ragged) -> Matches:
    """Phrases of the reference with a paraphrase in the reply, then the other way round, each sorted by start.

    Rows contain the table's word codes, -1 for a word that it does not have.
    """
    of_left, of_right = Phrases.of(table, left), Phrases.of(table, right)
    nodes = np.unique(np.concatenate([of_left.nodes.values, of_right.nodes.values]))
    code_of_node = np.full(len(table.paraphrases), -1)
    code_of_node[nodes] = np.arange(len(nodes))
    forward = Entries.between(table, of_right, of_left, code_of_node)
    backward = Entries.between(table, of_left, of_right, code_of_node)
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
class Entries:
    """Entries of a table whose phrase occurs on one side and whose paraphrase occurs on the other, as codes."""

    phrase: Ints
    paraphrase: Ints
    number: Ints  # the index of the paraphrase among those of its phrase, in the order of the table
    codes: int  # all codes are below this

    @classmethod
    def between(cls, table: ParaphraseTable, one: Phrases, other: Phrases, code_of_node: Ints) -> Entries:
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

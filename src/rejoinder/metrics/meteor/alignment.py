"""The alignment of a reply with its reference: the matches that METEOR 1.5 chooses, by beam search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, offsets_of
from rejoinder.metrics.batch import identical_rows
from rejoinder.metrics.meteor.matching import EXACT, Matches, find

# The alignment of a reply with its reference: the matches that METEOR 1.5 chooses.
#
# A match whose words have no other match is certain. Where there is a choice, a beam search goes through the reference
# from left to right (see `beam`). Identical rows are aligned word by word.


def align(matches: Matches, left: Ragged, right: Ragged, beam: int) -> Matches:
    """The matches in the best alignment of each row; `matches` must be sorted by start."""
    matches = matches.take(_worth_trying(matches, left, right))
    certain = _certain(matches, len(left.values), len(right.values))
    chosen = certain.copy()
    if not certain.all():
        chosen[~certain] = resolve(matches.take(~certain), matches.take(certain), left, right, beam)
    return matches.take(chosen)


def chunks(alignment: Matches, right: Ragged) -> Ints:
    """The number of chunks: maximal runs of matches that are contiguous and in the same order on both sides. (rows,)"""
    row = right.row_of_value[alignment.start]
    goes_on = (alignment.start[1:] == alignment.end[:-1]) & (alignment.left_start[1:] == alignment.left_end[:-1])
    begins = np.append(True, ~goes_on | (row[1:] != row[:-1]))[: len(row)]
    return np.bincount(row[begins], minlength=len(right))


def _worth_trying(matches: Matches, left: Ragged, right: Ragged) -> NDArray[np.bool_]:
    """Which matches to consider: all of them, but in identical rows only those of each word with itself."""
    row = right.row_of_value[matches.start]
    same_place = matches.start - right.offsets[row] == matches.left_start - left.offsets[row]
    kept: NDArray[np.bool_] = ~identical_rows(left, right)[row] | (same_place & (matches.module == EXACT))
    return kept


def _certain(matches: Matches, left_words: int, right_words: int) -> NDArray[np.bool_]:
    """Which matches cover only words that no other match covers."""
    return _alone(matches.start, matches.end, right_words) & _alone(matches.left_start, matches.left_end, left_words)


def _alone(start: Ints, end: Ints, words: int) -> NDArray[np.bool_]:
    """Which spans of words overlap with no other span."""
    depth = np.cumsum(np.bincount(start, minlength=words + 1) - np.bincount(end, minlength=words + 1))
    crowded_before = np.append(0, np.cumsum(depth > 1))
    alone: NDArray[np.bool_] = crowded_before[end] == crowded_before[start]
    return alone


# METEOR 1.5's search for the best alignment, for many rows at once.
#
# The search keeps up to `beam` partial alignments, *paths*, and reads the reference from left to right. At a position
# where undecided matches start, a path branches into one path for each of them whose words are free, and one without
# any. Before every position the paths are sorted: most words covered by exact matches first (two words of any other
# match count as one, an odd one as none), then fewest chunks, then least distance, then their previous order; the
# first `beam` are kept.
#
# Three details of the original program decide ties and are reproduced. Coverage is rounded down to whole words at each
# match, so a stem or synonym match of one word adds nothing. The distance of a match is added to the path that it
# branched from, so a path includes the distances of the matches that were tried before its own. The sort is stable.
#
# Positions that affect all paths of a row alike change no order, so the search visits only *events*: the positions
# where undecided matches start, those that such a match covers, and the position after it. All rows process their
# first event together, then their second, and so on.
#
# Of the branches of one path that add the same coverage and chunks, those tried first have the least distance. So only
# the first `beam` of them can be kept, and the others are dropped before anything is sorted or copied.


_STEPS_AT_ONCE = 1 << 24  # a group of rows takes at most this many steps, which bounds the memory of the search
_NONE = -1  # no match ends right before this position
_UNCHANGED = -2
_ROW, _COVERED, _CHUNKS, _DISTANCE, _LAST_END, _BUSY_UNTIL = range(6)  # the integers that make up a path
_WORDS_PER_INTEGER = 63


def resolve(undecided: Matches, certain: Matches, left: Ragged, right: Ragged, beam: int) -> NDArray[np.bool_]:
    """Which of the undecided matches, sorted by start, belong to the best alignments."""
    chosen = np.zeros(len(undecided), np.bool_)
    row = right.row_of_value[undecided.start]
    for begin, end in _groups(undecided.start, row, beam):
        group = undecided.take(np.arange(begin, end))
        events = Events.of(group, certain, row[begin:end], right)
        options = MatchOptions.of(group, row[begin:end], left, right)
        chosen[begin + _Search(events, options, beam).run()] = True
    return chosen


def _groups(start: Ints, row: Ints, beam: int) -> list[tuple[int, int]]:
    """Groups of complete rows whose search fits into memory, as slices of the matches."""
    row_start = np.flatnonzero(np.diff(row, prepend=-1))
    place_start = np.flatnonzero(np.diff(start, prepend=-1))
    matches_at_place = np.diff(place_start, append=len(start))
    first_place = np.searchsorted(place_start, row_start)
    widest = np.maximum.reduceat(matches_at_place, first_place)
    places = np.diff(first_place, append=len(place_start))
    group = np.cumsum((widest + 1) * places * beam) // _STEPS_AT_ONCE
    cuts = row_start[np.flatnonzero(np.diff(group, prepend=-1))]
    return list(zip(cuts.tolist(), [*cuts[1:].tolist(), len(start)], strict=True))


@dataclass(frozen=True, slots=True)
class Events:
    """The positions that the search visits, row by row."""

    place: Ints  # position in the reference plus its row number, so that each row has a position after its last word
    first_option: Ints
    options: Ints  # how many undecided matches start here
    certain_start: Ints  # in the reply, of the certain match that starts here, or _NONE
    certain_end: Ints
    last_end: Ints  # in the reply, of the certain match that ends before this position; _UNCHANGED after an event
    first_of_row: Ints  # by rank: rows with more events come first
    count_of_row: Ints

    @classmethod
    def of(cls, undecided: Matches, certain: Matches, row: Ints, right: Ragged) -> Events:
        """The events of all rows that have undecided matches."""
        starts = undecided.start + row
        marks = undecided.length + 1
        marked = np.repeat(starts - offsets_of(marks)[:-1], marks) + np.arange(marks.sum())
        place, first_mark = np.unique(marked, return_index=True)
        row_of_event = np.repeat(row, marks)[first_mark]
        first_of_row = np.flatnonzero(np.diff(row_of_event, prepend=-1))
        count_of_row = np.diff(first_of_row, append=len(place))
        by_count = np.argsort(-count_of_row, kind="stable")
        certain_row = right.row_of_value[certain.start]
        first_option = np.searchsorted(starts, place)
        follows = np.diff(place, prepend=-2) == 1
        # The first event of a row never follows another: between two rows there is a position after the last word.
        follows[first_of_row] = False
        ends = _lookup(place, certain.end + certain_row, certain.left_end)
        return cls(
            place=place,
            first_option=first_option,
            options=np.searchsorted(starts, place, "right") - first_option,
            certain_start=_lookup(place, certain.start + certain_row, certain.left_start),
            certain_end=_lookup(place, certain.start + certain_row, certain.left_end),
            last_end=np.where(follows, _UNCHANGED, ends),
            first_of_row=first_of_row[by_count],
            count_of_row=count_of_row[by_count],
        )


def _lookup(wanted: Ints, ascending: Ints, values: Ints) -> Ints:
    """The value of each wanted key, _NONE for a missing key."""
    occurs, at = find(wanted, ascending)
    return np.where(occurs, values[at], _NONE) if len(values) else np.full(len(wanted), _NONE)


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """The undecided matches, followed by the option of taking no match."""

    covered: Ints  # what the match adds to the words covered
    distance: Ints
    left_start: Ints
    left_end: Ints
    end: Ints  # as Events.place
    words: WordBits
    most_distance: int  # of all matches of a row together

    @property
    def stay(self) -> int:
        """The option of taking no match."""
        return len(self.covered) - 1

    @classmethod
    def of(cls, matches: Matches, row: Ints, left: Ragged, right: Ragged) -> MatchOptions:
        """The values of each match that the search uses."""
        is_exact = matches.module == EXACT
        start = matches.start - right.offsets[row]
        left_start = matches.left_start - left.offsets[row]
        weights = [np.where(is_exact, length, length // 2) for length in (matches.length, matches.left_length)]
        return cls(
            covered=np.append(weights[0] + weights[1], 0),
            distance=np.append(np.abs(start - left_start), 0),
            left_start=np.append(matches.left_start, _NONE),
            left_end=np.append(matches.left_end, _NONE),
            end=np.append(matches.end + row, 0),
            words=WordBits.of(matches, row, left),
            most_distance=int(np.bincount(row - row[0], np.abs(start - left_start)).max()),
        )


@dataclass(frozen=True, slots=True)
class WordBits:
    """The words of the reply that each option uses: one bit for each word that some undecided match covers."""

    first: Ints  # (options,): the first integer with a bit of the option
    masks: list[Ints]  # the bits in that integer, in the next one, ...; (options,) each
    integers: int  # per path, with 63 bits each

    @classmethod
    def of(cls, matches: Matches, row: Ints, left: Ragged) -> WordBits:
        """The bits of all matches, and none for the option of taking no match."""
        wanted = np.bincount(matches.left_start, minlength=len(left.values) + 1)
        wanted -= np.bincount(matches.left_end, minlength=len(left.values) + 1)
        number = np.cumsum(np.cumsum(wanted) > 0)
        before_row = np.append(0, number)[left.offsets[:-1][row]]
        first, offset = np.divmod(number[matches.left_start] - 1 - before_row, _WORDS_PER_INTEGER)
        ends = offset + matches.left_length
        below = (np.uint64(1) << np.arange(_WORDS_PER_INTEGER + 1, dtype=np.uint64)) - np.uint64(1)
        masks = []
        for lowest in range(0, int(ends.max()), _WORDS_PER_INTEGER):
            low, high = (np.clip(bit - lowest, 0, _WORDS_PER_INTEGER) for bit in (offset, ends))
            masks.append(np.append((below[high] - below[low]).astype(np.int64), 0))
        return cls(np.append(first, 0), masks, int((first + (ends - 1) // _WORDS_PER_INTEGER).max()) + 1)

    def are_free(self, used: Ints, path: Ints, option: Ints) -> NDArray[np.bool_]:
        """Which options use no word that their path has used. `used` has one row per integer, one column per path."""
        taken = np.zeros(len(option), np.int64)
        for integer, bits in self._parts(option):
            taken |= used[integer, path] & bits
        free: NDArray[np.bool_] = taken == 0
        return free

    def use(self, used: Ints, option: Ints) -> None:
        """Mark the words of each column's option as used."""
        columns = np.arange(len(option))
        for integer, bits in self._parts(option):
            used[integer, columns] |= bits

    def _parts(self, option: Ints) -> Iterator[tuple[Ints, Ints]]:
        for number, mask in enumerate(self.masks):
            # Past the last integer there are no bits, and any integer will do.
            yield np.minimum(self.first[option] + number, self.integers - 1), mask[option]


class _Search:
    """The paths of all rows, and their history."""

    def __init__(self, events: Events, options: MatchOptions, beam: int) -> None:
        self.events, self.options, self.beam = events, options, beam
        rows, most_events = len(events.first_of_row), int(events.count_of_row.max())
        # The best paths of each row, row by row and the best first; and the words that each path has used.
        self.paths = np.zeros((_BUSY_UNTIL + 1, rows), np.int64)
        self.paths[_ROW] = np.arange(rows)
        self.used = np.zeros((options.words.integers, rows), np.int64)
        # By step: how many rows have that many events.
        self.open_rows = np.searchsorted(-events.count_of_row, -np.arange(most_events + 1)).tolist()
        # By step, for each path after it: the path before it, and the option that was taken.
        self.history: list[tuple[Ints, Ints]] = []
        # Upper bounds of covered words, chunks and distance.
        self.bounds = (
            most_events + _WORDS_PER_INTEGER * options.words.integers + 1,
            most_events + 2,
            options.most_distance + 1,
        )

    def run(self) -> Ints:
        """The options taken on the best path of each row."""
        best = np.zeros(self.open_rows[0], np.int64)
        for step, rows in enumerate(self.open_rows):
            row = self.paths[_ROW]
            head = np.flatnonzero(np.diff(row, prepend=-1))  # every row has a path, so its head is head[row]
            best[rows : len(head)] = head[rows:]
            if rows:
                self._advance(np.flatnonzero(row < rows), step)
        return self._trace(best)

    def _advance(self, paths: Ints, step: int) -> None:
        """Replace the given paths by the best of those that extend them through the next event of their row."""
        events, options = self.events, self.options
        before, used = self.paths[:, paths], self.used[:, paths]
        event = events.first_of_row[before[_ROW]] + step
        last_end = events.last_end[event]
        before[_LAST_END] = np.where(last_end == _UNCHANGED, before[_LAST_END], last_end)
        busy = before[_BUSY_UNTIL] > events.place[event]
        parent, option = self._branches(used, event, busy)
        distance = _sum_before(options.distance[option], parent)
        stays = option == options.stay
        event, busy = event[parent], busy[parent]
        left_start = np.where(stays, events.certain_start[event], options.left_start[option])
        last_end = before[_LAST_END][parent]
        new_chunk = (last_end != _NONE) & (last_end != left_start) & ~busy
        tried = self._first_of_each_kind(parent, options.covered[option] * 2 + new_chunk)
        parent, option, event, busy = parent[tried], option[tried], event[tried], busy[tried]
        left_end = np.where(option == options.stay, events.certain_end[event], options.left_end[option])
        after = before[:, parent]
        after[_COVERED] += options.covered[option]
        after[_CHUNKS] += new_chunk[tried]
        after[_DISTANCE] += distance[tried]
        after[_LAST_END] = np.where(busy, after[_LAST_END], left_end)
        after[_BUSY_UNTIL] = np.maximum(after[_BUSY_UNTIL], options.end[option])
        kept = self._best(after)
        parent, option = parent[kept], option[kept]
        self.paths, self.used = after[:, kept], used[:, parent]
        options.words.use(self.used, option)
        self.history.append((paths[parent], option))

    def _branches(self, used: Ints, event: Ints, busy: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """For each extended path: the path that it continues, and the option that it takes."""
        events, options = self.events, self.options
        counts = np.where(busy, 0, events.options[event]) + 1
        parent = np.repeat(np.arange(len(counts)), counts)
        ends = np.cumsum(counts)
        option = np.repeat(events.first_option[event] - ends + counts, counts) + np.arange(len(parent))
        option[ends - 1] = options.stay
        free = np.flatnonzero(options.words.are_free(used, parent, option))
        return parent[free], option[free]

    def _first_of_each_kind(self, parent: Ints, kind: Ints) -> Ints:
        """The first `beam` branches of each kind for each parent, in their order."""
        heads = np.flatnonzero(np.diff(parent, prepend=-1))
        if np.diff(heads, append=len(parent)).max() <= self.beam:
            return np.arange(len(parent))
        kept = np.zeros(len(parent), np.bool_)
        for one in np.flatnonzero(np.bincount(kind)).tolist():
            same = kind == one
            rank = np.cumsum(same)
            kept |= same & (rank - (rank - same)[heads][parent] <= self.beam)
        return np.flatnonzero(kept)

    def _best(self, paths: Ints) -> Ints:
        """The best `beam` paths of each row, in their order: by row, and the best first within a row."""
        order = self._order(paths)
        row = paths[_ROW][order]
        head = np.flatnonzero(np.diff(row, prepend=-1))
        best: Ints = order[np.arange(len(row)) - head[row] < self.beam]
        return best

    def _order(self, paths: Ints) -> Ints:
        row, covered, chunks, distance = paths[: _DISTANCE + 1]
        if len(row) == row[-1] + 1:
            return np.arange(len(row))
        coverages, chunk_counts, distances = self.bounds
        if len(row) * coverages * chunk_counts * distances >= 2**63:
            return np.lexsort((distance, chunks, -covered, row))
        key = ((row * coverages - covered) * chunk_counts + chunks) * distances + distance
        return np.argsort(key, kind="stable")

    def _trace(self, best: Ints) -> Ints:
        """The options that led to the best paths."""
        found = []
        for rows, (parent, option) in zip(self.open_rows[-2::-1], reversed(self.history), strict=True):
            found.append(option[best[:rows]])
            best[:rows] = parent[best[:rows]]
        options = np.concatenate(found)
        taken: Ints = options[options != self.options.stay]
        return taken


def _sum_before(values: Ints, group: Ints) -> Ints:
    """For each value the sum of the values before it in its group; groups are 0, 1, ... in order, none empty."""
    before = np.cumsum(values) - values
    return before - before[np.flatnonzero(np.diff(group, prepend=-1))][group]

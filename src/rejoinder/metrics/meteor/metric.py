"""METEOR as a metric of the package: from alignments to scores, and limits for long texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, offsets_of
from rejoinder.errors import CallError, shortened
from rejoinder.metrics.base import State, TextMetric, best_reference, check_choice, settle_empty
from rejoinder.metrics.batch import Batch
from rejoinder.metrics.meteor.alignment import align, chunks
from rejoinder.metrics.meteor.matching import TASKS, Lexicon, Matches, MeteorParameters, used_words, word_matches
from rejoinder.metrics.meteor.paraphrase import ParaphraseTable, phrase_matches
from rejoinder.types import Scores

# METEOR as a metric of the package.


@cache
def _paraphrases(path: str) -> ParaphraseTable:
    return ParaphraseTable.read(Path(path))


@dataclass(frozen=True, kw_only=True)
class Meteor(TextMetric):
    """METEOR 1.5 for English: words match as they are, by stem, as WordNet synonyms and, given a table, as paraphrases.

    `task` selects one of METEOR's sets of parameters (rank, adq, hter, li). `paraphrases` is the path of a table in
    METEOR's format; none comes with the package. In other languages only equal words match, and function words are
    still the English ones.
    """

    name: ClassVar[str] = "meteor"
    measures: ClassVar[str] = "words shared with the references, also by stem and as synonyms, and their order"
    citation: ClassVar[str] = "Denkowski & Lavie 2014"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = "no references, or no token to compare"

    task: str = "rank"
    stems: bool = True
    synonyms: bool = True
    paraphrases: str | None = None
    refs: str = "max"

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "task", tuple(TASKS))
        check_choice(self, "refs", ("max", "mean"))
        if self.paraphrases is not None and not Path(self.paraphrases).is_file():
            raise CallError(f"meteor: no paraphrase table at {shortened(self.paraphrases)}")

    @property
    def settings(self) -> MeteorParameters:
        """The parameters of the task, with this metric's modules."""
        return replace(TASKS[self.task], use_stems=self.stems, use_synonyms=self.synonyms)

    def score_batch(self, batch: Batch) -> Scores:
        """The score of the best reference, or with refs=mean the mean over the references."""
        scores = best_reference(score_from_statistics(self.statistics(batch), self.settings), batch, self.refs)
        return settle_empty(scores, batch, batch.tokens(self.text))

    def statistics(self, batch: Batch) -> Statistics:
        """The statistics that METEOR's score is computed from, one row per reference."""

        def align() -> Statistics:
            tokens = batch.tokens(self.text)
            words = tokens.vocabulary.to_list()
            table = _paraphrases(self.paraphrases) if self.paraphrases is not None else None
            return reference_statistics(words, tokens.responses, tokens.references, batch.owner, self.settings, table)

        return batch.keep(self, align)

    def counter(self) -> MeteorCounter | None:
        """Corpus-level METEOR: statistics are summed before the score is taken; with refs=mean it is the mean score."""
        return MeteorCounter(self) if self.refs == "max" else None

    def watcher(self) -> LongTextCounter:
        """Counts replies that were too long to be compared as a whole."""
        return LongTextCounter(self)


@dataclass
class LongTextCounter:
    """Counts replies of which, or of whose references, only the beginning was compared."""

    metric: Meteor
    count: int = 0

    def add(self, batch: Batch) -> None:
        """Take a batch into account."""
        tokens, compared = batch.tokens(self.metric.text), self.metric.statistics(batch)[:, :2]
        lengths = np.column_stack([tokens.responses.lengths[batch.owner], tokens.references.lengths])
        self.count += len(np.unique(batch.owner[(compared < lengths).any(axis=1)]))

    def state(self) -> State:
        """The number of replies."""
        return {"count": np.array(self.count)}

    def merge(self, state: State) -> None:
        """Add the replies of another part of the corpus."""
        self.count += int(state["count"])

    def notes(self) -> list[str]:
        """What a reader should know about all that was added."""
        if not self.count:
            return []
        replies = "1 reply" if self.count == 1 else f"{self.count:,} replies"
        return [f"{replies} or their references were too long: only the beginnings were compared"]


@dataclass
class MeteorCounter:
    """Sums the statistics for corpus-level METEOR."""

    metric: Meteor
    total: Statistics = field(default_factory=partial(np.zeros, 0))

    def add(self, batch: Batch, rows: Ints) -> None:
        """Add the given rows of a batch; those without references are left out."""
        each = self.metric.statistics(batch)
        best = best_statistics(each, batch.owner, len(batch), self.metric.settings)[rows]
        if batch.reference_counts[rows].any():
            some = corpus_statistics(best)
            self.total = some if not len(self.total) else self.total + some

    def state(self) -> State:
        """The sums of the statistics, which are whole numbers; empty if nothing was added."""
        return {"total": self.total}

    def merge(self, state: State) -> None:
        """Add the sums of another part of the corpus."""
        if len(state["total"]):
            self.total = state["total"] if not len(self.total) else self.total + state["total"]

    def value(self) -> float:
        """Corpus METEOR; NaN if nothing was added."""
        if not len(self.total):
            return float("nan")
        return float(score_from_statistics(self.total[np.newaxis], self.metric.settings)[0])


# METEOR 1.5 scores of replies, from the statistics of their alignments.
#
# A row of statistics describes one reply and one reference, with columns in the order of METEOR's option `-ssOut`:
# words of the reply and of the reference, function words of each; then for each module (exact, stem, synonym,
# paraphrase) the content words that it matches in the reply and in the reference, and likewise the function words;
# then chunks, matched words of the reply, matched words of the reference.


Statistics = NDArray[np.float64]  # (rows, 23)

_COLUMNS = 23
_LEFT_WORDS, _RIGHT_WORDS, _LEFT_FUNCTION, _RIGHT_FUNCTION = range(4)
_MATCHED = slice(4, 20)
_CHUNKS, _LEFT_MATCHED, _RIGHT_MATCHED = range(20, 23)
_ROWS_AT_ONCE = 1 << 14
_PAIRS_AT_ONCE = 1 << 22  # of words, each of which may match


def reference_statistics(
    vocabulary: Sequence[str],
    replies: Ragged,
    references: Ragged,
    owner: Ints,
    parameters: MeteorParameters,
    paraphrases: ParaphraseTable | None = None,
) -> Statistics:
    """The statistics of each reference with its reply. (references, 23)

    Rows contain codes into the vocabulary; reference j belongs to reply `owner[j]`. Of very long texts only the
    beginnings are compared, and only their words are counted.
    """
    words, place = used_words(vocabulary, replies.values, references.values)
    lexicon = Lexicon.of(words, parameters)
    in_table = paraphrases.codes(words) if paraphrases is not None else place
    statistics = np.zeros((len(references), _COLUMNS))
    for rows in _blocks(replies.lengths[owner] * references.lengths):
        left, right = _recoded(replies.take(owner[rows]), place), _recoded(references.take(rows), place)
        left, right = beginnings(lexicon, left, right)
        matches = word_matches(lexicon, left, right)
        if paraphrases is not None:
            matches += phrase_matches(paraphrases, _recoded(left, in_table), _recoded(right, in_table))
        alignment = align(matches.by_start(), left, right, parameters.beam)
        statistics[rows] = _statistics(lexicon.is_function, left, right, alignment)
    return statistics


def _blocks(pairs: Ints) -> list[Ints]:
    """The rows in blocks that fit into memory; `pairs` has the pairs of words of each row."""
    rows = np.arange(len(pairs))
    new = (np.diff(np.cumsum(pairs) // _PAIRS_AT_ONCE) > 0) | (np.diff(rows // _ROWS_AT_ONCE) > 0)
    return np.split(rows, np.flatnonzero(new) + 1) if len(rows) else []


def best_statistics(each: Statistics, owner: Ints, replies: int, parameters: MeteorParameters) -> Statistics:
    """The statistics of each reply with its best reference; NaN for a reply without references. (replies, 23)"""
    best = np.full((replies, _COLUMNS), np.nan)
    # From the worst to the best, and on a tie from the last to the first: later rows overwrite earlier ones.
    order = np.argsort(score_from_statistics(each, parameters)[::-1], kind="stable")
    order = len(each) - 1 - order
    best[owner[order]] = each[order]
    return best


def score_from_statistics(statistics: Statistics, parameters: MeteorParameters) -> Scores:
    """The score of each row; NaN for a row of NaN. (rows,)"""
    alpha, beta, gamma, delta = parameters.alpha, parameters.beta, parameters.gamma, parameters.delta
    matched = statistics[:, _MATCHED].reshape(-1, 4, 2, 2)  # (rows, module, content or function, side)
    # These sums are in the order of the original, so that the last digit agrees.
    weighted = np.zeros((len(statistics), 2))
    for kind, kind_weight in enumerate((delta, 1.0 - delta)):
        for module, weight in enumerate(parameters.weights):
            weighted += matched[:, module, kind] * weight * kind_weight
    words, function_words = statistics[:, :_LEFT_FUNCTION], statistics[:, _LEFT_FUNCTION:4]
    lengths = delta * (words - function_words) + (1.0 - delta) * function_words
    with np.errstate(divide="ignore", invalid="ignore"):
        precision, recall = (weighted / lengths).T
        mean = 1.0 / ((1.0 - alpha) / precision + alpha / recall)
        fragments = statistics[:, _CHUNKS] / (statistics[:, _LEFT_MATCHED:].sum(axis=1) / 2)
        penalty = gamma * np.where(_is_perfect(statistics), 0.0, fragments) ** beta
        scores: Scores = np.maximum(mean * (1.0 - penalty), 0.0)
    scores[np.isnan(scores) & ~np.isnan(statistics[:, 0])] = 0.0
    return scores


def corpus_statistics(statistics: Statistics) -> NDArray[np.float64]:
    """The sums over all rows but those of NaN; the single chunk of a perfect match is not counted. (23,)

    The sums of several parts of a corpus may be added; `score_from_statistics` of the total is its score.
    """
    known = statistics[~np.isnan(statistics[:, 0])]
    total: NDArray[np.float64] = known.sum(axis=0)
    total[_CHUNKS] -= np.count_nonzero(_is_perfect(known))
    return total


def _is_perfect(statistics: Statistics) -> NDArray[np.bool_]:
    """Which rows match every word in one chunk. (rows,)"""
    complete = statistics[:, _LEFT_MATCHED:] == statistics[:, :_LEFT_FUNCTION]
    perfect: NDArray[np.bool_] = complete.all(axis=1) & (statistics[:, _CHUNKS] == 1)
    return perfect


def _statistics(is_function: NDArray[np.bool_], left: Ragged, right: Ragged, alignment: Matches) -> Statistics:
    """The statistics of aligned rows."""
    statistics = np.zeros((len(right), _COLUMNS))
    sides = ((left, alignment.left_start, alignment.left_length), (right, alignment.start, alignment.length))
    row_of_match = right.row_of_value[alignment.start]
    for side, (rows, start, length) in enumerate(sides):
        of_function = is_function[rows.values]
        statistics[:, side] = rows.lengths
        statistics[:, 2 + side] = np.bincount(rows.row_of_value[of_function], minlength=len(rows))
        function_before = np.append(0, np.cumsum(of_function))
        function = function_before[start + length] - function_before[start]
        column = row_of_match * 8 + alignment.module * 2
        for kind, count in enumerate((length - function, function)):
            counts = np.bincount(column + kind, count, minlength=len(rows) * 8).reshape(len(rows), 8)
            statistics[:, _MATCHED][:, side::2] += counts
        statistics[:, _LEFT_MATCHED + side] = np.bincount(row_of_match, length, minlength=len(rows))
    statistics[:, _CHUNKS] = chunks(alignment, right)
    return statistics


def _recoded(rows: Ragged, new_code: Ints) -> Ragged:
    return Ragged(new_code[rows.values], rows.offsets)


# How much of very long texts is compared.
#
# METEOR's cost grows with the pairs of words and with the possible matches among them, and so with the product of two
# lengths. Beyond a limit only the beginnings are compared: the first half of both texts, or the first quarter, ... Two
# English texts of 3,000 tokens are within the limits, and so is a reply of 200,000 tokens with a reference of fifty.


MOST_PAIRS = 1 << 26
MOST_MATCHES = 1 << 19
"""Each takes about a second."""


def beginnings(lexicon: Lexicon, left: Ragged, right: Ragged) -> tuple[Ragged, Ragged]:
    """The rows of both sides, as far as they are compared: as a whole, or the same share of both."""
    halvings = np.zeros(len(left), np.int64)
    # A pair of words has two matches at most: by stem and as synonyms.
    for row in np.flatnonzero(left.lengths * right.lengths > min(MOST_PAIRS, MOST_MATCHES // 2)).tolist():
        while not _is_affordable(lexicon, *(_beginning(side[row], halvings[row]) for side in (left, right))):
            halvings[row] += 1
    if not halvings.any():
        return left, right
    return _beginnings(left, halvings), _beginnings(right, halvings)


def _is_affordable(lexicon: Lexicon, left: Ints, right: Ints) -> bool:
    if len(left) * len(right) > MOST_PAIRS:
        return False
    left_words, left_counts = np.unique(left, return_counts=True)
    right_words, right_counts = np.unique(right, return_counts=True)
    matches = word_matches(lexicon, _one_row(left_words), _one_row(right_words))
    return int((left_counts[matches.left_start] * right_counts[matches.start]).sum()) <= MOST_MATCHES


def _one_row(values: Ints) -> Ragged:
    return Ragged(values, np.array([0, len(values)]))


def _beginning(words: Ints, halvings: int) -> Ints:
    return words[: max(1, len(words) >> halvings)]


def _beginnings(rows: Ragged, halvings: Ints) -> Ragged:
    lengths = np.minimum(rows.lengths, np.maximum(1, rows.lengths >> halvings))
    place = np.arange(len(rows.values)) - np.repeat(rows.offsets[:-1], rows.lengths)
    return Ragged(rows.values[place < np.repeat(lengths, rows.lengths)], offsets_of(lengths))

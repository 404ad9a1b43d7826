"""ROUGE-L: F-measure of the longest common subsequence (Lin 2004)."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cpdist

from rejoinder.arrays import Ragged
from rejoinder.metrics.base import TextMetric, best_reference, check_choice, check_weight, settle_empty
from rejoinder.metrics.batch import Batch, Tokens
from rejoinder.types import Scores

_SURROGATES = 0xD800, 0x800  # first and number of the code points that cannot be decoded into a string
_CHARACTERS = 0x110000 - 0x800  # the number of all others


@dataclass(frozen=True, kw_only=True)
class RougeL(TextMetric):
    """ROUGE-L of a reply against its references.

    `beta` weights recall: 1.2 in coco-caption, 1 for F1. `refs=best` combines the best precision and the best recall
    over all references, as coco-caption does; `max` takes the best F-measure, as rouge-score does; `mean` their mean.
    """

    name: ClassVar[str] = "rouge-l"
    measures: ClassVar[str] = "longest common subsequence with the references, as an F-measure"
    citation: ClassVar[str] = "Lin 2004"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = "no references, or no token to compare"

    beta: float = 1.2
    refs: str = "best"

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "refs", ("best", "max", "mean"))
        check_weight(self, "beta")

    def score_batch(self, batch: Batch) -> Scores:
        """(1 + beta^2) P R / (R + beta^2 P)."""
        tokens = batch.tokens(self.text)
        common = batch.keep(("common subsequence", self.text), lambda: common_subsequence(tokens, batch))
        lengths = tokens.responses.lengths[batch.owner]
        precision = np.divide(common, lengths, out=np.zeros(len(common)), where=lengths > 0)
        lengths = tokens.references.lengths
        recall = np.divide(common, lengths, out=np.zeros(len(common)), where=lengths > 0)
        if self.refs == "best":
            scores = self._f_measure(best_reference(precision, batch, "max"), best_reference(recall, batch, "max"))
        else:
            scores = best_reference(self._f_measure(precision, recall), batch, self.refs)
        return settle_empty(scores, batch, tokens)

    def _f_measure(self, precision: Scores, recall: Scores) -> Scores:
        weight = self.beta**2
        below = recall + weight * precision
        above = (1 + weight) * precision * recall
        # F is 0 if both are 0, and stays NaN if both are NaN (no reference).
        return np.divide(above, below, out=above.copy(), where=below > 0)


def common_subsequence(tokens: Tokens, batch: Batch) -> Scores:
    """Length of the longest common subsequence of each reference with its reply. (references,)"""
    # With more distinct tokens than characters, the codes themselves are compared, which is slower.
    comparable = as_strings if len(tokens.vocabulary) <= _CHARACTERS else _as_arrays
    replies = comparable(tokens.responses)
    own = replies if (batch.reference_counts == 1).all() else [replies[row] for row in batch.owner.tolist()]
    return cpdist(own, comparable(tokens.references), scorer=LCSseq.similarity, dtype=np.int32).astype(np.float64)


def as_strings(rows: Ragged) -> list[str]:
    """Each row as a string with one character per token, the form that rapidfuzz compares fastest."""
    first, count = _SURROGATES
    codes = np.where(rows.values >= first, rows.values + count, rows.values)
    text = codes.astype("<u4").tobytes().decode("utf-32-le")
    ends = rows.offsets.tolist()
    return [text[start:end] for start, end in pairwise(ends)]


def _as_arrays(rows: Ragged) -> list[array[int]]:
    return [array("q", row.tobytes()) for row in rows]

"""What kinds of replies an evaluator was fitted on. A comparison by its scores is not decided where many are of others.

The ratings behind `default` are of short chat in English. Its scores of replies that are long, or have lists, headings
or code, were not compared with people's when it was fitted; a bot that answers in that form would lose for its form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rejoinder.arrays import Bools
from rejoinder.evaluators.familiarity import Familiarity, word_counts
from rejoinder.folders.schema import check_range, checked_member, checked_object
from rejoinder.metrics.batch import Batch, encodable

SHARE_WITHIN = 0.99
"""The share of the rated replies that are at most as long as the bound."""

_SEVERAL_LINES = r"\S.*\n\s*\S"
_ITEM = r"(?m)^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S"
_FORMS = (
    r"(?m)^ {0,3}#{1,6}\s+\S",  # a heading
    r"(?m)^\s*(?:```|~~~)",  # a block of code
    r"(?:^|[^`])`[^`\n]+`(?:[^`]|$)",  # code within a line; ``so'' some corpora write quotation marks
    r"(?m)^\s*\|.+\|.+\|\s*$",  # a row of a table
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of what an evaluator was fitted on; replies in another language are found by its `Familiarity`."""

    most_words: int
    """The length in words that nearly all rated replies keep to."""
    language: str = "English"
    """The language of the rated replies, as messages name it."""

    @classmethod
    def of(cls, replies: Iterable[str]) -> Self:
        """The bounds that follow from the replies that people rated."""
        return cls(int(np.quantile(word_counts(list(replies)), SHARE_WITHIN)))

    def doubts(self, batch: Batch, familiarity: Familiarity | None) -> dict[str, Bools]:
        """Kind of reply, in words -> which replies of the batch are of it; an empty reply is of none."""
        replies = encodable(batch).responses
        listed = replies.str.contains(_ITEM) & replies.str.contains(_SEVERAL_LINES)
        formed = np.logical_or.reduce([listed, *(replies.str.contains(form) for form in _FORMS)])
        found = {
            f"longer than {self.most_words} words": word_counts(replies) > self.most_words,
            "with lists, headings, tables or code": formed,
        }
        if familiarity is not None:
            flags = familiarity.flags(batch)
            found = {f"in another language than {self.language}": flags["language"] | flags["script"], **found}
        return {kind: flagged & ~batch.blank for kind, flagged in found.items()}

    def plain(self) -> dict[str, Any]:
        """The plain values, for config.json."""
        return {"most_words": self.most_words, "language": self.language}

    @classmethod
    def from_plain(cls, plain: object, file: str) -> Self:
        """From the result of `plain`; `file` is where it was read."""
        given = checked_object(plain, file, "bounds")
        values: Mapping[str, Any] = {
            key: checked_member(given, key, kind, file, "bounds")
            for key, kind in (("most_words", int), ("language", str))
        }
        check_range(values["most_words"], 1, 10**6, file, "bounds.most_words")
        return cls(**values)

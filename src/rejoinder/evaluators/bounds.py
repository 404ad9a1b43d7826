"""For which replies an evaluator can be relied on. A comparison by its scores is not decided where many are of others.

The bounds of the evaluators in the package were measured: within them, they order replies as people do
(docs/results/reliability.md, recipes/reliability_bounds.py). Those of an evaluator that a user trains are the limits of
what it was trained on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from rejoinder.arrays import Bools
from rejoinder.evaluators.familiarity import Familiarity, word_counts
from rejoinder.folders.schema import check_range, checked_member, checked_object
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.batch import Batch, encodable
from rejoinder.text.language import NAMES, UNKNOWN_LANGUAGE, languages, name_of
from rejoinder.text.tokens import writable

SHARE_WITHIN = 0.99
"""The share of the training replies that are at most as long as the bound."""

FEWEST = 100
"""Training replies below which no bounds follow from them."""

_MOST_LOOKED_AT = 10_000
_MOST_ASKED = 500  # replies whose language is looked up

_SEVERAL_LINES = r"\S.*\n\s*\S"
_ITEM = r"(?m)^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S"
_FORMS = (
    r"(?m)^ {0,3}#{1,6}\s+\S",  # a heading
    r"(?m)^\s*(?:```|~~~)",  # a block of code
    r"(?:^|[^`])`[^`\n]+`(?:[^`]|$)",  # code within a line; ``so'' some corpora write quotation marks
    r"(?m)^\s*\|.+\|.+\|\s*$",  # a row of a table
)
_TOOL_OUTPUT = (
    r'(?s)^\s*[{\[]\s*(?:"[^"\n]*"\s*[:,\]]|\{|\[).*[}\]]\s*$',  # JSON
    r"(?s)^\s*<([A-Za-z_][\w.:-]*)[^<>]*>.*</[A-Za-z_][\w.:-]*>\s*$",  # XML, HTML
    r"(?m)^Traceback \(most recent call last\):",
    r"(?m)^\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*(?:INFO|WARN|ERROR|DEBUG)",  # a log
)

TOOL_OUTPUT = "tool output"
FORMATTED = "with lists, headings, tables or code"
OTHER_WORDS = "with words of another domain"


@dataclass(frozen=True, slots=True)
class Bounds:
    """For which replies an evaluator can be relied on."""

    most_words: int
    """The length in words up to which it can be, for replies of plain sentences."""
    most_formatted_words: int = 0
    """The same for replies with lists, headings, tables or code; 0: for none of them."""
    most_rare: float | None = None
    """How unusual the number of rare words may be (`Familiarity.rarity`); None: any number."""
    language: str = "English"
    """The language of the replies that it knows, as messages name it; "" if that is not known."""

    @classmethod
    def of(cls, data: TrainingData, familiarity: Familiarity | None) -> Self | None:
        """The limits of the replies that an evaluator was fitted on, or of the dialogues; None if there are few."""
        replies = _sample([item.example.response for item in data.judged], data.seed)
        if len(replies) < FEWEST:
            replies = _sample([turn for dialogue in data.dialogues for turn in dialogue.turns], data.seed)
        if len(replies) < FEWEST:
            return None
        texts = pl.Series([writable(reply) for reply in replies], dtype=pl.String)
        words, formatted = word_counts(texts), is_formatted(texts)
        known = formatted.sum() >= max(20, (1 - SHARE_WITHIN) * len(replies))
        codes = Counter(languages(replies[:_MOST_ASKED]))
        del codes[UNKNOWN_LANGUAGE]
        [(language, count)] = codes.most_common(1) or [("", 0)]
        return cls(
            max(1, int(np.quantile(words[~formatted] if not formatted.all() else words, SHARE_WITHIN))),
            int(np.quantile(words[formatted], SHARE_WITHIN)) if known else 0,
            None if familiarity is None else -familiarity.limits["reply words"],
            name_of(language) if count > SHARE_WITHIN * codes.total() else "",
        )

    def inapplicable(self, batch: Batch) -> dict[str, Bools]:
        """Kind of reply that an evaluator's scores say nothing about, in words -> which replies of the batch are of it;
        an empty reply is of none."""
        replies = encodable(batch).responses
        found = {TOOL_OUTPUT: is_tool_output(replies)}
        if self.language:
            found[foreign(self.language)] = self._foreign(batch)
        return {kind: flagged & ~batch.blank for kind, flagged in found.items()}

    def doubts(self, batch: Batch, familiarity: Familiarity | None) -> dict[str, Bools]:
        """Kind of reply beyond the bounds, in words -> which replies of the batch are of it; an empty reply and those
        of `inapplicable` are of none."""
        replies = encodable(batch).responses
        words, formatted = word_counts(replies), is_formatted(replies)
        found = {}
        if self.most_formatted_words:
            found[f"{FORMATTED} and longer than {self.most_formatted_words} words"] = formatted & (
                words > self.most_formatted_words
            )
        else:
            found[FORMATTED] = formatted
        found[f"longer than {self.most_words} words"] = (words > self.most_words) & (
            ~formatted if self.most_formatted_words else True
        )
        if familiarity is not None and self.most_rare is not None:
            found[OTHER_WORDS] = familiarity.rarity(batch) > self.most_rare
        excluded = np.logical_or.reduce([batch.blank, *self.inapplicable(batch).values()])
        return {kind: flagged & ~excluded for kind, flagged in found.items()}

    def _foreign(self, batch: Batch) -> Bools:
        """Which replies are surely in another language."""
        code = next((code for code, name in NAMES.items() if name == self.language), self.language)
        return np.array([found not in (code, UNKNOWN_LANGUAGE) for found in languages_of(batch)], np.bool_)

    def plain(self) -> dict[str, Any]:
        """The plain values, for config.json."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: object, file: str) -> Self:
        """From the result of `plain`; `file` is where it was read."""
        where = "bounds"
        given = checked_object(plain, file, where)
        given = {"most_formatted_words": 0, "most_rare": None, **given}  # not in folders that were saved before 0.2
        kinds = (("most_words", int), ("most_formatted_words", int), ("most_rare", float | None), ("language", str))
        values: Mapping[str, Any] = {key: checked_member(given, key, kind, file, where) for key, kind in kinds}
        check_range(values["most_words"], 1, 10**6, file, "bounds.most_words")
        check_range(values["most_formatted_words"], 0, 10**6, file, "bounds.most_formatted_words")
        if values["most_rare"] is not None:
            check_range(values["most_rare"], 0, 1000, file, "bounds.most_rare")
        return cls(**values)


def foreign(language: str) -> str:
    """The kind of replies that are not in the language that an evaluator knows."""
    return f"in another language than {language}"


def languages_of(batch: Batch) -> list[str]:
    """The code of each reply's language, or "unknown"; found once per batch."""
    return batch.keep("languages", lambda: languages(example.response for example in batch.examples))


def is_formatted(replies: pl.Series) -> Bools:
    """Which replies have a list, a heading, a table or code."""
    listed = replies.str.contains(_ITEM) & replies.str.contains(_SEVERAL_LINES)
    found: Bools = np.logical_or.reduce([listed, *(replies.str.contains(form) for form in _FORMS)])
    return found


def is_tool_output(replies: pl.Series) -> Bools:
    """Which replies are no sentences but data of a program: JSON, XML, a log, a traceback."""
    found: Bools = np.logical_or.reduce([replies.str.contains(form).to_numpy() for form in _TOOL_OUTPUT])
    return found


def _sample(replies: list[str], seed: int) -> list[str]:
    """At most some replies, drawn at random."""
    chosen = np.random.default_rng(seed).permutation(len(replies))[:_MOST_LOOKED_AT]
    return [replies[place] for place in chosen.tolist()]

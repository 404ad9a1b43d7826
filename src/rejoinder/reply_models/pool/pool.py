"""A pool for judging: several systems' replies to the same contexts, without duplicates and without offensive ones.

So the papers' data sets were built: every context is answered by each system, by a random reply and by the true one
(how-not, section 4; roberta-eval, section 3), and offensive replies are left out (adem, section 3). A row is an example
as `score` and `annotate` read it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rejoinder.errors import NeedsError
from rejoinder.reply_models.base import context_seed
from rejoinder.reply_models.pool.offensive import Filter
from rejoinder.reply_models.pool.systems import RANDOM, TRUE, System
from rejoinder.types import Example

_TRIES = 50

Tally = Counter[str]
"""What happened -> how often: 'replies:hred', 'duplicate:hred', 'offensive:hred', 'empty:hred', 'missing:true'."""


@dataclass(frozen=True)
class Row:
    """A reply of the pool."""

    example: Example
    also: tuple[str, ...] = ()
    """Other systems that gave the same reply."""

    @property
    def json(self) -> str:
        """One line; what is empty is left out."""
        example = self.example
        fields: dict[str, Any] = {
            "id": example.id,
            "system": example.system,
            "context_id": example.context_id,
            "context": example.context,
            "speakers": example.speakers,
            "response": example.response,
            "references": example.references,
            "also": self.also,
        }
        kept = {name: value for name, value in fields.items() if value or name == "response"}
        return json.dumps(kept, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Pool:
    """Who replies, and what is left out."""

    systems: Sequence[System]
    also: Sequence[str] = ()
    """Of `true` and `random`."""
    filters: Sequence[Filter] = ()
    deduplicate: bool = True
    """Whether equal replies to a context are given once, and empty ones not at all."""
    seed: int = 0
    others: Sequence[str] = field(default=(), repr=False)
    """What a random reply is drawn from: the true replies of all contexts."""

    @property
    def signatures(self) -> dict[str, str]:
        """System -> all that decides its replies."""
        return {system.name: system.signature for system in self.systems} | {name: name for name in self.also}

    def without_offensive_others(self) -> Pool:
        """The same; random replies are drawn from those that pass the filters."""
        examples = [Example(str(number), (), text) for number, text in enumerate(self.others)]
        refused = np.zeros(len(examples), np.bool_)
        for one in self.filters:
            refused |= one.refuses(examples)
        kept = [text for text, out in zip(self.others, refused.tolist(), strict=True) if not out and text.strip()]
        if RANDOM in self.also and len({bare(text) for text in kept}) < 2:
            raise NeedsError("random replies are drawn from true ones: expected contexts with two different ones")
        return replace(self, others=tuple(dict.fromkeys(kept)))

    def rows(self, contexts: Sequence[Example], tally: Tally) -> list[Row]:
        """The replies to some contexts; what was left out is added to the tally."""
        replies = self._replies(contexts)
        rows = [
            row for number, context in enumerate(contexts) for row in self._rows_of(context, replies, number, tally)
        ]
        for one in self.filters:
            refused = one.refuses([row.example for row in rows])
            tally.update(f"offensive:{row.example.system}" for row, out in zip(rows, refused, strict=True) if out)
            rows = [row for row, out in zip(rows, refused, strict=True) if not out]
        tally.update(f"replies:{row.example.system}" for row in rows)
        tally["contexts"] += len(contexts)
        return rows

    def _replies(self, contexts: Sequence[Example]) -> dict[str, list[str]]:
        """System -> one reply a context; the true reply comes first, the random one last."""
        truths = [true_reply(context) or "" for context in contexts]
        turns = [context.context for context in contexts]
        replies = {TRUE: truths} if TRUE in self.also else {}
        for system in self.systems:
            replies[system.name] = system.model.reply(
                turns, decoding=system.decoding, seed=self.seed, true_replies=truths
            )
        return replies

    def _rows_of(
        self, context: Example, replies: Mapping[str, Sequence[str]], number: int, tally: Tally
    ) -> Iterator[Row]:
        kept: dict[str, Row] = {}
        for system, texts in replies.items():
            text, key = texts[number], bare(texts[number]) if self.deduplicate else system
            if system == TRUE and not text.strip():
                tally["missing:true"] += 1
            elif not key:
                tally[f"empty:{system}"] += 1
            elif key in kept:
                tally[f"duplicate:{system}"] += 1
                kept[key] = replace(kept[key], also=(*kept[key].also, system))
            else:
                kept[key] = Row(_answered(context, system, text))
        yield from kept.values()
        if RANDOM in self.also:
            drawn = self._random(context, {*kept, *map(bare, context.references)})
            if drawn is None:
                tally["missing:random"] += 1
            else:
                yield Row(_answered(context, RANDOM, drawn))

    def _random(self, context: Example, taken: set[str]) -> str | None:
        """A true reply of another context, unlike any that is in the pool already."""
        rng = np.random.default_rng([self.seed, context_seed(context.context, self.seed)])
        drawn = (self.others[int(place)] for place in rng.integers(len(self.others), size=_TRIES))
        return next((text for text in drawn if bare(text) not in taken), None)


def true_reply(context: Example) -> str | None:
    """The first reference of a context, if it has one."""
    return context.references[0] if context.references else None


def bare(text: str) -> str:
    """A text by which two replies are the same: without case, and without white space at its ends or doubled."""
    return " ".join(text.casefold().split())


def _answered(context: Example, system: str, reply: str) -> Example:
    return replace(context, system=system, response=reply, context_id=context.context_id or context.id)

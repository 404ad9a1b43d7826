"""A pool of replies to be judged: several systems' replies to the same contexts, without duplicate or offensive ones.

The data sets of the papers were built in this way: every context is answered by each system, by a random reply and by
the true one (Liu et al. 2016, section 4; Zhao et al. 2020, section 3), and offensive replies are left out (Lowe et al.
2017, section 3). A row is an example as `score` and `annotate` read it.
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
"""Event -> count: 'replies:hred', 'duplicate:hred', 'offensive:hred', 'empty:hred', 'missing:true'."""


@dataclass(frozen=True)
class Row:
    """One reply of the pool."""

    example: Example
    also: tuple[str, ...] = ()
    """Other systems that gave the same reply."""

    @property
    def json(self) -> str:
        """One line of JSON; empty fields are left out."""
        example = self.example
        fields: dict[str, Any] = {
            "id": example.id,
            "system": example.system,
            "context_id": example.context_id,
            "dialogue_id": example.dialogue_id,
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
    """The systems that reply, and the filters."""

    systems: Sequence[System]
    also: Sequence[str] = ()
    """Of `true` and `random`."""
    filters: Sequence[Filter] = ()
    deduplicate: bool = True
    """Whether equal replies to a context become one row, and empty ones are left out."""
    seed: int = 0
    others: Sequence[str] = field(default=(), repr=False)
    """The true replies of all contexts, from which random replies are drawn."""

    @property
    def signatures(self) -> dict[str, str]:
        """System -> everything that determines its replies."""
        return {system.name: system.signature for system in self.systems} | {name: name for name in self.also}

    def without_offensive_others(self) -> Pool:
        """The same pool, which draws random replies only from those that pass the filters."""
        examples = [Example(str(number), (), text) for number, text in enumerate(self.others)]
        refused = np.zeros(len(examples), np.bool_)
        for one in self.filters:
            refused |= one.refuses(examples)
        kept = [text for text, out in zip(self.others, refused.tolist(), strict=True) if not out and text.strip()]
        if RANDOM in self.also and len({bare(text) for text in kept}) < 2:
            raise NeedsError("random replies are drawn from true ones: expected at least two different true replies")
        return replace(self, others=tuple(dict.fromkeys(kept)))

    def rows(self, contexts: Sequence[Example], tally: Tally) -> list[Row]:
        """The rows for some contexts; what was kept and left out is added to the tally."""
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
        """System -> one reply per context; the true reply comes first."""
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
        """A true reply of another context that differs from all replies in the pool so far."""
        rng = np.random.default_rng([self.seed, context_seed(context.context, self.seed)])
        drawn = (self.others[int(place)] for place in rng.integers(len(self.others), size=_TRIES))
        return next((text for text in drawn if bare(text) not in taken), None)


def true_reply(context: Example) -> str | None:
    """The first reference of a context, or None."""
    return context.references[0] if context.references else None


def bare(text: str) -> str:
    """The form in which replies are compared: lower case, white space normalised."""
    return " ".join(text.casefold().split())


def _answered(context: Example, system: str, reply: str) -> Example:
    return replace(context, system=system, response=reply, context_id=context.context_id or context.id)

"""The heads of a network: what each is called, what it learns from, and by which loss."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rejoinder.data.contexts import TrainedContexts, digest_of
from rejoinder.data.dialogues import pair_of
from rejoinder.data.judged import JudgedSource, Preference, PreferenceSource
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.learning.data import labels
from rejoinder.options import is_number
from rejoinder.specs import parse_spec
from rejoinder.types import Example

# A head gives one number per reply, from 0 to 1, computed from vectors that all heads share. It is learned from one or
# more files, each with a loss:
#
#     consistent(loss=pairs, data=contradictions.jsonl, share=0.3)
#
# ranking   replies to one context with scores: each that has a higher score than another should be above it
# votes     replies with scores from 0 to 1, one per rater: their mean is the probability to be given
# binary    the same with scores of 0 or 1
# pairs     two replies to one context and which of them people prefer
#
# Higher is better for every head. The head `score` is the evaluator's own score, which is there in any case.


LOSSES = ("ranking", "votes", "binary", "pairs")
OWN_SCORE = "score"
"""The name of the head whose output is the evaluator's own score."""
MOST_REPLIES = 8
"""Replies to one context that are read in one row."""
TIE = 0.5
_WON = {"a": 1.0, "b": 0.0}


@dataclass(frozen=True)
class Head:
    """One file that a head learns from."""

    name: str
    loss: str
    data: str
    """A file of judged replies, or for the loss `pairs` of preferences with replies."""
    share: float = 1.0
    """The share of the rows of training that are from this file, relative to the others' shares."""

    @classmethod
    def of(cls, spec: str) -> Head:
        """From `name(loss=..., data=..., share=...)`; CallError if it says anything else."""
        name, given = parse_spec(spec)
        for key in given:
            if key not in ("loss", "data", "share"):
                raise UnknownNameError(f"parameter of the head {name}:", key, ("loss", "data", "share"))
        for key in ("loss", "data"):
            if not isinstance(given.get(key), str):
                raise CallError(f"the head {name} needs {key}: expected {name}(loss=..., data=FILE)")
        if given["loss"] not in LOSSES:
            raise UnknownNameError("loss of a head:", given["loss"], LOSSES)
        share = given.get("share", 1.0)
        if not is_number(share) or not 0 < share < math.inf:
            raise CallError(f"the share of the head {name} must be a number above 0, not {share}")
        return cls(name, given["loss"], given["data"], float(share))


def heads_of(specs: Iterable[str]) -> tuple[Head, ...]:
    """The heads that these specs describe."""
    return tuple(map(Head.of, specs))


def column_names(heads: Iterable[Head]) -> tuple[str, ...]:
    """The names of heads that have an output of their own, each once, in order."""
    return tuple(dict.fromkeys(head.name for head in heads if head.name != OWN_SCORE))


class HeadRow(NamedTuple):
    """Replies to one context, which are read together."""

    context: tuple[str, ...]
    replies: tuple[str, ...]
    wanted: tuple[float, ...]
    """What to give each reply: a score for `ranking`, else a probability; of a pair, that it is preferred."""


@dataclass(frozen=True, eq=False)
class HeadData:
    """What a head learns from one file."""

    head: Head
    rows: tuple[HeadRow, ...]
    examples: tuple[Example, ...]
    """All replies, of which the contexts count as trained on."""

    @classmethod
    def read(cls, head: Head) -> HeadData:
        """The content of the head's file."""
        if not Path(head.data).is_file():
            raise CallError(f"the head {head.name} learns from {head.data}: there is no such file")
        if head.loss == "pairs":
            with closing(PreferenceSource(head.data)) as source:
                examples, rows = _pairs(head, source.preferences())
        else:
            with closing(JudgedSource(head.data)) as judged:
                examples, means = labels(list(judged.judged()))
            rows = list(_rows(head, examples, means.tolist()))
        if not rows:
            raise CallError(f"{head.data} has nothing that the head {head.name} can learn by the loss {head.loss}")
        return cls(head, tuple(rows), tuple(examples))

    @property
    def digest(self) -> str:
        """A hash of everything that is learned."""
        return digest_of([self.head.loss, *self.rows])

    @property
    def contexts(self) -> TrainedContexts:
        """The contexts that are learned from."""
        return TrainedContexts.of(self.examples)


def _rows(head: Head, examples: Sequence[Example], means: Sequence[float]) -> Iterator[HeadRow]:
    """Replies to the same context together, at most MOST_REPLIES in a row."""
    ranked = head.loss == "ranking"
    if not ranked and not all(0 <= mean <= 1 for mean in means):
        raise CallError(f"{head.data}: scores must be from 0 to 1 for the loss {head.loss}")
    if head.loss == "binary" and not all(mean in (0, 1) for mean in means):
        raise CallError(f"{head.data}: scores must be 0 or 1 for the loss binary; votes takes those between")
    by_context: dict[tuple[str, ...], list[tuple[str, float]]] = {}
    for example, mean in zip(examples, means, strict=True):
        if not example.context:
            raise CallError(f"{head.data}: {example.id or 'a reply'} has no context: a head reads replies in context")
        if example.response.strip():
            by_context.setdefault(pair_of(example).context, []).append((example.response, mean))
    for context, rated in by_context.items():
        for start in range(0, len(rated), MOST_REPLIES):
            replies, wanted = zip(*rated[start : start + MOST_REPLIES], strict=True)
            if not ranked or len(set(wanted)) > 1:
                yield HeadRow(context, replies, wanted)


def _pairs(head: Head, preferences: Iterable[Preference]) -> tuple[list[Example], list[HeadRow]]:
    """One row per pair of replies; that several people judged a pair is one row with the mean of what they said."""
    said: dict[tuple[tuple[str, ...], tuple[str, str]], list[float]] = {}
    examples = []
    for each in preferences:
        if each.responses is None or not each.example.context:
            raise CallError(f"{head.data}: the loss pairs needs context, response_a and response_b in every record")
        if all(reply.strip() for reply in each.responses) and each.responses[0] != each.responses[1]:
            said.setdefault((each.example.context, each.responses), []).append(_WON.get(each.outcome, TIE))
            examples.append(each.example)
    rows = []
    for (context, replies), votes in said.items():
        first = float(np.mean(votes))
        if first != TIE:
            rows.append(HeadRow(context, replies, (first, 1 - first)))
    return examples, rows

"""The judged sets that the last step learns from: read, put on one scale, and cut into folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

from rejoinder.arrays import Ints
from rejoinder.data.contexts import bare_text, context_groups
from rejoinder.data.dialogues import ReplyInContext, pair_of
from rejoinder.data.judged import JudgedSource
from rejoinder.evaluators.calibration import observed_scale, on_our_scale
from rejoinder.learning.data import held_out, labels
from rejoinder.types import Example, JudgedExample, Scores

LONG_ENOUGH = 20
"""Letters of turns that tell one dialogue from another."""


@dataclass(frozen=True)
class Label:
    """A reply with its rating."""

    set: str
    example: Example
    human: float
    """From 1 to 5."""
    rated: bool
    """Whether people rated it; otherwise the label follows from how the reply was made."""

    @property
    def pair(self) -> ReplyInContext:
        """What the model reads."""
        return pair_of(self.example)

    @property
    def judged(self) -> JudgedExample:
        """For the account of what was learned from."""
        return JudgedExample(self.example, {"overall": (self.human,)})


def read_labels(folder: Path, sets: Mapping[str, Mapping[str, Any]]) -> list[Label]:
    """The replies of all sets that have a context; of a large set those of random contexts."""
    found = []
    for name, table in sets.items():
        judged = [item for item in JudgedSource(folder / f"{name}.jsonl.gz").judged() if item.example.context]
        judged = [item for item in judged if item.example.response.strip()]
        if "most" in table and len(judged) > table["most"]:
            groups = context_groups([item.example for item in judged])
            chosen = held_out(groups, table["most"] / len(judged), 0)
            judged = [judged[row] for row in np.flatnonzero(chosen)]
        dimension = table["dimension"]
        examples, human = labels(judged, dimension)
        scale = tuple(table["scale"]) if "scale" in table else observed_scale(judged, dimension)
        found += [
            Label(name, example, float(score), table.get("rated", True))
            for example, score in zip(examples, on_our_scale(human, scale), strict=True)
        ]
    return found


def dialogue_groups(items: Sequence[Label]) -> Ints:
    """A number per reply; replies in one dialogue share it, whatever their sets. (items,)"""
    return context_groups([item.example for item in items], _dialogue_keys)


def learnable(items: Sequence[Label], sets: Sequence[str]) -> list[Label]:
    """The replies of these sets that share no dialogue with another set: figures on that one stay honest."""
    groups = dialogue_groups(items)
    foreign = {group for group, item in zip(groups.tolist(), items, strict=True) if item.set not in sets}
    return [item for group, item in zip(groups.tolist(), items, strict=True) if group not in foreign]


def wanted_scores(items: Sequence[Label], scores: Scores) -> Scores:
    """The score to learn for each reply: its label, standardised within its set, around the model's mean there.

    Each set asked other people another question, so that the sets' means say nothing of how good their replies are
    beside one another's. `scores` are those that the model gives. (items,)
    """
    human, names = np.array([item.human for item in items]), np.array([item.set for item in items])
    logits = logit(np.clip((scores - 1) / 4, 1e-6, 1 - 1e-6))
    for name in set(names.tolist()):
        rows = names == name
        logits[rows] = logits[rows].mean() + (human[rows] - human[rows].mean()) / max(human[rows].std(), 1e-6)
    wanted: Scores = 1 + 4 * expit(logits)
    return wanted


def set_weights(items: Sequence[Label]) -> Scores:
    """How much each reply counts, 1 on average; replies of large sets count less."""
    names, codes = np.unique([item.set for item in items], return_inverse=True)
    sizes = np.bincount(codes, minlength=len(names))
    weights = np.maximum(sizes, 300)[codes] ** -0.5
    shares: Scores = weights / weights.mean()
    return shares


def _dialogue_keys(example: Example) -> list[str]:
    """What identifies the dialogue: each two neighbouring turns, and the last turn, where they are long enough."""
    turns = [bare_text(turn) for turn in example.context]
    keys = [*("\n".join(pair) for pair in pairwise(turns)), turns[-1]]
    return [key for key in keys if len(key) > LONG_ENOUGH] or ["\n".join(turns)]

"""The judged sets, each as replies with one human score: for the labels, and to look at what comes out."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.data.judged import JudgedSource
from rejoinder.data.pairs import Pair
from rejoinder.types import Example, JudgedExample


@dataclass(frozen=True)
class JudgedFile:
    """What is taken of a judged set."""

    dimension: str
    scale: tuple[float, float] | None = (1, 5)
    """The lowest and highest score that people could give; None: that they gave."""
    most: int = 2000
    """Replies at most; of a larger set whole contexts are drawn until there are as many."""


JUDGED: Mapping[str, JudgedFile] = MappingProxyType(
    {
        "zhao2020_dailydialog": JudgedFile("overall"),
        "zhao2020_personachat": JudgedFile("overall"),
        "usr_personachat": JudgedFile("Maintains Context", scale=(1, 3)),
        "grade_dailydialog": JudgedFile("coherence"),
        "grade_empatheticdialogues": JudgedFile("coherence"),
        "gupta2019_dailydialog": JudgedFile("appropriateness"),
        "humod": JudgedFile("relevance"),
        "engage_dailydialog": JudgedFile("engagement", scale=None),
        "holistic_context": JudgedFile("context coherence"),
        "dailydialogpp_dev": JudgedFile("relevant (label by construction)", scale=(0, 1), most=8000),
        "conture_turn": JudgedFile("overall impression (majority of 3)", scale=(0, 2)),
    }
)
"""Name -> what is taken of it."""

LICENSED = ("engage_dailydialog", "dailydialogpp_dev", "conture_turn")
"""Those that state a licence (MIT, MIT, CC BY 4.0)."""
BY_CONSTRUCTION = frozenset({"dailydialogpp_dev"})
"""Those whose labels follow from how a reply was made: nobody rated them."""


@dataclass(frozen=True)
class Labelled:
    """A reply with its human score."""

    set: str
    example: Example
    split: str
    human: float
    """On the 1..5 scale."""

    @property
    def pair(self) -> Pair:
        """The reply as the model reads it; a full stop stands for what is missing."""
        return Pair(self.example.context or (".",), (), self.example.response or ".")

    @property
    def judged(self) -> JudgedExample:
        """For the record of what was learned from; without the split, because all of it may have been."""
        return JudgedExample(self.example, {"overall": (self.human,)})


def read_labels(data: Path, names: Sequence[str], most: int) -> list[Labelled]:
    """The labelled replies of several sets, on one scale; about `most` of each, or the set's own limit if fewer."""
    return [item for name in names for item in _read_set(data, name, most)]


def _read_set(data: Path, name: str, most: int) -> list[Labelled]:
    file = JUDGED[name]
    items = list(JudgedSource(data / "judged" / f"{name}.jsonl.gz").judged())
    rated = [
        item
        for item in sample_contexts(items, min(file.most, most))
        if any(not math.isnan(score) for score in item.scores.get(file.dimension, ()))
    ]
    human = on_one_scale(np.array([np.nanmean(item.scores[file.dimension]) for item in rated]), file.scale)
    return [Labelled(name, item.example, item.split, float(score)) for item, score in zip(rated, human, strict=True)]


def sample_contexts(items: Sequence[JudgedExample], most: int) -> list[JudgedExample]:
    """All items, or those of randomly drawn contexts until there are `most`."""
    if len(items) <= most:
        return list(items)
    by_context: dict[tuple[str, ...], list[JudgedExample]] = {}
    for item in items:
        by_context.setdefault(item.example.context, []).append(item)
    contexts = sorted(by_context)
    random.Random(0).shuffle(contexts)
    taken: list[JudgedExample] = []
    for context in contexts:
        taken += by_context[context]
        if len(taken) >= most:
            break
    return taken


def on_one_scale(human: Floats, scale: tuple[float, float] | None) -> Floats:
    """Scores from 1 to 5; by the scores that were given where the scale is unknown or does not hold them."""
    lowest, highest = scale or (-math.inf, math.inf)
    given = float(human.min()), float(human.max())
    if scale is None or given[0] < lowest or given[1] > highest:
        lowest, highest = given
    on_scale: Floats = 1 + 4 * (human - lowest) / (highest - lowest)
    return on_scale

"""Judged replies whose ratings follow two planted matrices over stored random vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.models.sentence_encoders import StoredVectors
from rejoinder.types import Example, JudgedExample

WIDTH = 12
GIVEN: dict[str, Any] = {"components": 6, "gamma": 0.01, "towards": "zero"}


def examples(count: int = 160, references: int = 1) -> list[Example]:
    """Four replies to each context, of one to twelve words."""
    rng = np.random.default_rng(1)
    return [
        Example(
            f"e{row}",
            (f"turn {row // 4}", f"question {row // 4}"),
            " ".join([f"reply{row}"] + ["so"] * int(rng.integers(0, 12))),
            tuple(f"reference {row // 4} {number}" for number in range(references)),
            f"s{row % 4}",
        )
        for row in range(count)
    ]


def stored(items: list[Example], folder: Path) -> str:
    """Random vectors of all texts."""
    rng = np.random.default_rng(2)
    texts = dict.fromkeys(
        text for item in items for text in (item.context, item.response, *item.references) if text != ()
    )
    spread = np.linspace(1.5, 0.5, WIDTH)  # so that principal components have an order
    vectors = {text: rng.normal(size=WIDTH) * spread for text in texts}
    StoredVectors.of(vectors, "random|1").save(folder)
    return str(folder)


def judged(items: list[Example], encoder: str, seed: int = 5) -> list[JudgedExample]:
    """Scores by two planted matrices over the stored vectors."""
    found = StoredVectors.load(encoder)
    rng = np.random.default_rng(seed)
    m, n = rng.normal(size=(2, WIDTH, WIDTH)) / WIDTH
    context, reply = (found.encode([getattr(item, name) for item in items]) for name in ("context", "response"))
    best = np.max(
        [
            np.einsum("ri,ij,rj->r", found.encode([item.references[place] for item in items]), n, reply)
            for place in range(len(items[0].references))
        ],
        axis=0,
    )
    human = np.clip(3 + 0.5 * (np.einsum("ri,ij,rj->r", context, m, reply) + best), 1, 5)
    return [
        JudgedExample(item, {"overall": (float(score), float(score))}) for item, score in zip(items, human, strict=True)
    ]


def human_of(items: list[JudgedExample]) -> np.ndarray[Any, Any]:
    """The rating of each."""
    return np.array([item.scores["overall"][0] for item in items])

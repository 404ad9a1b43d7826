"""Replies from elsewhere that lie near a text to the pretrained encoder: what a retrieval system would say."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import torch
from recipes.default_evaluator.towers import TwoTowers

from rejoinder.arrays import Vectors


class Neighbours:
    """A pool of replies with their vectors."""

    def __init__(self, towers: TwoTowers, replies: Sequence[str]) -> None:
        self.towers = towers
        self.replies = sorted(set(replies))
        self.vectors = text_vectors(towers, self.replies)

    def near(self, texts: Sequence[str], nearest: int, rng: random.Random) -> list[str]:
        """For each text one of the replies nearest to it; the text itself only where there is no other."""
        cosines = text_vectors(self.towers, texts) @ self.vectors.T
        found = []
        for text, row in zip(texts, cosines, strict=True):
            order = np.argpartition(-row, min(nearest + 1, len(row) - 1))[: nearest + 1]
            others = [self.replies[place] for place in order if self.replies[place] != text]
            found.append(rng.choice(others[:nearest] or [text]))  # nothing else where the pool is tiny
        return found


def text_vectors(towers: TwoTowers, texts: Sequence[str], batch: int = 64) -> Vectors:
    """One vector of length 1 a text, read as a reply. (texts, width)"""
    pairs = towers.read([()] * len(texts), texts)
    order = sorted(range(len(pairs)), key=lambda row: len(pairs[row].reply))
    found: list[Vectors] = [np.zeros(0, np.float32)] * len(pairs)
    with torch.inference_mode():
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            for row, vector in zip(rows, towers.vectors([pairs[row] for row in rows])[2].numpy(), strict=True):
                found[row] = vector
    return np.stack(found)

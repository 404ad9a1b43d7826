"""In-batch ranking: each context's own reply against the other replies of the batch (Henderson et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

SCALE = 20.0
"""Factor on cosines before the softmax."""


def negatives_of(replies: Sequence[str]) -> Tensor:
    """Which replies each context is compared with: its own, and those of different text. (rows, rows)"""
    numbers: dict[str, int] = {}
    bare = torch.tensor([numbers.setdefault(" ".join(text.casefold().split()), len(numbers)) for text in replies])
    return (bare[:, None] != bare) | torch.eye(len(bare), dtype=torch.bool)


def in_batch_loss(contexts: Tensor, replies: Tensor, allowed: Tensor) -> Tensor:
    """Cross-entropy of each context's own reply among the allowed ones, and of each reply's own context.

    `contexts` and `replies` hold unit vectors. (rows, width)
    """
    logits = (SCALE * contexts @ replies.T).masked_fill(~allowed, -torch.inf)
    own = torch.arange(len(logits), device=logits.device)
    return (nn.functional.cross_entropy(logits, own) + nn.functional.cross_entropy(logits.T, own)) / 2


def recall_in_batches(network: nn.Module, count: int, at_once: int, scores: Callable[[list[int]], Tensor]) -> float:
    """How often a context's own reply scores highest in its batch, over `count` rows in the same random batches.

    `scores` gives the score of every reply (columns) for every context (rows) of a batch of row numbers; -inf for a
    reply that must not be compared.
    """
    order = np.random.default_rng(0).permutation(count).tolist()  # neighbouring rows often come from one dialogue
    training, right = network.training, 0
    network.eval()
    with torch.inference_mode():
        for start in range(0, count, at_once):
            found = scores(order[start : start + at_once])
            right += int((found.argmax(1) == torch.arange(len(found), device=found.device)).sum())
    network.train(training)
    return right / count

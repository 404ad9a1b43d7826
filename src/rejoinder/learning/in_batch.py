"""In-batch ranking: each context's own reply against the other replies of the batch (Henderson et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence

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

"""Distillation into an encoder: it learns the scores that a teacher gave to replies, several to each context.

Up to four losses are added up:

- the squared error from the teacher's score, and that within each context;
- *ranking*: where the teacher scored no reply to a context, the cross-entropy of the true one among them;
- *in batch*, for a network with towers: each context, whole and by its last turn, has to be nearer to its true reply
  than to the replies to other contexts of the batch;
- *anchor*, for a network with towers: the squared difference of all cosines in the batch from those of other towers, so
  that what these know is not lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rejoinder.evaluators.encoder.scored_replies import ScoredReplies
from rejoinder.evaluators.encoder.towers import TowerVectors
from rejoinder.evaluators.scale import HIGHEST, LOWEST
from rejoinder.learning.in_batch import SCALE
from rejoinder.learning.losses import squared_error_with_contexts
from rejoinder.learning.stages import Forward


@dataclass(frozen=True, kw_only=True)
class LossWeights:
    """The weight of each further loss relative to the squared error."""

    ranking: float = 0.5
    in_batch: float = 0.0
    anchor: float = 0.0


@dataclass(frozen=True, eq=False)
class DistillStage(ScoredReplies):
    """Replies with a teacher's scores, NaN where it gave none; a row is a context with all its replies."""

    name: ClassVar[str] = "distillation"
    figure: ClassVar[str] = "correlation with the teacher"
    stream: ClassVar[int] = 8

    true: NDArray[np.bool_] | None = None
    """Which of the pairs have the true reply of their context; needed for ranking and in-batch loss."""
    anchor: TowerVectors | None = None
    """Vectors of the rows' contexts and of all pairs' replies."""
    losses: LossWeights = field(default_factory=LossWeights)

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - nothing is drawn
        """The weighted sum of all losses for which data is available."""
        read, weights = self.read(forward, rows), self.losses
        wanted = torch.as_tensor(self.wanted[read.numbers], dtype=read.scores.dtype, device=read.scores.device)
        scored = ~wanted.isnan()
        loss = squared_error_with_contexts(torch.where(scored, read.scores - wanted.nan_to_num(), 0), read.sizes)
        true = torch.zeros_like(scored)
        if self.true is not None:
            true = torch.as_tensor(self.true[read.numbers], device=scored.device)
        if weights.ranking and bool((true & ~scored).any()):
            loss = loss + weights.ranking * ranking_loss(read.scores, read.sizes, true & ~scored)
        if read.vectors is None:
            return loss
        if weights.in_batch:
            loss = loss + weights.in_batch * in_batch_loss(read.vectors, read.sizes, true)
        if weights.anchor and self.anchor is not None:
            contexts, last_turns, replies = self.anchor
            then = TowerVectors(contexts[list(rows)], last_turns[list(rows)], replies[read.numbers])
            loss = loss + weights.anchor * anchor_loss(read.vectors, then)
        return loss


def ranking_loss(scores: Tensor, sizes: Tensor, true: Tensor) -> Tensor:
    """The cross-entropy of the true replies among the replies to their contexts, as a mean over contexts.

    (replies,), (contexts,), (replies,) -> ()
    """
    there = torch.arange(int(sizes.max()), device=sizes.device) < sizes[:, None]  # (contexts, most)
    logits = torch.full(there.shape, -torch.inf, dtype=scores.dtype, device=scores.device)
    logits[there] = torch.logit((scores - LOWEST) / (HIGHEST - LOWEST), eps=1e-6)
    return -(logits.log_softmax(1)[there] * true).sum() / len(sizes)


def in_batch_loss(vectors: TowerVectors, sizes: Tensor, true: Tensor) -> Tensor:
    """The cross-entropy of each context's true reply among it and all replies to the batch's other contexts.

    Its own replies that are not true are left out: they may fit as well, or be an echo.
    """
    places = torch.arange(len(sizes), device=sizes.device)
    own = torch.repeat_interleave(places, sizes) == places[:, None]  # (contexts, replies)
    loss = torch.zeros((), device=sizes.device)
    for contexts in (vectors.contexts, vectors.last_turns):
        logits = (SCALE * contexts @ vectors.replies.T).masked_fill(own & ~true, -torch.inf)
        loss = loss - logits.log_softmax(1).masked_fill(~(own & true), 0).sum() / len(sizes)
    return loss


def anchor_loss(vectors: TowerVectors, then: TowerVectors) -> Tensor:
    """The mean squared difference of the batch's cosines from what they were, of whole contexts and of last turns."""
    before = TowerVectors(*(each.to(vectors.replies.device) for each in then))
    whole = vectors.contexts @ vectors.replies.T - before.contexts @ before.replies.T
    last = vectors.last_turns @ vectors.replies.T - before.last_turns @ before.replies.T
    return (whole**2).mean() + (last**2).mean()

"""Two GRUs, one for contexts and one for replies, and p = sigmoid(c^T M r + b) over their last states.

This is the dual encoder of Lowe et al. 2015 (The Ubuntu Dialogue Corpus), whose parts are all learned together. Each
true reply is learned against those of the other places in its batch, so that a wrong reply costs no reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from rejoinder.language_models.recurrent.networks import Sizes
from rejoinder.language_models.recurrent.parts import Reader, Words
from rejoinder.learning.batching import buckets
from rejoinder.text.vocabulary import Ids

VALIDATED_AT_ONCE = 10
"""Replies among which the true one is looked for, as in recall@1 of 10."""


class TokenPlace(NamedTuple):
    """A context as one row of tokens, and the reply that was given to it."""

    context: Ids
    reply: Ids


class DualNetwork(nn.Module):
    """Vectors of contexts and of replies, M and b."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.words = Words(sizes.tokens, sizes.embedding)
        self.context_reader = Reader(sizes.embedding, sizes.hidden, sizes.dropout)
        self.reply_reader = Reader(sizes.embedding, sizes.hidden, sizes.dropout)
        self.matrix = nn.Parameter(torch.eye(sizes.hidden))
        self.bias = nn.Parameter(torch.zeros(()))

    def contexts(self, rows: Sequence[Ids]) -> Tensor:
        """One vector a context. (rows, hidden)"""
        found: Tensor = self.context_reader(self.words.read(rows))[0]
        return found

    def replies(self, rows: Sequence[Ids]) -> Tensor:
        """One vector a reply. (rows, hidden)"""
        found: Tensor = self.reply_reader(self.words.read(rows))[0]
        return found

    def forward(self, places: Sequence[TokenPlace]) -> Tensor:
        """Every context with every reply: c^T M r + b. (places, places)"""
        contexts = self.contexts([place.context for place in places])
        replies = self.replies([place.reply for place in places])
        logits: Tensor = contexts @ self.matrix @ replies.T + self.bias
        return logits


@dataclass(eq=False)
class PlaceStage:
    """The true reply of a place against those of the other places in its batch."""

    name: ClassVar[str] = "places"
    figure: ClassVar[str] = f"recall@1 of {VALIDATED_AT_ONCE}"

    network: DualNetwork
    places: Sequence[TokenPlace]
    held_out: Sequence[TokenPlace]
    seed: int
    negatives: int
    """How much the wrong replies of a place weigh together, beside its true one."""

    def __len__(self) -> int:
        return len(self.places)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Places of like length together; a place that would be alone joins another batch."""
        rng = np.random.default_rng([self.seed, 5, epoch])
        lengths = [len(place.context) + len(place.reply) for place in self.places]
        found = buckets(lengths, size, rng)
        return [rows if len(rows) > 1 else [*rows, *found[at - 1]] for at, rows in enumerate(found)]

    def loss(self, forward: Any, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - the text never changes
        """Cross-entropy of true against wrong."""
        places = [self.places[row] for row in rows]
        return pair_loss(forward(places), wrong_replies(places), self.negatives)

    def validate(self) -> float | None:
        """How often the true reply is the best of ten; the same ten each time."""
        if len(self.held_out) < 2:
            return None
        order = np.random.default_rng(0).permutation(len(self.held_out)).tolist()  # neighbours are of one dialogue
        training, right = self.network.training, 0
        self.network.eval()
        with torch.inference_mode():
            for start in range(0, len(order), VALIDATED_AT_ONCE):
                places = [self.held_out[row] for row in order[start : start + VALIDATED_AT_ONCE]]
                own = torch.eye(len(places), dtype=torch.bool)
                logits = self.network(places).cpu().masked_fill(~(wrong_replies(places) | own), -torch.inf)
                right += int((logits.argmax(1) == torch.arange(len(places))).sum())
        self.network.train(training)
        return right / len(order)


def wrong_replies(places: Sequence[TokenPlace]) -> Tensor:
    """Whether each reply is of another text than the context's own. (places, places)"""
    numbers: dict[Ids, int] = {}
    texts = torch.tensor([numbers.setdefault(place.reply, len(numbers)) for place in places])
    return texts[:, None] != texts


def pair_loss(logits: Tensor, wrong: Tensor, negatives: int) -> Tensor:
    """Cross-entropy of each place's true reply (the diagonal) against its wrong ones, weighted as if it had so many."""
    wrong = wrong.to(logits.device)
    own = torch.eye(len(logits), device=logits.device)
    shares = wrong / wrong.sum(1, keepdim=True).clamp(min=1)  # (places, places)
    found = binary_cross_entropy_with_logits(logits, own, weight=own + negatives * shares, reduction="sum")
    return found / (len(logits) * (1 + negatives))

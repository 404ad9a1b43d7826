"""The networks of dual encoders, and their training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from rejoinder.arrays import Ints, Vectors
from rejoinder.learning.data import buckets
from rejoinder.learning.torch_parts import recall_in_batches
from rejoinder.models.recurrent import NetworkSizes, TokenEmbedding, TokenReaderGru
from rejoinder.text.vocabulary import Ids

# Two GRUs, one for contexts and one for replies, and p = sigmoid(c^T M r + b) over their last states.
#
# This is the dual encoder of Lowe et al. 2015 (The Ubuntu Dialogue Corpus), all of whose parts are trained together.
# Each true reply is learned against those of the other places in its batch, so that wrong replies need no extra
# encoding.


VALIDATED_AT_ONCE = 10
"""Replies among which the true one is looked for in validation, as in recall@1 of 10."""


class TokenPlace(NamedTuple):
    """A context as one row of tokens, and the reply that was given to it."""

    context: Ids
    reply: Ids


class DualNetwork(nn.Module):
    """Vectors of contexts and of replies, M and b."""

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__()
        self.words = TokenEmbedding(sizes.tokens, sizes.embedding)
        self.context_reader = TokenReaderGru(sizes.embedding, sizes.hidden, sizes.dropout)
        self.reply_reader = TokenReaderGru(sizes.embedding, sizes.hidden, sizes.dropout)
        self.matrix = nn.Parameter(torch.eye(sizes.hidden))
        self.bias = nn.Parameter(torch.zeros(()))

    def contexts(self, rows: Sequence[Ids]) -> Tensor:
        """One vector per context. (rows, hidden)"""
        found: Tensor = self.context_reader(self.words.read(rows))[0]
        return found

    def replies(self, rows: Sequence[Ids]) -> Tensor:
        """One vector per reply. (rows, hidden)"""
        found: Tensor = self.reply_reader(self.words.read(rows))[0]
        return found

    def forward(self, places: Sequence[TokenPlace]) -> Tensor:
        """c^T M r + b for every context (rows) and every reply (columns). (places, places)"""
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
    """Weight of all wrong replies of a place together; its true reply has weight 1."""

    def __len__(self) -> int:
        return len(self.places)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Places of similar length together."""
        rng = np.random.default_rng([self.seed, 5, epoch])
        lengths = [len(place.context) + len(place.reply) for place in self.places]
        return buckets(lengths, size, rng, fewest=2)

    def loss(self, forward: Any, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - the text never changes
        """Cross-entropy of true and wrong replies."""
        places = [self.places[row] for row in rows]
        return pair_loss(forward(places), wrong_replies(places), self.negatives)

    def validate(self) -> float | None:
        """How often the true reply is the best of ten; the same ten each time."""
        if len(self.held_out) < 2:
            return None
        return recall_in_batches(self.network, len(self.held_out), VALIDATED_AT_ONCE, self._scores)

    def _scores(self, rows: Sequence[int]) -> Tensor:
        places = [self.held_out[row] for row in rows]
        compared = wrong_replies(places) | torch.eye(len(places), dtype=torch.bool)
        logits: Tensor = self.network(places)
        return logits.cpu().masked_fill(~compared, -torch.inf)


def wrong_replies(places: Sequence[TokenPlace]) -> Tensor:
    """Whether the text of each reply differs from that of the context's own reply. (places, places)"""
    numbers: dict[Ids, int] = {}
    texts = torch.tensor([numbers.setdefault(place.reply, len(numbers)) for place in places])
    return texts[:, None] != texts


def pair_loss(logits: Tensor, wrong: Tensor, negatives: int) -> Tensor:
    """Cross-entropy of each place's true reply (the diagonal) and its wrong ones, which together weigh `negatives`."""
    wrong = wrong.to(logits.device)
    own = torch.eye(len(logits), device=logits.device)
    shares = wrong / wrong.sum(1, keepdim=True).clamp(min=1)  # (places, places)
    found = binary_cross_entropy_with_logits(logits, own, weight=own + negatives * shares, reduction="sum")
    return found / (len(logits) * (1 + negatives))


# The training of M and b in p(r | c) = sigmoid(c^T M r + b), over fixed vectors of contexts and replies.
#
# This is the last step of the dual encoder of Lowe et al. 2015 and Liu et al. 2016 (section 3).


_START = 5.0
"""M starts as this multiple of the identity: before training, similar vectors fit each other."""


class BilinearHead(nn.Module):
    """M and b."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(width) * _START)
        self.bias = nn.Parameter(torch.full((), -_START / 2))

    def forward(self, contexts: Tensor, replies: Tensor) -> Tensor:
        """c^T M r + b for several replies per context. (rows, width), (rows, replies, width) -> (rows, replies)"""
        logits: Tensor = torch.einsum("rw,row->ro", contexts @ self.matrix, replies) + self.bias
        return logits


@dataclass(frozen=True, eq=False)
class VectorPairs:
    """Vectors of contexts and of the different replies, and which reply each context was answered with."""

    contexts: Vectors  # (pairs, width)
    replies: Vectors  # (replies, width)
    answers: Ints  # (pairs,)


@dataclass(eq=False)
class PairStage:
    """The true reply of each context against random replies."""

    name: ClassVar[str] = "pairs"
    figure: ClassVar[str] = "log-likelihood"

    network: BilinearHead
    pairs: VectorPairs
    held_out: VectorPairs | None
    seed: int
    negatives: int
    """Random replies per context."""

    def __len__(self) -> int:
        return len(self.pairs.contexts)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """All pairs in random order."""
        order = np.random.default_rng([self.seed, 9, epoch]).permutation(len(self)).tolist()
        return [order[start : start + size] for start in range(0, len(order), size)]

    def loss(self, forward: Any, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - drawn by step
        """Mean cross-entropy of true and random replies."""
        # The training loop seeds torch before each step, so that a resumed run draws the same replies.
        wrong = torch.randint(len(self.pairs.replies), (len(rows), self.negatives))
        return self._cross_entropy(forward, self.pairs, torch.tensor(rows), wrong)

    def validate(self) -> float | None:
        """Minus the cross-entropy on the validation pairs, with the same random replies each time."""
        if self.held_out is None:
            return None
        rows = torch.arange(len(self.held_out.contexts))
        draws = torch.Generator().manual_seed(self.seed)
        wrong = torch.randint(len(self.held_out.replies), (len(rows), self.negatives), generator=draws)
        with torch.no_grad():
            return -float(self._cross_entropy(self.network, self.held_out, rows, wrong))

    def _cross_entropy(self, forward: Any, pairs: VectorPairs, rows: Tensor, wrong: Tensor) -> Tensor:
        """A random reply that happens to be the true one does not count."""
        answers = torch.from_numpy(pairs.answers)[rows][:, None]
        contexts = torch.from_numpy(pairs.contexts)[rows]
        replies = torch.from_numpy(pairs.replies)[torch.cat([answers, wrong], dim=1)]  # (rows, 1 + negatives, width)
        device = self.network.matrix.device
        logits: Tensor = forward(contexts.to(device), replies.to(device))
        target = torch.zeros_like(logits)
        target[:, 0] = 1
        counts = torch.ones_like(logits)
        counts[:, 1:] = (wrong != answers).to(logits)
        return binary_cross_entropy_with_logits(logits, target, weight=counts, reduction="sum") / counts.sum()

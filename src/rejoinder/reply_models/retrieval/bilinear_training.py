"""p(r | c) = sigmoid(c^T M r + b) over vectors that are given: the last step of how-not's dual encoder (section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from rejoinder.arrays import Vectors

_START = 5.0
"""M starts as so many times the identity: what is alike fits, before anything is learned."""


@dataclass(frozen=True)
class BilinearTraining:
    """How M and b are learned."""

    negatives: int = 9
    """Random replies a context, beside the true one."""
    epochs: int = 20
    """At most."""
    patience: int = 3
    """Epochs without a better validation loss after which it is over."""
    batch: int = 256
    learning_rate: float = 1e-3


@dataclass(frozen=True, eq=False)
class VectorPairs:
    """Vectors of contexts, and which reply each was answered with."""

    contexts: Vectors  # (pairs, width)
    replies: Vectors  # (replies, width)
    answers: NDArray[np.int64]  # (pairs,)


def learn_bilinear(
    pairs: VectorPairs, valid: VectorPairs | None, how: BilinearTraining, seed: int
) -> tuple[Vectors, float]:
    """M (width, width) and b by cross-entropy of true replies against random ones; the best by validation, if any."""
    draws = torch.Generator().manual_seed(seed)
    contexts, replies, answers = map(torch.from_numpy, (pairs.contexts, pairs.replies, pairs.answers))
    matrix = (torch.eye(contexts.shape[1]) * _START).requires_grad_()
    bias = torch.full((), -_START / 2).requires_grad_()
    optimiser = torch.optim.Adam([matrix, bias], lr=how.learning_rate)
    best, least, since = (matrix.detach().clone(), bias.item()), np.inf, 0
    for _ in range(how.epochs):
        for rows in torch.split(torch.randperm(len(contexts), generator=draws), how.batch):
            wrong = torch.randint(len(replies), (len(rows), how.negatives), generator=draws)
            loss = _loss(matrix, bias, contexts[rows], replies, answers[rows], wrong)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        found = 0.0 if valid is None else _valid_loss(matrix, bias, valid, how, seed)
        since = 0 if valid is None or found < least else since + 1
        if not since:
            best, least = (matrix.detach().clone(), bias.item()), found
        if since >= how.patience:
            break
    return best[0].numpy(), best[1]


def _loss(matrix: Tensor, bias: Tensor, contexts: Tensor, replies: Tensor, answers: Tensor, wrong: Tensor) -> Tensor:
    """Mean cross-entropy. A wrong reply that happens to be the true one is left out."""
    offered = torch.cat([answers[:, None], wrong], dim=1)  # (rows, 1 + negatives)
    logits = torch.einsum("rw,row->ro", contexts @ matrix, replies[offered]) + bias
    target = torch.zeros_like(logits)
    target[:, 0] = 1
    counts = torch.ones_like(logits)
    counts[:, 1:] = (wrong != answers[:, None]).to(logits.dtype)
    return binary_cross_entropy_with_logits(logits, target, weight=counts, reduction="sum") / counts.sum()


def _valid_loss(matrix: Tensor, bias: Tensor, valid: VectorPairs, how: BilinearTraining, seed: int) -> float:
    """The same over all validation pairs, with the same wrong replies each time."""
    contexts, replies, answers = map(torch.from_numpy, (valid.contexts, valid.replies, valid.answers))
    wrong = torch.randint(len(replies), (len(contexts), how.negatives), generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        return float(_loss(matrix, bias, contexts, replies, answers, wrong))

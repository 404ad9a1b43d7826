"""The training stage of reply networks, and the likelihood of replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rejoinder.language_models.likelihood import Likelihood
from rejoinder.language_models.recurrent.networks import Nats, ReplyNetwork
from rejoinder.language_models.recurrent.token_dialogues import TokenDialogue
from rejoinder.learning.batching import buckets

_BATCH_TOKENS = 4096
"""Tokens per batch when a likelihood is computed."""


@dataclass(eq=False)
class ReplyStage:
    """The likelihood of every reply of the dialogues, or its lower bound for a network with a latent variable."""

    name: ClassVar[str] = "replies"
    figure: ClassVar[str] = "log-likelihood per token"

    network: ReplyNetwork[Any]
    dialogues: Sequence[TokenDialogue]
    held_out: Sequence[TokenDialogue]
    seed: int
    found: Likelihood | None = field(default=None, init=False)
    """The result of the last validation."""

    def __len__(self) -> int:
        return len(self.dialogues)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Dialogues of similar length together."""
        rng = np.random.default_rng([self.seed, 4, epoch])
        return buckets([dialogue.size for dialogue in self.dialogues], size, rng)

    def loss(self, forward: Any, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - the text never changes
        """Nats per token; with a latent variable, the KL with its current weight."""
        nats: Nats = forward([self.dialogues[row] for row in rows])
        return self.network.objective(nats)

    def validate(self) -> float | None:
        """Minus the nats per token."""
        if not self.held_out:
            return None
        self.found = likelihood(self.network, self.held_out)
        return -self.found.nats

    def report(self) -> str:
        """Perplexity, and the KL of a latent variable."""
        return "" if self.found is None else str(self.found)


def likelihood(network: ReplyNetwork[Any], dialogues: Sequence[TokenDialogue]) -> Likelihood:
    """The likelihood of the replies by the network; the same every time, even if a latent variable is drawn."""
    words, kl, tokens, replies = 0.0, 0.0, 0, 0
    training = network.training
    network.eval()
    with torch.inference_mode(), torch.random.fork_rng():
        torch.manual_seed(0)
        for rows in _by_size(dialogues):
            nats = network([dialogues[row] for row in rows])
            words, kl = words + float(nats.words), kl + float(nats.kl)
            tokens, replies = tokens + nats.tokens, replies + nats.replies
    network.train(training)
    return Likelihood(words, kl, tokens, replies)


def _by_size(dialogues: Sequence[TokenDialogue]) -> list[list[int]]:
    """Row numbers in batches of similar length, with about `_BATCH_TOKENS` tokens each at most."""
    found: list[list[int]] = []
    room = 0
    for row in sorted(range(len(dialogues)), key=lambda row: -dialogues[row].size):
        if not found or room < dialogues[row].size:
            found.append([])
            room = _BATCH_TOKENS
        found[-1].append(row)
        room -= dialogues[row].size
    return found

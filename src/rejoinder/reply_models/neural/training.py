"""Training of networks that reply, and their perplexity."""

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
from rejoinder.learning.loop import train_stage
from rejoinder.learning.run import TrainingRun
from rejoinder.learning.schedules import Schedule

_BATCH_TOKENS = 4096


@dataclass(eq=False)
class ReplyStage:
    """Every reply of the dialogues is to be foretold; the bound where there is a latent."""

    name: ClassVar[str] = "replies"
    figure: ClassVar[str] = "log-likelihood a token"

    network: ReplyNetwork[Any]
    dialogues: Sequence[TokenDialogue]
    held_out: Sequence[TokenDialogue]
    seed: int
    found: Likelihood | None = field(default=None, init=False)
    """What the last look found."""

    def __len__(self) -> int:
        return len(self.dialogues)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Dialogues of like length together."""
        rng = np.random.default_rng([self.seed, 4, epoch])
        return buckets([dialogue.size for dialogue in self.dialogues], size, rng)

    def loss(self, forward: Any, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - the text never changes
        """Nats a token; with a latent, its KL as far as it counts already."""
        nats: Nats = forward([self.dialogues[row] for row in rows])
        return self.network.objective(nats)

    def validate(self) -> float | None:
        """Minus the nats a token."""
        if not self.held_out:
            return None
        self.found = likelihood(self.network, self.held_out)
        return -self.found.nats

    def told(self) -> str:
        """Perplexity, and KL where there is a latent."""
        return "" if self.found is None else str(self.found)


def train_replies(stage: ReplyStage, schedule: Schedule, run: TrainingRun | None, key: str) -> ReplyNetwork[Any]:
    """The stage's network, trained; `key` changes with all that decides what it learns."""
    train_stage(stage, schedule, stage.seed, run, key)
    return stage.network


def likelihood(network: ReplyNetwork[Any], dialogues: Sequence[TokenDialogue]) -> Likelihood:
    """What the replies cost the network; the same every time, also where it draws a latent."""
    words, kl, tokens, replies = 0.0, 0.0, 0, 0
    training = network.training
    network.eval()
    with torch.inference_mode(), torch.random.fork_rng():
        torch.manual_seed(0)
        for rows in batches_by_size(dialogues):
            nats = network([dialogues[row] for row in rows])
            words, kl = words + float(nats.words), kl + float(nats.kl)
            tokens, replies = tokens + nats.tokens, replies + nats.replies
    network.train(training)
    return Likelihood(words, kl, tokens, replies)


def batches_by_size(dialogues: Sequence[TokenDialogue]) -> list[list[int]]:
    """Row numbers in batches of like length, none of many more tokens than `_BATCH_TOKENS`."""
    found: list[list[int]] = []
    room = 0
    for row in sorted(range(len(dialogues)), key=lambda row: -dialogues[row].size):
        if not found or room < dialogues[row].size:
            found.append([])
            room = _BATCH_TOKENS
        found[-1].append(row)
        room -= dialogues[row].size
    return found

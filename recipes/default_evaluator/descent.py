"""The training loop of every step: AdamW, a short warm-up, a rate that falls to nothing when steps or time run out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Descent:
    """How a network is trained. Dropout is off throughout: few epochs are run, and a step is cheaper without."""

    rate: float
    warm_up: int
    """Steps in which the rate rises."""
    head_rate: float | None = None
    """The rate of the head, where it is another."""
    frozen_layers: int = 0
    """So many of the lowest layers stay as they are; the embeddings always do."""
    minutes: float = float("inf")
    """After which training ends, whatever is left."""
    weight_decay: float = 0.01
    clip: float = 1.0
    log_seconds: float = 60

    def run(self, network: nn.Module, batches: Sequence[Batch], loss: Callable[[Batch], Tensor]) -> int:
        """Train the network in place; how many steps it took."""
        network.eval()
        freeze(network, self.frozen_layers)
        weights = [weight for weight in network.parameters() if weight.requires_grad]
        optimiser = torch.optim.AdamW(self._groups(network), weight_decay=self.weight_decay)
        start = logged = time.monotonic()
        losses: list[float] = []
        for step, batch in enumerate(batches):
            done = max(step / len(batches), (time.monotonic() - start) / 60 / self.minutes)
            if done >= 1:
                break
            for group in optimiser.param_groups:
                group["lr"] = group["top"] * min(1, (step + 1) / self.warm_up) * (1 - done)
            found = loss(batch)
            found.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(weights, self.clip)
            optimiser.step()
            optimiser.zero_grad()
            losses.append(found.item())
            if time.monotonic() - logged > self.log_seconds:
                logged = time.monotonic()
                seconds = logged - start
                print(f"step {step + 1}/{len(batches)} {seconds:.0f}s loss {np.mean(losses[-50:]):.3f}", flush=True)
        return len(losses)

    def _groups(self, network: nn.Module) -> list[dict[str, object]]:
        """The weights that learn, with the highest rate of each group."""
        learning = [(name, weight) for name, weight in network.named_parameters() if weight.requires_grad]
        body = [weight for name, weight in learning if not name.startswith("head.")]
        head = [weight for name, weight in learning if name.startswith("head.")]
        groups: list[dict[str, object]] = [{"params": body, "lr": self.rate, "top": self.rate}]
        if head:
            rate = self.head_rate or self.rate
            groups.append({"params": head, "lr": rate, "top": rate})
        return groups


def freeze(network: nn.Module, layers: int) -> None:
    """The embeddings and the lowest layers stay as they are; all else learns."""
    still = ["embeddings.", *(f"layer.{number}." for number in range(layers))]
    for name, weight in network.named_parameters():
        weight.requires_grad_(not any(part in name for part in still))

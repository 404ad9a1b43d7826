"""Small parts of training in torch: ranking within a batch, losses, frozen layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.errors import CallError
from rejoinder.learning.schedules import Schedule

# In-batch ranking: each context's own reply against the other replies of the batch (Henderson et al. 2017).


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


# Losses that several models are trained with.


def squared_error_with_contexts(off: Tensor, sizes: Tensor) -> Tensor:
    """The mean squared error, plus that of the errors minus their mean within each context.

    The first part makes replies to different contexts comparable, the second tells replies to one context apart. `off`
    are the errors, context after context; `sizes` is the number of replies of each context. (replies,), (contexts,) ->
    ()
    """
    return (off**2).mean() + (centred(off, sizes) ** 2).mean()


def centred(values: Tensor, sizes: Tensor) -> Tensor:
    """Values minus the mean of their group; values are ordered by group, `sizes` are the groups' sizes. (values,)"""
    group = torch.repeat_interleave(torch.arange(len(sizes), device=values.device), sizes)
    totals = torch.zeros(len(sizes), dtype=values.dtype, device=values.device).index_add(0, group, values)
    return values - (totals / sizes)[group]


# Weights that are not trained in a stage: nothing is computed for them.


@contextmanager
def frozen(encoder: nn.Module, schedule: Schedule) -> Iterator[None]:
    """Freeze the weights of the encoder that the schedule names, for as long as the block runs."""
    still = [weight for weight in _still(encoder, schedule) if weight.requires_grad]
    for weight in still:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in still:
            weight.requires_grad_(True)


def _still(encoder: nn.Module, schedule: Schedule) -> Iterator[nn.Parameter]:
    if schedule.frozen_embeddings:
        words: Any = encoder.get_input_embeddings()  # type: ignore[operator]
        yield from words.parameters()
    if schedule.frozen_layers:
        layers = _layers(encoder)
        if schedule.frozen_layers > len(layers):
            raise CallError(f"frozen_layers cannot be {schedule.frozen_layers}: the encoder has {len(layers)} layers")
        inside = {id(weight) for weight in layers.parameters()}
        # Everything before the first layer: words, positions, segments and their norm. What comes after the last layer
        # (DeBERTa's table of distances, a final norm) is used by layers that are trained.
        for name, child in encoder.named_children():
            if "embedding" in name and not any(id(weight) in inside for weight in child.parameters()):
                yield from child.parameters()
        for layer in layers[: schedule.frozen_layers]:
            yield from layer.parameters()


def _layers(encoder: nn.Module) -> nn.ModuleList:
    """The encoder's layers, lowest first; CallError if it does not have one module per layer."""
    config: Any = encoder.config
    count = getattr(config, "num_hidden_layers", None)
    for module in encoder.modules():
        if isinstance(module, nn.ModuleList) and len(module) == count:
            return module
    raise CallError(f"{config.model_type} does not have one module per layer: its layers cannot be frozen")

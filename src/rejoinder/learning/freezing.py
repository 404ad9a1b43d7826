"""Weights that stay as they are while a stage is trained: what is not learned costs no time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from rejoinder.errors import CallError
from rejoinder.learning.schedules import Schedule


@contextmanager
def frozen(encoder: nn.Module, schedule: Schedule) -> Iterator[None]:
    """The encoder with the weights frozen that the schedule names, for as long as the block runs."""
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
        layers = layers_of(encoder)
        if schedule.frozen_layers > len(layers):
            raise CallError(f"frozen_layers cannot be {schedule.frozen_layers}: the encoder has {len(layers)} layers")
        inside = {id(weight) for weight in layers.parameters()}
        # What comes before the first layer: words, positions, segments and their norm. What comes after the last
        # (DeBERTa's table of distances, a final norm) is read by layers that learn.
        for name, child in encoder.named_children():
            if "embedding" in name and not any(id(weight) in inside for weight in child.parameters()):
                yield from child.parameters()
        for layer in layers[: schedule.frozen_layers]:
            yield from layer.parameters()


def layers_of(encoder: nn.Module) -> nn.ModuleList:
    """The encoder's layers, lowest first; CallError where it does not have one module a layer."""
    config: Any = encoder.config
    count = getattr(config, "num_hidden_layers", None)
    for module in encoder.modules():
        if isinstance(module, nn.ModuleList) and len(module) == count:
            return module
    raise CallError(f"{config.model_type} has no layers of their own that could be frozen")

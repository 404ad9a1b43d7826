"""Weights that are not trained in a stage: nothing is computed for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from rejoinder.errors import CallError
from rejoinder.learning.schedules import Schedule


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

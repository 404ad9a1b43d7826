"""Pretrained Hugging Face encoders: loading, architecture, and pooling of their vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from rejoinder.data.files import read_text
from rejoinder.errors import CallError
from rejoinder.loading.foreign import shaped, transformer
from rejoinder.loading.sources import find_pretrained

_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet", "longformer", "data2vec-text"}
"""Encoders whose positions start at the padding token's id + 1, so that fewer remain for tokens."""


def mean_over(vectors: Tensor, mask: Tensor) -> Tensor:
    """The mean of the vectors whose mask is 1. (rows, tokens, width), (rows, tokens) -> (rows, width)"""
    weights = mask.unsqueeze(-1).to(vectors.dtype)
    return (vectors * weights).sum(1) / weights.sum(1).clamp(min=1)


def pretrained(name_or_folder: str) -> tuple[nn.Module, str]:
    """An encoder by its Hugging Face name or folder, and its tokeniser's definition (tokenizer.json)."""
    encoder, tokeniser = transformer("AutoModel", find_pretrained(name_or_folder), "encoder")
    if getattr(encoder.config, "is_encoder_decoder", False) or not hasattr(encoder.config, "hidden_size"):
        raise CallError(f"{name_or_folder} is not an encoder such as RoBERTa, BERT, MPNet, DeBERTa or ELECTRA")
    backend = tokeniser.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    return encoder, str(backend.to_str())


def saved_shape(auto: str, path: Path, weights: Path) -> Callable[[], nn.Module]:
    """What makes a network with the architecture of a file; no number in it exceeds the bytes of its weights."""
    most = weights.stat().st_size if weights.is_file() else 0
    return shaped(auto, read_text(path), str(path), most)


def longest_input(encoder: nn.Module) -> int | None:
    """How many tokens the encoder has positions for; None where it has no limit."""
    config: Any = encoder.config
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None or positions <= 0:
        return None
    return int(positions) - first_position(config)


def first_position(config: Any) -> int:
    """The position number of a text's first token, by the encoder's configuration."""
    return int(config.pad_token_id) + 1 if config.model_type in _OFFSET_POSITIONS else 0

"""Pretrained Hugging Face encoders: loading, architecture, and pooling of their vectors."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rejoinder.errors import CallError

_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet", "longformer", "data2vec-text"}
"""Encoders whose positions start at the padding token's id + 1, so that fewer remain for tokens."""


def mean_over(vectors: Tensor, mask: Tensor) -> Tensor:
    """The mean of the vectors whose mask is 1. (rows, tokens, width), (rows, tokens) -> (rows, width)"""
    weights = mask.unsqueeze(-1).to(vectors.dtype)
    return (vectors * weights).sum(1) / weights.sum(1).clamp(min=1)


def pretrained(name_or_folder: str) -> tuple[nn.Module, str]:
    """An encoder by its Hugging Face name or folder, and its tokeniser's definition (tokenizer.json)."""
    import transformers

    try:
        with quiet_transformers():
            encoder = transformers.AutoModel.from_pretrained(name_or_folder, dtype=torch.float32)
            tokeniser = transformers.AutoTokenizer.from_pretrained(name_or_folder, use_fast=True)
    except (OSError, ValueError) as error:
        raise CallError(f"the encoder {name_or_folder} cannot be loaded ({why_not(name_or_folder, error)})") from error
    if not getattr(tokeniser, "is_fast", False):
        raise CallError(f"the encoder {name_or_folder} has no fast tokeniser: expected tokenizer.json")
    if getattr(encoder.config, "is_encoder_decoder", False) or not hasattr(encoder.config, "hidden_size"):
        raise CallError(f"{name_or_folder} is not an encoder such as RoBERTa, BERT, MPNet, DeBERTa or ELECTRA")
    backend = tokeniser.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    return encoder, str(backend.to_str())


def why_not(name_or_folder: str, error: Exception) -> str:
    """One line on why a pretrained model cannot be loaded; a mistyped folder is taken for a model name."""
    reason = str(error).strip().splitlines()[0]
    if Path(name_or_folder).exists():
        return reason
    return f"there is no such file or folder, nor could a Hugging Face model of that name be loaded: {reason}"


def encoder_from(definition: str) -> nn.Module:
    """An encoder with the architecture of encoder.json and random weights."""
    import transformers

    with quiet_transformers():
        config = transformers.AutoConfig.for_model(**json.loads(definition))
        encoder: nn.Module = transformers.AutoModel.from_config(config)  # type: ignore[no-untyped-call]
    return encoder.float()


def encoder_definition(model: nn.Module) -> str:
    """The architecture of a model's encoder, for encoder.json."""
    config: Any = model.config
    shape = json.loads(config.to_json_string(use_diff=False))
    shape.pop("_name_or_path", None)
    return json.dumps(shape, indent=2) + "\n"


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


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers and huggingface_hub while weights are loaded: missing poolers, progress bars, retries."""
    from huggingface_hub.utils import logging as hub_noise
    from transformers.utils import logging as noise

    before, bars = noise.get_verbosity(), noise.is_progress_bar_enabled()
    hub_before = hub_noise.get_verbosity()
    noise.set_verbosity(logging.CRITICAL)
    hub_noise.set_verbosity(logging.CRITICAL)
    noise.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        noise.set_verbosity(before)
        hub_noise.set_verbosity(hub_before)
        if bars:
            noise.enable_progress_bar()  # type: ignore[no-untyped-call]

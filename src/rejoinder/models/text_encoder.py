"""A pretrained encoder that is not trained any further: loading it, and one vector per text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rejoinder.data.dialogues import read_text
from rejoinder.errors import CallError, DataError
from rejoinder.folders.foreign import definition_of, embedded_tokens, shaped, tokeniser_of, transformer
from rejoinder.folders.saved import ENCODER, TOKENISER, WEIGHTS
from rejoinder.folders.schema import check_range
from rejoinder.folders.sources import find_pretrained
from rejoinder.learning.checkpoints import loaded_network, save_weights
from rejoinder.learning.data import EncodedPair, by_length, padded
from rejoinder.progress import bar, reported
from rejoinder.text.tokens import writable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# A pretrained encoder that is not trained any further: one vector per text.


_BATCH_TOKENS = 4096


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """Texts to vectors of length 1: the mean of their tokens' vectors, normalised. Of a long text the end is read."""

    network: nn.Module
    definition: str
    """The tokeniser, in the format of tokenizer.json."""
    max_length: int = 64
    """How many tokens of a text are read, special tokens included."""

    @classmethod
    def start(cls, name_or_folder: str, max_length: int = 64) -> TextEncoder:
        """A pretrained encoder by its Hugging Face name or folder."""
        network, definition = pretrained(name_or_folder)
        longest = longest_input(network)
        if longest is not None and max_length > longest:
            raise CallError(f"{name_or_folder} reads at most {longest} tokens: max_length cannot be {max_length}")
        return cls(network.eval(), definition, max_length)

    @classmethod
    def load(cls, folder: Path, max_length: int) -> TextEncoder:
        """What `save` wrote into the folder."""
        weights = folder / WEIGHTS["torch"]
        network = loaded_network(saved_shape("AutoModel", folder / ENCODER, weights), weights)
        made = cls(network, read_text(folder / TOKENISER), max_length)
        made.check(folder)
        return made

    def save(self, folder: Path) -> None:
        """Write tokeniser, architecture and weights."""
        (folder / TOKENISER).write_text(self.definition, encoding="utf-8")
        (folder / ENCODER).write_text(definition_of(self.network), encoding="utf-8")
        save_weights(self.network, folder / WEIGHTS["torch"])

    def check(self, folder: Path) -> None:
        """DataError unless what was read from a folder fits together."""
        tokeniser = tokeniser_of(self.definition, str(folder / TOKENISER), embedded_tokens(self.network))
        special = int(tokeniser.num_special_tokens_to_add(is_pair=False))
        check_range(self.max_length, special + 1, longest_input(self.network) or math.inf, str(folder), "max_length")
        if not np.isfinite(self.encode(["a"])).all():
            raise DataError("gives vectors that are not finite", file=str(folder))

    @property
    def width(self) -> int:
        """The width of a vector."""
        return int(self.network.config.hidden_size)  # type: ignore[union-attr,arg-type]

    def encode(self, texts: Sequence[str], *, quiet: bool = True) -> NDArray[np.float32]:
        """One vector per text; equal texts are encoded once. (texts, width)"""
        different = list(dict.fromkeys(texts))
        place = {text: number for number, text in enumerate(different)}
        tokens = self._tokens(different)
        vectors = np.empty((len(different), self.width), np.float32)
        batches, faster = by_length(tokens, _BATCH_TOKENS), ("a smaller encoder", "fewer texts")
        with (
            torch.inference_mode(),
            bar("encoding", total=len(different), unit="texts", quiet=quiet, faster=faster) as moving,
        ):
            for rows in reported(batches, len(batches)):
                vectors[rows] = self._vectors([tokens[row] for row in rows]).cpu().numpy()
                moving.update(len(rows))
        return vectors[[place[text] for text in texts]]

    def _tokens(self, texts: Sequence[str]) -> list[EncodedPair]:
        special = int(self._tokeniser.num_special_tokens_to_add(is_pair=False))
        encoded = []
        for found in self._tokeniser.encode_batch(list(map(writable, texts)), add_special_tokens=False):
            found.truncate(self.max_length - special, direction="left")
            joined = self._tokeniser.post_process(found, add_special_tokens=True)
            encoded.append(EncodedPair(tuple(joined.ids) or (self._pad,), tuple(joined.type_ids) or (0,)))
        return encoded

    def _vectors(self, encoded: Sequence[EncodedPair]) -> Tensor:
        arrays = padded(encoded, self._pad)
        ids, mask = (torch.from_numpy(arrays[name]).to(self._device) for name in ("input_ids", "attention_mask"))
        hidden = self.network(input_ids=ids, attention_mask=mask).last_hidden_state  # (rows, tokens, width)
        return nn.functional.normalize(mean_over(hidden, mask), dim=1)

    @cached_property
    def _tokeniser(self) -> Tokenizer:
        return tokeniser_of(self.definition, TOKENISER)

    @property
    def _pad(self) -> int:
        return int(self.network.config.pad_token_id or 0)  # type: ignore[union-attr,arg-type]

    @property
    def _device(self) -> torch.device:
        return next(self.network.parameters()).device


# Pretrained Hugging Face encoders: loading, architecture, and pooling of their vectors.


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

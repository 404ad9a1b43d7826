"""The interface of a trained model, in PyTorch or ONNX: it scores pairs, and is saved in a folder.

tokenizer.json     the tokeniser
encoder.json       the shape of the pretrained encoder         } to continue training:
model.safetensors  the weights                                 } needs torch and transformers
model.onnx         the model for ONNX Runtime
model.int8.onnx    the same with int8 weights
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.pairs import Pair
from rejoinder.errors import DataError
from rejoinder.evaluators.encoder.tokeniser import PairTokeniser
from rejoinder.loading.schema import check_range, record
from rejoinder.model_folder import CONFIG

POOLINGS = ("match", "mean", "cls")


class Model(Protocol):
    """Something that scores pairs and can be saved."""

    @property
    def precision(self) -> str:
        """Which weights it has: torch, fp32 or int8."""

    @property
    def settings(self) -> Settings:
        """How its input is made."""

    @property
    def tokeniser(self) -> PairTokeniser:
        """What makes its input."""

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """One score per pair, from 1 to 5."""

    def save(self, folder: Path) -> None:
        """Write the model's files into a folder."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How pairs become the model's input."""

    max_length: int
    max_response: int
    speaker_marks: bool
    pad: int
    """The id of the padding token."""
    token_types: bool
    """Whether the network receives which tokens are context and which are reply."""
    pooling: str
    """How the vectors of tokens are pooled: their mean, the first (cls), or context against reply (match)."""
    towers: bool
    """Whether context and reply are also read apart."""

    @classmethod
    def of(cls, plain: Mapping[str, Any], folder: Path) -> Settings:
        """From what config.json holds."""
        file = str(folder / CONFIG)
        made = record(cls, plain, file, "learned")
        if made.pooling not in POOLINGS:
            raise DataError(f"must be one of {', '.join(POOLINGS)}", file=file, field="learned.pooling")
        for name in ("max_length", "max_response", "pad"):
            check_range(getattr(made, name), 0 if name == "pad" else 1, 1 << 24, file, f"learned.{name}")
        return made

    @property
    def plain(self) -> dict[str, Any]:
        """For config.json."""
        return asdict(self)

    def tokeniser(self, definition: str) -> PairTokeniser:
        """The tokeniser with these limits."""
        own_types = self.pooling != "match"
        return PairTokeniser(definition, self.max_length, self.max_response, self.speaker_marks, own_types, self.towers)

"""The encoder read as two towers: a vector for a context and one for a reply.

Tokens and vectors are those of `rejoinder.models.towers`: `[CLS] turn [SEP] turn [SEP] last turn [SEP]`, without marks
of who speaks, as sentence encoders were trained to read text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from rejoinder.models.cross_encoder import pretrained, tower_vectors
from rejoinder.models.torch_model import TorchModel
from rejoinder.models.towers import Towered, padded_towers, towered

Floats = NDArray[np.float64]


def length_of(pair: Towered) -> int:
    """How many tokens are read of context and reply."""
    return len(pair.context) + len(pair.reply)


@dataclass(frozen=True, eq=False)
class TwoTowers:
    """An encoder with what turns contexts and replies into its input."""

    encoder: nn.Module
    tokeniser: Tokenizer
    pad: int

    @classmethod
    def start(cls, folder: Path) -> TwoTowers:
        """The pretrained encoder."""
        encoder, definition = pretrained(str(folder))
        encoder.pooler = None  # type: ignore[assignment]
        pad = int(encoder.config.pad_token_id or 0)  # type: ignore[union-attr,arg-type]
        return cls(encoder.eval(), Tokenizer.from_str(definition), pad)

    @classmethod
    def of(cls, model: TorchModel) -> TwoTowers:
        """The encoder of a student, which goes on sharing its weights."""
        return cls(model.network.encoder, model.tokeniser.tokeniser, model.settings.pad)

    def load(self, weights: Path) -> None:
        """Take weights from a file."""
        self.encoder.load_state_dict(load_file(weights))

    def read(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[Towered]:
        """The token numbers of each context and its reply; a full stop stands for what is missing."""
        turns = [[turn if turn.strip() else "." for turn in context or (".",)] for context in contexts]
        return towered(self.tokeniser, turns, [reply if reply.strip() else "." for reply in replies])

    def vectors(self, pairs: Sequence[Towered]) -> Tensor:
        """Whole contexts, their last turns, replies; each of length 1. (3, pairs, width)"""
        arrays = padded_towers(pairs, self.pad)
        return tower_vectors(self.encoder, **{name: torch.from_numpy(array) for name, array in arrays.items()})

    def cosines(self, contexts: Sequence[Sequence[str]], replies: Sequence[str], batch: int = 64) -> Floats:
        """How near each reply is to its whole context, and to the last turn as read with those before it.
        (2, replies)"""
        pairs = self.read(contexts, replies)
        found = np.zeros((2, len(pairs)))
        order = sorted(range(len(pairs)), key=lambda row: length_of(pairs[row]))
        with torch.inference_mode():
            for start in range(0, len(order), batch):
                rows = order[start : start + batch]
                context, last_turn, reply = self.vectors([pairs[row] for row in rows])
                found[:, rows] = torch.stack([(context * reply).sum(1), (last_turn * reply).sum(1)]).numpy()
        return found

"""The network of tweet2vec: one GRU reads the characters forwards, another backwards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.encoders.tweet2vec.characters import PAD, Codes

_STEP = 16
"""Rows are padded to a multiple of this length."""


class CharacterNetwork(nn.Module):
    """Characters to a vector of length 1: W [forward; backward] + b, normalised."""

    def __init__(self, characters: int, embedding: int, hidden: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding, padding_idx=PAD)
        self.forwards = nn.GRU(embedding, hidden, batch_first=True)
        self.backwards = nn.GRU(embedding, hidden, batch_first=True)
        self.joined = nn.Linear(2 * hidden, width)

    def forward(self, codes: Tensor, lengths: Tensor) -> Tensor:
        """(rows, characters), (rows,) -> (rows, width)"""
        # Each row is reversed within its own length, so that padding comes last in both directions and is never read.
        place = torch.arange(codes.shape[1], device=codes.device)
        reversed_place = torch.where(place < lengths[:, None], lengths[:, None] - 1 - place, place)
        ends = lengths[:, None, None] - 1
        states = []
        for network, characters in ((self.forwards, codes), (self.backwards, codes.gather(1, reversed_place))):
            each, _ = network(self.embedding(characters))  # (rows, characters, hidden)
            states.append(each.gather(1, ends.expand(-1, 1, each.shape[2]))[:, 0])
        return nn.functional.normalize(self.joined(torch.cat(states, 1)), dim=1)

    def tensors(self, rows: Sequence[Codes]) -> tuple[Tensor, Tensor]:
        """What `forward` takes: codes padded to a common length, and the length of each row."""
        longest = -(-max(map(len, rows)) // _STEP) * _STEP
        codes = np.full((len(rows), longest), PAD, np.int64)
        for place, row in enumerate(rows):
            codes[place, : len(row)] = row
        device = self.embedding.weight.device
        return torch.from_numpy(codes).to(device), torch.tensor([len(row) for row in rows], device=device)

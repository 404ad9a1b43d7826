"""A GRU over rows of different lengths, read as a few dense tensors of rows of like length.

On a processor torch reads packed rows two to three times as slowly as a dense tensor of as many tokens. Packed rows come
longest first, so that a few cuts leave little to fill up. The states are those of the packed form, up to rounding.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

_SHORTEST = 0.7
"""A row that is shorter than this share of a tensor's longest begins another tensor."""
_LEAST_ROWS = 8
"""So few rows are not worth a tensor of their own."""


def gru_over(gru: nn.GRU, rows: PackedSequence, state: Tensor | None = None) -> tuple[PackedSequence, Tensor]:
    """What `gru(rows, state)` gives, of a GRU of one layer: states packed, and the last ones. (directions, rows, hidden)

    `state`, where each row begins, is (1, rows, hidden) and for one direction only; None: it begins with zeros.
    """
    padded, lengths = pad_packed_sequence(PackedSequence(rows.data, rows.batch_sizes))  # (longest, rows, width)
    if state is None:
        state = padded.new_zeros(1 + gru.bidirectional, len(lengths), gru.hidden_size)
    elif rows.sorted_indices is not None:
        state = state[:, rows.sorted_indices]
    found, last = [], []
    for start, stop in pairwise(cuts_of(lengths.tolist())):
        longest = int(lengths[start])
        inputs, ends = padded[:longest, start:stop], lengths[start:stop].to(padded.device)
        read = [_read(gru, inputs, ends, state[way, start:stop], way) for way in range(1 + gru.bidirectional)]
        states = torch.cat([one for one, _ in read], dim=2)
        found.append(pad(states, (0, 0, 0, 0, 0, len(padded) - longest)))
        last.append(torch.stack([one for _, one in read]))
    data = pack_padded_sequence(torch.cat(found, dim=1), lengths).data
    ended = torch.cat(last, dim=1)
    if rows.unsorted_indices is not None:
        ended = ended[:, rows.unsorted_indices]
    return PackedSequence(data, rows.batch_sizes, rows.sorted_indices, rows.unsorted_indices), ended


def cuts_of(lengths: list[int]) -> list[int]:
    """Where tensors begin, and the end, among rows of falling length."""
    cuts = [0]
    for row, length in enumerate(lengths):
        enough = row - cuts[-1] >= _LEAST_ROWS and len(lengths) - row >= _LEAST_ROWS
        if enough and length < _SHORTEST * lengths[cuts[-1]]:
            cuts.append(row)
    return [*cuts, len(lengths)]


def _read(gru: nn.GRU, inputs: Tensor, lengths: Tensor, state: Tensor, way: int) -> tuple[Tensor, Tensor]:
    """States at each token (longest, rows, hidden), and the last of each row (rows, hidden), of one direction."""
    weights = gru._flat_weights[4 * way : 4 * way + 4]  # noqa: SLF001 - torch has no call for one direction
    turned = _turned(len(inputs), lengths)[:, :, None] if way else None
    inputs = inputs if turned is None else inputs.gather(0, turned.expand(-1, -1, inputs.shape[2]))
    states: Tensor = torch.gru(inputs, state[None], weights, True, 1, 0.0, gru.training, False, False)[0]  # noqa: FBT003
    last = states[lengths - 1, torch.arange(len(lengths), device=lengths.device)]
    return states if turned is None else states.gather(0, turned.expand(-1, -1, states.shape[2])), last


def _turned(longest: int, lengths: Tensor) -> Tensor:
    """Places of each row from its last token to its first; what is filled up stays behind. (longest, rows)"""
    places = torch.arange(longest, device=lengths.device)[:, None]
    return torch.where(places < lengths, lengths - 1 - places, places)

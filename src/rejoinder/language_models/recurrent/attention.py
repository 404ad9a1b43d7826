"""Attention of a decoder to the tokens of a context: which of them matter for the next token of a reply."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from rejoinder.language_models.recurrent.model import BAHDANAU
from rejoinder.language_models.recurrent.token_dialogues import packed_like


class Memory(NamedTuple):
    """The states at each token of the context."""

    states: Tensor  # (rows, longest, width)
    absent: Tensor  # (rows, longest), True beyond the end of a row
    keys: Tensor | None = None
    """U h of Bahdanau's attention, which is the same for all tokens of a reply. (rows, longest, hidden)"""

    @classmethod
    def of(cls, states: PackedSequence) -> Memory:
        """From the states of a reader."""
        padded, lengths = pad_packed_sequence(states, batch_first=True)
        places = torch.arange(padded.shape[1], device=padded.device)
        return cls(padded, places[None] >= lengths[:, None].to(padded.device))

    def rows(self, wanted: Tensor | slice) -> Memory:
        """The states of some rows."""
        return Memory(self.states[wanted], self.absent[wanted], None if self.keys is None else self.keys[wanted])


class LuongAttention(nn.Module):
    """tanh(W [s; c]) with c the mean of the states h, weighted by softmax(s^T M h) (Luong et al. 2015, "general").

    s is the decoder's state after it has read a token.
    """

    def __init__(self, hidden: int, width: int) -> None:
        """`hidden`: the width of a decoder's state; `width`: of the states that it attends to."""
        super().__init__()
        self.score = nn.Linear(hidden, width, bias=False)
        self.mix = nn.Linear(hidden + width, hidden)

    def forward(self, states: PackedSequence, memory: Memory) -> Tensor:
        """For each token of each row. (tokens of all rows, hidden)"""
        asked, lengths = pad_packed_sequence(packed_like(self.score(states.data), states), batch_first=True)
        fit = asked @ memory.states.transpose(1, 2)  # (rows, tokens, longest)
        weights = fit.masked_fill(memory.absent[:, None], -torch.inf).softmax(2)
        found = weights @ memory.states  # (rows, tokens, width)
        if states.sorted_indices is not None:  # in the exact order of the states: rows of equal length could be swapped
            found, lengths = found[states.sorted_indices], lengths[states.sorted_indices.cpu()]
        seen = pack_padded_sequence(found, lengths, batch_first=True).data
        return torch.tanh(self.mix(torch.cat([states.data, seen], dim=1)))


class BahdanauAttention(nn.Module):
    """c = the mean of the states h, weighted by softmax(v^T tanh(W s + U h)) (Bahdanau et al. 2015).

    s is the decoder's state before it reads a token, and c is read with the token, so that one token comes after the
    other. As with Luong's attention, the next token is predicted from tanh(W' [s'; c]), where s' is the state after
    the token; the paper has a maxout layer there.
    """

    def __init__(self, hidden: int, width: int, token: int) -> None:
        """`hidden`: the width of a decoder's state; `width`: of the states that it attends to; `token`: of a token."""
        super().__init__()
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key = nn.Linear(width, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)
        self.read = nn.Linear(width, token, bias=False)
        self.mix = nn.Linear(hidden + width, hidden)

    def prepared(self, memory: Memory) -> Memory:
        """The memory with its keys."""
        return memory._replace(keys=self.key(memory.states))

    def forward(self, state: Tensor, memory: Memory) -> Tensor:
        """c for one token of each row. (rows, hidden) -> (rows, width)"""
        if memory.keys is None:
            raise ValueError("the memory has no keys: expected one from `prepared`")
        fit = self.score(torch.tanh(self.query(state)[:, None] + memory.keys))[..., 0]  # (rows, longest)
        weights = fit.masked_fill(memory.absent, -torch.inf).softmax(1)
        seen: Tensor = (weights[:, None] @ memory.states)[:, 0]
        return seen

    def mixed(self, state: Tensor, seen: Tensor) -> Tensor:
        """What the next token is predicted from. (rows, hidden)"""
        return torch.tanh(self.mix(torch.cat([state, seen], dim=1)))


def attention_of(name: str, hidden: int, width: int, token: int) -> LuongAttention | BahdanauAttention:
    """An untrained attention by name."""
    return BahdanauAttention(hidden, width, token) if name == BAHDANAU else LuongAttention(hidden, width)

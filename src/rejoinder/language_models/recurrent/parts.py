"""The recurrent parts of reply models: a turn to a vector, turns to a context, a context to a reply.

Rows of tokens are packed, not padded, so that nothing is computed for padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from rejoinder.language_models.recurrent.attention import BahdanauAttention, Memory, attention_of
from rejoinder.language_models.recurrent.softmax import NextToken
from rejoinder.language_models.recurrent.token_dialogues import packed, packed_like, shifted
from rejoinder.text.vocabulary import DROPPED, START, Ids


class NormalisedGru(nn.Module):
    """A GRU with layer-normalised gates (Ba et al. 2016), with the interface of torch's own."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.hidden_size = hidden
        self.read = nn.Linear(width, 3 * hidden, bias=False)
        self.remember = nn.Linear(hidden, 3 * hidden, bias=False)
        self.read_norm = nn.LayerNorm(3 * hidden)
        self.remember_norm = nn.LayerNorm(3 * hidden)

    def forward(self, rows: PackedSequence, state: Tensor) -> tuple[PackedSequence, Tensor]:
        """The states after each token, packed, and the last state of each row. state: (1, rows, hidden)"""
        order = rows.sorted_indices
        now = state[0] if order is None else state[0, order]
        read = self.read_norm(self.read(rows.data))
        states, ended, at = [], [], 0
        for size in rows.batch_sizes.tolist():
            ended.append(now[size:])  # rows are sorted by length, longest first: the last ones have ended
            now = self.cell(read[at : at + size], now[:size])
            states.append(now)
            at += size
        last = torch.cat([now, *reversed(ended)])
        last = last if rows.unsorted_indices is None else last[rows.unsorted_indices]
        return packed_like(torch.cat(states), rows), last[None]

    def cell(self, read: Tensor, state: Tensor) -> Tensor:
        """The next state. (rows, 3 hidden) and (rows, hidden) -> (rows, hidden)"""
        from_input, from_state = read.chunk(3, 1), self.remember_norm(self.remember(state)).chunk(3, 1)
        reset = torch.sigmoid(from_input[0] + from_state[0])
        update = torch.sigmoid(from_input[1] + from_state[1])
        fresh = torch.tanh(from_input[2] + reset * from_state[2])
        return torch.lerp(fresh, state, update)


class Words(nn.Embedding):
    """One vector per token, shared by readers and decoder."""

    def read(self, rows: Sequence[Ids]) -> PackedSequence:
        """The vectors of rows of tokens."""
        ids = packed(rows, self.weight.device)
        return packed_like(self(ids.data), ids)


class Reader(nn.Module):
    """A bidirectional GRU over the vectors of tokens; a row is a turn or a whole context."""

    def __init__(self, width: int, hidden: int, dropout: float, layers: int = 1) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.gru = nn.GRU(width, hidden // 2, layers, bidirectional=True)

    def forward(self, vectors: PackedSequence) -> tuple[Tensor, PackedSequence]:
        """The last states of both directions (rows, hidden), and the states at each token; those of the top layer."""
        states, last = self.gru(packed_like(self.dropout(vectors.data), vectors))
        return torch.cat([last[-2], last[-1]], dim=1), states


class ContextReader(nn.Module):
    """A GRU over the vectors of turns: its state after a turn is the context of the next turn."""

    def __init__(self, width: int, hidden: int, *, normalised: bool, layers: int = 1) -> None:
        super().__init__()
        self.gru = NormalisedGru(width, hidden) if normalised else nn.GRU(width, hidden, layers)
        self.hidden, self.layers = hidden, layers

    def forward(self, turns: Tensor, lengths: Sequence[int]) -> Tensor:
        """The top layer's state after every turn. (turns of all dialogues, width) -> (dialogues, longest, hidden)"""
        padded = nn.utils.rnn.pad_sequence(list(torch.split(turns, list(lengths))), batch_first=True)
        rows = pack_padded_sequence(padded, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
        zeros = turns.new_zeros(self.layers, len(lengths), self.hidden)
        states: Tensor = pad_packed_sequence(self.gru(rows, zeros)[0], batch_first=True)[0]
        return states


class Writing(NamedTuple):
    """The state of a decoder in some replies."""

    hidden: Tensor
    """The states of all layers, one after the other, the top one last. (rows, layers * hidden)"""
    given: Tensor
    """The condition of each reply, projected to the width of a token, to which it is added. (rows, width)"""
    memory: Memory | None = None

    def rows(self, wanted: Tensor | slice) -> Writing:
        """The state of some rows."""
        return Writing(self.hidden[wanted], self.given[wanted], self.memory and self.memory.rows(wanted))


class Decoder(nn.Module):
    """A GRU that writes a reply; its first state is computed from the condition, which is also added to every token."""

    def __init__(
        self,
        tokens: int,
        width: int,
        condition: int,
        hidden: int,
        *,
        dropout: float = 0.0,
        word_drop: float = 0.0,
        normalised: bool = False,
        attention: str = "",
        layers: int = 1,
    ) -> None:
        """`width`: of a token's vector; `attention`: one of ATTENTIONS, to states as wide as the condition, or none."""
        super().__init__()
        self.words, self.word_drop, self.dropout = Words(tokens, width), word_drop, nn.Dropout(dropout)
        self.layers = layers
        self.begin = nn.Linear(condition, layers * hidden)
        self.give = nn.Linear(condition, width)
        self.gru = NormalisedGru(width, hidden) if normalised else nn.GRU(width, hidden, layers)
        self.attend = attention_of(attention, hidden, condition, width) if attention else None
        self.out = nn.Linear(hidden, width)
        self.next_token = NextToken(width, tokens)

    def start(self, condition: Tensor, memory: Memory | None = None) -> Writing:
        """The state before the first token. (rows, condition)"""
        if memory is not None and isinstance(self.attend, BahdanauAttention):
            memory = self.attend.prepared(memory)
        return Writing(torch.tanh(self.begin(condition)), self.give(condition), memory)

    def forward(self, replies: Sequence[Ids], condition: Tensor, memory: Memory | None = None) -> Tensor:
        """Minus the log-probability of every token of the replies, in nats. (tokens of all replies,)"""
        begun = self.start(condition, memory)
        device = condition.device
        rows, wanted = packed([shifted(reply) for reply in replies], device), packed(replies, device).data
        given = packed_rows(begun.given, rows)
        inputs = self.dropout(self.words(self._hidden_at_random(rows.data))) + given
        states = self._states(packed_like(inputs, rows), begun)
        nats: Tensor = self.next_token(self.dropout(torch.tanh(self.out(states))), wanted)
        return nats

    def step(self, state: Writing, last: Tensor) -> tuple[Tensor, Writing]:
        """Log-probabilities after one more token, and the new state: see `reply_models/neural/search.py`."""
        states, new = self._read(self.words(last) + state.given, state)
        return self.next_token.logs(torch.tanh(self.out(states))), new

    def _states(self, inputs: PackedSequence, begun: Writing) -> Tensor:
        """What each next token is predicted from, in the order of the inputs. (tokens of all replies, hidden)"""
        if isinstance(self.attend, BahdanauAttention):
            return self._one_by_one(inputs, begun)
        states = self.gru(inputs, self._by_layer(begun.hidden))[0]
        found: Tensor = states.data
        return found if self.attend is None or begun.memory is None else self.attend(states, begun.memory)

    def _one_by_one(self, inputs: PackedSequence, begun: Writing) -> Tensor:
        """The same, token by token, because what is attended to depends on the state before."""
        state = begun if inputs.sorted_indices is None else begun.rows(inputs.sorted_indices)
        found, at = [], 0
        for size in inputs.batch_sizes.tolist():
            # Rows are sorted by length, longest first: the last ones have ended.
            states, state = self._read(inputs.data[at : at + size], state.rows(slice(size)))
            found.append(states)
            at += size
        return torch.cat(found)

    def _read(self, inputs: Tensor, state: Writing) -> tuple[Tensor, Writing]:
        """What the next token is predicted from after one more input of each row, and the new state. (rows, hidden)"""
        seen = None
        if isinstance(self.attend, BahdanauAttention) and state.memory is not None:
            seen = self.attend(self._top(state.hidden), state.memory)
            inputs = inputs + self.attend.read(seen)
        if isinstance(self.gru, NormalisedGru):
            hidden = self.gru.cell(self.gru.read_norm(self.gru.read(inputs)), state.hidden)
        else:
            last: Tensor = self.gru(inputs[None], self._by_layer(state.hidden))[1]
            hidden = last.transpose(0, 1).flatten(1)
        found = self._top(hidden)
        if isinstance(self.attend, BahdanauAttention):
            found = found if seen is None else self.attend.mixed(found, seen)
        elif self.attend is not None and state.memory is not None:
            found = self.attend(PackedSequence(found, torch.tensor([len(found)])), state.memory)
        return found, state._replace(hidden=hidden)

    def _by_layer(self, hidden: Tensor) -> Tensor:
        """(rows, layers * hidden) -> (layers, rows, hidden)"""
        return hidden.view(len(hidden), self.layers, -1).transpose(0, 1).contiguous()

    def _top(self, hidden: Tensor) -> Tensor:
        """The state of the top layer. (rows, layers * hidden) -> (rows, hidden)"""
        return hidden.chunk(self.layers, 1)[-1]

    def _hidden_at_random(self, ids: Tensor) -> Tensor:
        """The tokens with a share of them hidden, so that the decoder relies on its condition."""
        if not (self.training and self.word_drop):
            return ids
        drawn = torch.rand(ids.shape, device=ids.device) < self.word_drop
        return ids.masked_fill(drawn & (ids != START), DROPPED)


def packed_rows(rows: Tensor, packing: PackedSequence) -> Tensor:
    """One vector per row, repeated at each of its tokens. (rows, width) -> (tokens, width)"""
    ordered = rows if packing.sorted_indices is None else rows[packing.sorted_indices]
    return torch.cat([ordered[:size] for size in packing.batch_sizes.tolist()])

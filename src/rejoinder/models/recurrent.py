"""Recurrent networks that predict replies: their interface, parts, attention and sampled softmax; skip-thought."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from rejoinder.models.language_model import BAHDANAU
from rejoinder.models.token_dialogues import (
    TokenContext,
    TokenDialogue,
    context_of,
    packed_like,
    packed_tokens,
    shifted,
)
from rejoinder.text.vocabulary import DROPPED, END, START, UNSAID, Ids

# The interface of networks that predict replies, which training, perplexity and decoding rely on.


# The recurrent parts of reply models: a turn to a vector, turns to a context, a context to a reply.
#
# Rows of tokens are packed, not padded, so that nothing is computed for padding.


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


class TokenEmbedding(nn.Embedding):
    """One vector per token, shared by readers and decoder."""

    def read(self, rows: Sequence[Ids]) -> PackedSequence:
        """The vectors of rows of tokens."""
        ids = packed_tokens(rows, self.weight.device)
        return packed_like(self(ids.data), ids)


class TokenReaderGru(nn.Module):
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


class DecoderState(NamedTuple):
    """The state of a decoder in some replies."""

    hidden: Tensor
    """The states of all layers, one after the other, the top one last. (rows, layers * hidden)"""
    given: Tensor
    """The condition of each reply, projected to the width of a token, to which it is added. (rows, width)"""
    memory: ContextMemory | None = None

    def rows(self, wanted: Tensor | slice) -> DecoderState:
        """The state of some rows."""
        return DecoderState(self.hidden[wanted], self.given[wanted], self.memory and self.memory.rows(wanted))


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
        self.words, self.word_drop, self.dropout = TokenEmbedding(tokens, width), word_drop, nn.Dropout(dropout)
        self.layers = layers
        self.begin = nn.Linear(condition, layers * hidden)
        self.give = nn.Linear(condition, width)
        self.gru = NormalisedGru(width, hidden) if normalised else nn.GRU(width, hidden, layers)
        self.attend = attention_of(attention, hidden, condition, width) if attention else None
        self.out = nn.Linear(hidden, width)
        self.next_token = NextToken(width, tokens)

    def start(self, condition: Tensor, memory: ContextMemory | None = None) -> DecoderState:
        """The state before the first token. (rows, condition)"""
        if memory is not None and isinstance(self.attend, BahdanauAttention):
            memory = self.attend.prepared(memory)
        return DecoderState(torch.tanh(self.begin(condition)), self.give(condition), memory)

    def forward(self, replies: Sequence[Ids], condition: Tensor, memory: ContextMemory | None = None) -> Tensor:
        """Minus the log-probability of every token of the replies, in nats. (tokens of all replies,)"""
        begun = self.start(condition, memory)
        device = condition.device
        rows, wanted = packed_tokens([shifted(reply) for reply in replies], device), packed_tokens(replies, device).data
        given = packed_rows(begun.given, rows)
        inputs = self.dropout(self.words(self._hidden_at_random(rows.data))) + given
        states = self._states(packed_like(inputs, rows), begun)
        nats: Tensor = self.next_token(self.dropout(torch.tanh(self.out(states))), wanted)
        return nats

    def step(self, state: DecoderState, last: Tensor) -> tuple[Tensor, DecoderState]:
        """Log-probabilities after one more token, and the new state: see `replies/search.py`."""
        states, new = self._read(self.words(last) + state.given, state)
        return self.next_token.logs(torch.tanh(self.out(states))), new

    def _states(self, inputs: PackedSequence, begun: DecoderState) -> Tensor:
        """What each next token is predicted from, in the order of the inputs. (tokens of all replies, hidden)"""
        if isinstance(self.attend, BahdanauAttention):
            return self._one_by_one(inputs, begun)
        states = self.gru(inputs, self._by_layer(begun.hidden))[0]
        found: Tensor = states.data
        return found if self.attend is None or begun.memory is None else self.attend(states, begun.memory)

    def _one_by_one(self, inputs: PackedSequence, begun: DecoderState) -> Tensor:
        """The same, token by token, because what is attended to depends on the state before."""
        state = begun if inputs.sorted_indices is None else begun.rows(inputs.sorted_indices)
        found, at = [], 0
        for size in inputs.batch_sizes.tolist():
            # Rows are sorted by length, longest first: the last ones have ended.
            states, state = self._read(inputs.data[at : at + size], state.rows(slice(size)))
            found.append(states)
            at += size
        return torch.cat(found)

    def _read(self, inputs: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
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


S = TypeVar("S")


class Nats(NamedTuple):
    """The negative log-likelihood of the replies of some dialogues, in nats."""

    words: Tensor
    """Minus the sum of the log-probabilities of all tokens. ()"""
    kl: Tensor
    """The KL of a latent variable, summed over the replies; 0 for a network without one. ()"""
    tokens: int
    replies: int
    extra: Tensor | float = 0.0
    """The sum of an additional training loss that is not part of the likelihood. ()"""


class NetworkSizes(NamedTuple):
    """The sizes of a network's layers, and its dropout."""

    tokens: int
    embedding: int
    hidden: int
    dropout: float = 0.0


class ReplyNetwork(nn.Module, ABC, Generic[S]):
    """A network that predicts replies; S is its state while it writes one."""

    @property
    def end(self) -> int:
        """The token that ends a reply."""
        return END

    @property
    def device(self) -> torch.device:
        """The device of its weights."""
        return next(self.parameters()).device

    @abstractmethod
    def forward(self, dialogues: Sequence[TokenDialogue]) -> Nats:
        """The negative log-likelihood of the replies of the dialogues."""

    @abstractmethod
    def start(self, contexts: Sequence[TokenContext], seeds: Sequence[int] | None) -> tuple[S, Tensor]:
        """The state before a reply to each context, and the first token to be read. (contexts,)

        The seeds, one per context, are for a network that draws a latent variable; None: it takes the most likely.
        """

    @abstractmethod
    def step(self, state: S, last: Tensor) -> tuple[Tensor, S]:
        """Log-probabilities of the next token (rows, vocabulary), and the new state."""

    @abstractmethod
    def reorder(self, state: S, rows: Tensor) -> S:
        """The state of these rows."""

    @abstractmethod
    def encode(self, contexts: Sequence[TokenContext]) -> Tensor:
        """One vector per context. (contexts, width)"""

    def objective(self, nats: Nats) -> Tensor:
        """The training loss; called once per batch."""
        return (nats.words + nats.kl) / nats.tokens


class DecoderNetwork(ReplyNetwork[DecoderState]):
    """A network whose replies are written by the shared decoder."""

    decoder: Decoder

    def step(self, state: DecoderState, last: Tensor) -> tuple[Tensor, DecoderState]:
        """Log-probabilities of the next token, and the new state."""
        return self.decoder.step(state, last)

    def reorder(self, state: DecoderState, rows: Tensor) -> DecoderState:
        """The state of these rows."""
        return state.rows(rows)

    def first(self, contexts: Sequence[TokenContext]) -> Tensor:
        """The start token of each reply. (contexts,)"""
        return torch.full((len(contexts),), START, device=self.device)


# Attention of a decoder to the tokens of a context: which of them matter for the next token of a reply.


class ContextMemory(NamedTuple):
    """The states at each token of the context."""

    states: Tensor  # (rows, longest, width)
    absent: Tensor  # (rows, longest), True beyond the end of a row
    keys: Tensor | None = None
    """U h of Bahdanau's attention, which is the same for all tokens of a reply. (rows, longest, hidden)"""

    @classmethod
    def of(cls, states: PackedSequence) -> ContextMemory:
        """From the states of a reader."""
        padded, lengths = pad_packed_sequence(states, batch_first=True)
        places = torch.arange(padded.shape[1], device=padded.device)
        return cls(padded, places[None] >= lengths[:, None].to(padded.device))

    def rows(self, wanted: Tensor | slice) -> ContextMemory:
        """The states of some rows."""
        return ContextMemory(self.states[wanted], self.absent[wanted], None if self.keys is None else self.keys[wanted])


class LuongAttention(nn.Module):
    """tanh(W [s; c]) with c the mean of the states h, weighted by softmax(s^T M h) (Luong et al. 2015, "general").

    s is the decoder's state after it has read a token.
    """

    def __init__(self, hidden: int, width: int) -> None:
        """`hidden`: the width of a decoder's state; `width`: of the states that it attends to."""
        super().__init__()
        self.score = nn.Linear(hidden, width, bias=False)
        self.mix = nn.Linear(hidden + width, hidden)

    def forward(self, states: PackedSequence, memory: ContextMemory) -> Tensor:
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

    def prepared(self, memory: ContextMemory) -> ContextMemory:
        """The memory with its keys."""
        return memory._replace(keys=self.key(memory.states))

    def forward(self, state: Tensor, memory: ContextMemory) -> Tensor:
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


# The probabilities of the next token, the most expensive part of training a small model.
#
# For a large vocabulary the adaptive softmax (Grave et al. 2017) is used: the most frequent eighth of the tokens is
# scored with the full width, the others in two groups with a half and a quarter of it, and only where they occur. The
# probabilities are still exact and sum to 1. Tokens must be numbered by frequency, as in `text/vocabulary.py`.


FULL_UP_TO = 2000
"""The largest vocabulary for which a full softmax is used."""


class NextToken(nn.Module):
    """Log-probabilities of tokens after hidden states."""

    def __init__(self, width: int, tokens: int) -> None:
        super().__init__()
        self.divided = tokens > FULL_UP_TO
        self.scores: nn.Module = (
            nn.AdaptiveLogSoftmaxWithLoss(width, tokens, [tokens // 8, tokens * 3 // 8], div_value=2.0)
            if self.divided
            else nn.Linear(width, tokens)
        )

    def forward(self, hidden: Tensor, wanted: Tensor) -> Tensor:
        """Minus the log-probability of each target token, in nats. (tokens, width) and (tokens,) -> (tokens,)"""
        if isinstance(self.scores, nn.AdaptiveLogSoftmaxWithLoss):
            nats: Tensor = -self.scores(hidden, wanted).output
            return nats
        return cross_entropy(self.scores(hidden), wanted, reduction="none")

    def logs(self, hidden: Tensor) -> Tensor:
        """The log-probability of every token; -inf for special tokens. (rows, width) -> (rows, vocabulary)"""
        found: Tensor = (
            self.scores.log_prob(hidden)
            if isinstance(self.scores, nn.AdaptiveLogSoftmaxWithLoss)
            else self.scores(hidden).log_softmax(1)
        )
        found[:, list(UNSAID)] = -torch.inf
        return found


# Skip-thought (Kiros et al. 2015): an utterance becomes a vector from which its two neighbours are predicted.
#
# A GRU reads the utterance, one decoder predicts the next utterance, and another the previous one. The decoders share
# token vectors and softmax, as in the paper; the reader is bidirectional (the paper's bi-skip).


class SkipThoughtNetwork(DecoderNetwork):
    """An utterance to a vector, the vector to the two neighbouring utterances; as a reply it writes the next one."""

    def __init__(self, sizes: NetworkSizes, *, longest: int) -> None:
        """`longest`: how many of a text's last tokens are read."""
        super().__init__()
        self.longest = longest
        self.reader = TokenReaderGru(sizes.embedding, sizes.hidden, sizes.dropout)
        self.decoder, self.previous = (
            Decoder(sizes.tokens, sizes.embedding, sizes.hidden, sizes.hidden, dropout=sizes.dropout) for _ in range(2)
        )
        self.previous.words, self.previous.next_token = self.decoder.words, self.decoder.next_token

    def forward(self, dialogues: Sequence[TokenDialogue]) -> Nats:
        """The negative log-likelihood of all neighbours: n turns have n - 1 next and n - 1 previous turns."""
        pairs = [pair for dialogue in dialogues for pair in pairwise(dialogue.turns)]
        vectors = self._read([turn for dialogue in dialogues for turn in dialogue.turns])
        ends = torch.tensor([len(dialogue.turns) for dialogue in dialogues], device=self.device).cumsum(0)
        has_next = torch.ones(len(vectors), dtype=torch.bool, device=self.device)
        has_next[ends - 1] = False
        after = self.decoder([turn for _, turn in pairs], vectors[has_next])
        before = self.previous([turn for turn, _ in pairs], vectors[has_next.roll(1)])
        nats = torch.cat([after, before])
        return Nats(nats.sum(), nats.new_zeros(()), len(nats), 2 * len(pairs))

    def start(self, contexts: Sequence[TokenContext], seeds: Sequence[int] | None) -> tuple[DecoderState, Tensor]:  # noqa: ARG002
        """The state before the first token of the utterance after the last turn."""
        return self.decoder.start(self._read([turns[-1] for turns in contexts])), self.first(contexts)

    def encode(self, contexts: Sequence[TokenContext]) -> Tensor:
        """The last states of both directions; the turns of a context are read as one text."""
        return self._read([context_of(turns, self.longest) for turns in contexts])

    def _read(self, rows: Sequence[tuple[int, ...]]) -> Tensor:
        vectors: Tensor = self.reader(self.decoder.words.read(rows))[0]
        return vectors

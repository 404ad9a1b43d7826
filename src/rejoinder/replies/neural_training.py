"""The training stage of reply networks, and the networks by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.learning.data import buckets
from rejoinder.models.language_model import DialogueLikelihood
from rejoinder.models.recurrent import (
    ContextMemory,
    ContextReader,
    Decoder,
    DecoderNetwork,
    DecoderState,
    Nats,
    NetworkSizes,
    NextToken,
    ReplyNetwork,
    TokenEmbedding,
    TokenReaderGru,
)
from rejoinder.models.token_dialogues import TokenContext, TokenDialogue, context_of, targets_of
from rejoinder.text.vocabulary import END, PAD, START

# The training stage of reply networks, and the likelihood of replies.


_BATCH_TOKENS = 4096
"""Tokens per batch when a likelihood is computed."""


@dataclass(eq=False)
class ReplyStage:
    """The likelihood of every reply of the dialogues, or its lower bound for a network with a latent variable."""

    name: ClassVar[str] = "replies"
    figure: ClassVar[str] = "log-likelihood per token"

    network: ReplyNetwork[Any]
    dialogues: Sequence[TokenDialogue]
    held_out: Sequence[TokenDialogue]
    seed: int
    found: DialogueLikelihood | None = field(default=None, init=False)
    """The result of the last validation."""

    def __len__(self) -> int:
        return len(self.dialogues)

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Dialogues of similar length together."""
        rng = np.random.default_rng([self.seed, 4, epoch])
        return buckets([dialogue.size for dialogue in self.dialogues], size, rng)

    def loss(self, forward: Any, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - the text never changes
        """Nats per token; with a latent variable, the KL with its current weight."""
        nats: Nats = forward([self.dialogues[row] for row in rows])
        return self.network.objective(nats)

    def validate(self) -> float | None:
        """Minus the nats per token."""
        if not self.held_out:
            return None
        self.found = likelihood(self.network, self.held_out)
        return -self.found.nats

    def report(self) -> str:
        """Perplexity, and the KL of a latent variable."""
        return "" if self.found is None else str(self.found)


def likelihood(network: ReplyNetwork[Any], dialogues: Sequence[TokenDialogue]) -> DialogueLikelihood:
    """The likelihood of the replies by the network; the same every time, even if a latent variable is drawn."""
    words, kl, tokens, replies = 0.0, 0.0, 0, 0
    training = network.training
    network.eval()
    with torch.inference_mode(), torch.random.fork_rng():
        torch.manual_seed(0)
        for rows in _by_size(dialogues):
            nats = network([dialogues[row] for row in rows])
            words, kl = words + float(nats.words), kl + float(nats.kl)
            tokens, replies = tokens + nats.tokens, replies + nats.replies
    network.train(training)
    return DialogueLikelihood(words, kl, tokens, replies)


def _by_size(dialogues: Sequence[TokenDialogue]) -> list[list[int]]:
    """Row numbers in batches of similar length, with about `_BATCH_TOKENS` tokens each at most."""
    found: list[list[int]] = []
    room = 0
    for row in sorted(range(len(dialogues)), key=lambda row: -dialogues[row].size):
        if not found or room < dialogues[row].size:
            found.append([])
            room = _BATCH_TOKENS
        found[-1].append(row)
        room -= dialogues[row].size
    return found


# Networks that predict the next turn of a dialogue: a language model, seq2seq with and without attention, HRED.
#
# A dialogue is learned in one pass: every reply in it is predicted from the turns before it. All networks share the
# interface `ReplyNetwork`, so that training, perplexity and decoding are written once.


class Seq2Seq(DecoderNetwork):
    """One GRU reads the last turns as one row of tokens, another writes the reply (Vinyals and Le 2015)."""

    def __init__(self, sizes: NetworkSizes, *, attention: str, turns: int, context_tokens: int) -> None:
        """`attention`: one of ATTENTIONS, or none if empty."""
        super().__init__()
        self.turns, self.context_tokens = turns, context_tokens
        self.reader = TokenReaderGru(sizes.embedding, sizes.hidden, sizes.dropout)
        self.decoder = Decoder(
            sizes.tokens,
            sizes.embedding,
            sizes.hidden,
            sizes.hidden,
            dropout=sizes.dropout,
            attention=attention,
        )

    def forward(self, dialogues: Sequence[TokenDialogue]) -> Nats:
        """The negative log-likelihood of the replies."""
        said = targets_of(dialogues, self.device)
        contexts = [dialogue.turns[:turn] for dialogue in dialogues for turn in dialogue.replies]
        nats = self.decoder(said.ids, *self._read(contexts))
        return Nats(nats.sum(), nats.new_zeros(()), len(nats), len(said.ids))

    def start(self, contexts: Sequence[TokenContext], seeds: Sequence[int] | None) -> tuple[DecoderState, Tensor]:  # noqa: ARG002
        """The state before the first token of the replies."""
        return self.decoder.start(*self._read(contexts)), self.first(contexts)

    def encode(self, contexts: Sequence[TokenContext]) -> Tensor:
        """The last states of the encoder, both directions."""
        return self._read(contexts)[0]

    def _read(self, contexts: Sequence[Sequence[tuple[int, ...]]]) -> tuple[Tensor, ContextMemory | None]:
        rows = [context_of(turns[-self.turns :], self.context_tokens) for turns in contexts]
        last, states = self.reader(self.decoder.words.read(rows))
        return last, ContextMemory.of(states) if self.decoder.attend is not None else None


class Hred(DecoderNetwork):
    """Turns to vectors, vectors to a context, the context to a reply (Serban et al. 2016)."""

    def __init__(self, sizes: NetworkSizes, layers: int = 1) -> None:
        """`layers`: of each of the three GRUs."""
        super().__init__()
        self.reader = TokenReaderGru(sizes.embedding, sizes.hidden, sizes.dropout, layers)
        self.context = ContextReader(sizes.hidden, sizes.hidden, normalised=False, layers=layers)
        self.decoder = Decoder(
            sizes.tokens, sizes.embedding, sizes.hidden, sizes.hidden, dropout=sizes.dropout, layers=layers
        )

    def forward(self, dialogues: Sequence[TokenDialogue]) -> Nats:
        """The negative log-likelihood of the replies."""
        said = targets_of(dialogues, self.device)
        states = self._contexts([dialogue.turns[:-1] for dialogue in dialogues])
        nats = self.decoder(said.ids, states[said.dialogue, said.turn - 1])
        return Nats(nats.sum(), nats.new_zeros(()), len(nats), len(said.ids))

    def start(self, contexts: Sequence[TokenContext], seeds: Sequence[int] | None) -> tuple[DecoderState, Tensor]:  # noqa: ARG002
        """The state before the first token of the replies."""
        return self.decoder.start(self.encode(contexts)), self.first(contexts)

    def encode(self, contexts: Sequence[TokenContext]) -> Tensor:
        """The last hidden state of the context-level encoder."""
        return last_states(self._contexts(contexts), contexts)

    def _contexts(self, dialogues: Sequence[TokenContext]) -> Tensor:
        """The context after every turn. (dialogues, longest, hidden)"""
        turns, _ = self.reader(self.decoder.words.read([turn for turns in dialogues for turn in turns]))
        states: Tensor = self.context(turns, list(map(len, dialogues)))
        return states


class LanguageModel(ReplyNetwork["LstmState"]):
    """An LSTM over the dialogue as one row of tokens, which it continues (Liu et al. 2016, section 3)."""

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__()
        self.words, self.dropout = TokenEmbedding(sizes.tokens, sizes.embedding), nn.Dropout(sizes.dropout)
        self.lstm = nn.LSTM(sizes.embedding, sizes.hidden)
        # A forget bias of 1 helps with long rows (Jozefowicz et al. 2015).
        forget = dict(self.lstm.named_parameters())["bias_ih_l0"].data[sizes.hidden : 2 * sizes.hidden]
        nn.init.ones_(forget)
        self.out = nn.Linear(sizes.hidden, sizes.embedding)
        self.next_token = NextToken(sizes.embedding, sizes.tokens)

    def forward(self, dialogues: Sequence[TokenDialogue]) -> Nats:
        """The negative log-likelihood of the replies; the first turn is read but not learned."""
        # Padded, not packed: on a CPU torch's LSTM reads packed rows of different lengths eleven times more slowly, and
        # the dialogues of a batch have similar lengths.
        ids, counted = (
            nn.utils.rnn.pad_sequence([torch.tensor(row, device=self.device) for row in rows], padding_value=PAD)
            for rows in ([_stream(one.turns) for one in dialogues], [_in_replies(one) for one in dialogues])
        )  # (longest, dialogues)
        wanted, counted = ids[1:], counted.bool()
        states = self.lstm(self.dropout(self.words(ids[:-1])))[0][counted]
        nats = self.next_token(self.dropout(torch.tanh(self.out(states))), wanted[counted])
        return Nats(nats.sum(), nats.new_zeros(()), len(nats), sum(len(dialogue.replies) for dialogue in dialogues))

    def start(self, contexts: Sequence[TokenContext], seeds: Sequence[int] | None) -> tuple[LstmState, Tensor]:  # noqa: ARG002
        """The state before the end token of the context, which is the first token to be read."""
        first = torch.full((len(contexts),), END, device=self.device)
        return self._read([_stream(context)[:-1] for context in contexts]), first

    def step(self, state: LstmState, last: Tensor) -> tuple[Tensor, LstmState]:
        """Log-probabilities of the next token, and the new state."""
        states, (hidden, cell) = self.lstm(self.words(last)[None], (state.hidden[None], state.cell[None]))
        return self.next_token.logs(torch.tanh(self.out(states[0]))), LstmState(hidden[0], cell[0])

    def reorder(self, state: LstmState, rows: Tensor) -> LstmState:
        """The state of these rows."""
        return LstmState(state.hidden[rows], state.cell[rows])

    def encode(self, contexts: Sequence[TokenContext]) -> Tensor:
        """The hidden state after the context."""
        return self._read([_stream(context) for context in contexts]).hidden

    def _read(self, rows: Sequence[Sequence[int]]) -> LstmState:
        _, (hidden, cell) = self.lstm(self.words.read([tuple(row) for row in rows]))
        return LstmState(hidden[0], cell[0])


class LstmState(NamedTuple):
    """The state of an LSTM."""

    hidden: Tensor  # (rows, hidden)
    cell: Tensor  # (rows, hidden)


def last_states(states: Tensor, contexts: Sequence[TokenContext]) -> Tensor:
    """The state after the last turn of each context. (contexts, longest, hidden) -> (contexts, hidden)"""
    return torch.stack([states[row, len(turns) - 1] for row, turns in enumerate(contexts)])


def _stream(turns: Sequence[Sequence[int]]) -> list[int]:
    return [START, *(token for turn in turns for token in turn)]


def _in_replies(dialogue: TokenDialogue) -> list[int]:
    """A 1 or 0 per token of all turns: whether it belongs to a reply that is learned."""
    ends = list(accumulate(map(len, dialogue.turns)))
    counted = [0] * ends[-1]
    for turn in dialogue.replies:
        counted[ends[turn - 1] : ends[turn]] = [1] * len(dialogue.turns[turn])
    return counted

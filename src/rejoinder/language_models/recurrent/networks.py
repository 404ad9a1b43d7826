"""The interface of networks that predict replies, which training, perplexity and decoding rely on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from rejoinder.language_models.recurrent.parts import Decoder, Writing
from rejoinder.language_models.recurrent.token_dialogues import TokenContext, TokenDialogue
from rejoinder.text.vocabulary import END, START

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


class Sizes(NamedTuple):
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


class DecoderNetwork(ReplyNetwork[Writing]):
    """A network whose replies are written by the shared decoder."""

    decoder: Decoder

    def step(self, state: Writing, last: Tensor) -> tuple[Tensor, Writing]:
        """Log-probabilities of the next token, and the new state."""
        return self.decoder.step(state, last)

    def reorder(self, state: Writing, rows: Tensor) -> Writing:
        """The state of these rows."""
        return state.rows(rows)

    def first(self, contexts: Sequence[TokenContext]) -> Tensor:
        """The start token of each reply. (contexts,)"""
        return torch.full((len(contexts),), START, device=self.device)

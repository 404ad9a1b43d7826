"""What training, perplexity and decoding ask of a network that predicts replies."""

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
    """What the replies of some dialogues cost, in natural logarithms."""

    words: Tensor
    """Minus the log-probabilities of all tokens, summed. ()"""
    kl: Tensor
    """Of a latent, summed over the replies; 0 for a network without one. ()"""
    tokens: int
    replies: int
    aside: Tensor | float = 0.0
    """What training counts besides, summed; no part of the likelihood. ()"""


class Sizes(NamedTuple):
    """How large a network is."""

    tokens: int
    embedding: int
    hidden: int
    dropout: float = 0.0


class ReplyNetwork(nn.Module, ABC, Generic[S]):
    """What training, perplexity and decoding ask of a network; S is what it remembers of a reply that it says."""

    @property
    def end(self) -> int:
        """The token that ends a reply."""
        return END

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return next(self.parameters()).device

    @abstractmethod
    def forward(self, dialogues: Sequence[TokenDialogue]) -> Nats:
        """What the replies of the dialogues cost."""

    @abstractmethod
    def start(self, contexts: Sequence[TokenContext], seeds: Sequence[int] | None) -> tuple[S, Tensor]:
        """The state before a reply to each context, and the token that it goes on from. (contexts,)

        The seeds, one a context, are for a network that draws more than words; None: it takes the likeliest.
        """

    @abstractmethod
    def step(self, state: S, last: Tensor) -> tuple[Tensor, S]:
        """Log-probabilities of the next token (rows, vocabulary), and the state then."""

    @abstractmethod
    def reorder(self, state: S, rows: Tensor) -> S:
        """The state of these rows."""

    @abstractmethod
    def encode(self, contexts: Sequence[TokenContext]) -> Tensor:
        """One vector a context. (contexts, width)"""

    def objective(self, nats: Nats) -> Tensor:
        """What training makes small; called once a batch."""
        return (nats.words + nats.kl) / nats.tokens


class DecoderNetwork(ReplyNetwork[Writing]):
    """A network whose replies are said by the shared decoder."""

    decoder: Decoder

    def step(self, state: Writing, last: Tensor) -> tuple[Tensor, Writing]:
        """Log-probabilities of the next token, and the state then."""
        return self.decoder.step(state, last)

    def reorder(self, state: Writing, rows: Tensor) -> Writing:
        """The state of these rows."""
        return state.rows(rows)

    def first(self, contexts: Sequence[TokenContext]) -> Tensor:
        """The mark that each reply starts after. (contexts,)"""
        return torch.full((len(contexts),), START, device=self.device)

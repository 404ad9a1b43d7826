"""VHRED: HRED with a Gaussian latent variable per turn (Serban et al. 2017), trained as by Lowe et al. 2017 [ADEM].

The latent variable z of a reply has a prior, computed from the context, and an approximate posterior, computed from the
context and the reply. log p(reply) is at least E[log p(reply | z)] - KL(posterior || prior); this bound is what is
optimised and measured. The weight of the KL rises from 0 to 1 over `annealing` batches, and a quarter of the decoder's
input tokens are hidden: otherwise the decoder learns to ignore z (Bowman et al. 2016). If that is not enough, z can
also be trained to predict which tokens the reply contains, in any order (Zhao et al. 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from rejoinder.models.recurrent import (
    ContextReader,
    Decoder,
    DecoderNetwork,
    DecoderState,
    Nats,
    NetworkSizes,
    TokenReaderGru,
)
from rejoinder.models.token_dialogues import TokenContext, TokenDialogue, targets_of
from rejoinder.replies.neural_training import last_states
from rejoinder.text.vocabulary import Ids

_LEAST_DEVIATION = 1e-3
"""Keeps the posterior from collapsing to a point, whose KL would be infinite."""


class Gaussian(NamedTuple):
    """Independent normal distributions."""

    mean: Tensor  # (rows, latent)
    deviation: Tensor  # (rows, latent), above 0

    def at(self, noise: Tensor) -> Tensor:
        """The draw that belongs to standard normal noise; gradients flow through it. (rows, latent)"""
        return self.mean + self.deviation * noise

    def kl(self, other: Gaussian) -> Tensor:
        """KL(self || other) in nats, summed over the dimensions. (rows,)"""
        ratio = self.deviation / other.deviation
        apart = (self.mean - other.mean) / other.deviation
        return 0.5 * (ratio**2 + apart**2 - 1 - 2 * ratio.log()).sum(1)


class ToGaussian(nn.Module):
    """A network with one hidden layer whose output is a normal distribution."""

    def __init__(self, width: int, hidden: int, latent: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, 2 * latent))

    def forward(self, given: Tensor) -> Gaussian:
        """(rows, width) -> (rows, latent)"""
        mean, spread = self.layers(given).chunk(2, 1)
        return Gaussian(mean, softplus(spread) + _LEAST_DEVIATION)


class Vhred(DecoderNetwork):
    """HRED with a latent variable; the gates of the context GRU and of the decoder are layer-normalised."""

    batches: Tensor

    def __init__(
        self,
        sizes: NetworkSizes,
        *,
        latent: int,
        annealing: int,
        word_drop: float = 0.25,
        free_nats: float = 0.0,
        bag: float = 0.0,
    ) -> None:
        """`free_nats`: this much KL per reply, on average over a batch, is not penalised in training.

        `bag`: the weight of the bag-of-words loss, by which context and latent variable predict all tokens at once.
        """
        super().__init__()
        self.latent, self.annealing, self.free_nats, self.bag = latent, annealing, free_nats, bag
        hidden = sizes.hidden
        self.reader = TokenReaderGru(sizes.embedding, hidden, sizes.dropout)
        self.turn_norm = nn.LayerNorm(hidden)
        self.context = ContextReader(hidden, hidden, normalised=True)
        self.prior = ToGaussian(hidden, hidden, latent)
        self.posterior = ToGaussian(2 * hidden, hidden, latent)
        self.decoder = Decoder(
            sizes.tokens,
            sizes.embedding,
            hidden + latent,
            hidden,
            dropout=sizes.dropout,
            word_drop=word_drop,
            normalised=True,
        )
        self.bag_of_words = None
        if bag:
            width = sizes.embedding
            self.bag_of_words = nn.Sequential(
                nn.Linear(hidden + latent, width), nn.Tanh(), nn.Linear(width, sizes.tokens)
            )
        # Saved with the weights, so that a resumed run continues its annealing.
        self.register_buffer("batches", torch.zeros((), dtype=torch.long))

    def forward(self, dialogues: Sequence[TokenDialogue]) -> Nats:
        """Reconstruction and KL of the replies, with z drawn from the posterior."""
        said = targets_of(dialogues, self.device)
        lengths = [len(dialogue.turns) for dialogue in dialogues]
        turns = self._turns([dialogue.turns for dialogue in dialogues])
        context = self.context(turns, lengths)[said.dialogue, said.turn - 1]  # (replies, hidden)
        first = torch.tensor([0, *lengths[:-1]], device=self.device).cumsum(0)
        prior = self.prior(context)
        posterior = self.posterior(torch.cat([context, turns[first[said.dialogue] + said.turn]], dim=1))
        latent = posterior.at(torch.randn_like(posterior.mean))
        given = torch.cat([context, latent], dim=1)
        nats = self.decoder(said.ids, given)
        return Nats(nats.sum(), posterior.kl(prior).sum(), len(nats), len(said.ids), self._bag_loss(given, said.ids))

    @property
    def kl_weight(self) -> float:
        """The weight of the KL in the next batch: from 0 to 1."""
        return min(1.0, int(self.batches) / self.annealing) if self.annealing else 1.0

    def objective(self, nats: Nats) -> Tensor:
        """Reconstruction and weighted KL per token; also counts the batch."""
        weight = self.kl_weight
        self.batches += 1
        kl = (nats.kl - self.free_nats * nats.replies).clamp(min=0)
        return (nats.words + weight * kl + nats.extra) / nats.tokens

    def start(self, contexts: Sequence[TokenContext], seeds: Sequence[int] | None) -> tuple[DecoderState, Tensor]:
        """The state before the first token; z is the prior's mean, or drawn from the prior with the seeds."""
        context = self.encode(contexts)
        noise = torch.zeros(len(contexts), self.latent)
        if seeds is not None:
            drawn = [np.random.default_rng([seed, 1]).standard_normal(self.latent) for seed in seeds]
            noise = torch.from_numpy(np.stack(drawn)).to(noise.dtype)
        latent = self.prior(context).at(noise.to(self.device))
        return self.decoder.start(torch.cat([context, latent], dim=1)), self.first(contexts)

    def encode(self, contexts: Sequence[TokenContext]) -> Tensor:
        """The last hidden state of the context-level encoder."""
        return last_states(self.context(self._turns(contexts), list(map(len, contexts))), contexts)

    def _bag_loss(self, given: Tensor, replies: Sequence[Ids]) -> Tensor | float:
        """The weighted cost of predicting all tokens of a reply at once; 0 if this is not trained."""
        if self.bag_of_words is None or not self.training:
            return 0.0
        logs = self.bag_of_words(given).log_softmax(1)  # (replies, vocabulary)
        row = [number for number, reply in enumerate(replies) for _ in reply]
        token = [token for reply in replies for token in reply]
        cost: Tensor = -self.bag * logs[row, token].sum()
        return cost

    def _turns(self, dialogues: Sequence[TokenContext]) -> Tensor:
        """The vectors of all turns, one dialogue after the other. (turns, hidden)"""
        words = self.decoder.words.read([turn for turns in dialogues for turn in turns])
        found: Tensor = self.turn_norm(self.reader(words)[0])
        return found

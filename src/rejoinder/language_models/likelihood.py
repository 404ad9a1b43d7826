"""How well a model predicts the replies of dialogues."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Likelihood:
    """The negative log-likelihood of the replies of some dialogues, in nats; an upper bound with a latent variable."""

    words: float
    """Minus the log-probabilities of all tokens, end tokens included; with a latent variable, the reconstruction."""
    kl: float
    """The KL of the latent variable; 0 for a model without one."""
    tokens: int
    replies: int

    @property
    def nats(self) -> float:
        """Nats per token, the KL included."""
        return (self.words + self.kl) / self.tokens

    @property
    def perplexity(self) -> float:
        """exp of the nats per token."""
        return math.exp(self.nats) if self.nats < 700 else math.inf

    @property
    def word_nats_per_reply(self) -> float:
        """Nats of the tokens, or of the reconstruction, per reply."""
        return self.words / self.replies

    @property
    def kl_per_reply(self) -> float:
        """Nats of the KL per reply."""
        return self.kl / self.replies

    def counted_in(self, tokens: int) -> Likelihood:
        """The same with the token count of another tokeniser: only perplexities over the same tokens are comparable."""
        return Likelihood(self.words, self.kl, tokens, self.replies)

    def __str__(self) -> str:
        parts = f" ({self.word_nats_per_reply:.2f} nats per reply, KL {self.kl_per_reply:.2f})" if self.kl else ""
        return f"perplexity {self.perplexity:.2f}{parts}"

"""How well a model foretells the replies of dialogues."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Likelihood:
    """Nats that the replies of some dialogues cost; for a model with a latent, a bound from above."""

    words: float
    """Minus the log-probabilities of all tokens, the end of each reply included; with a latent: reconstruction."""
    kl: float
    """0 for a model without a latent."""
    tokens: int
    replies: int

    @property
    def nats(self) -> float:
        """All of them, a token."""
        return (self.words + self.kl) / self.tokens

    @property
    def perplexity(self) -> float:
        """exp of the nats a token."""
        return math.exp(self.nats) if self.nats < 700 else math.inf

    @property
    def words_a_reply(self) -> float:
        """Nats of the tokens, or of reconstruction, a reply."""
        return self.words / self.replies

    @property
    def kl_a_reply(self) -> float:
        """Nats of the latent, a reply."""
        return self.kl / self.replies

    def counted_in(self, tokens: int) -> Likelihood:
        """The same replies by another tokeniser's count: perplexities are compared over the same tokens only."""
        return Likelihood(self.words, self.kl, tokens, self.replies)

    def __str__(self) -> str:
        parts = f" ({self.words_a_reply:.2f} nats a reply, KL {self.kl_a_reply:.2f})" if self.kl else ""
        return f"perplexity {self.perplexity:.2f}{parts}"

"""The probabilities of the next token, the most expensive part of training a small model.

For a large vocabulary the adaptive softmax (Grave et al. 2017) is used: the most frequent eighth of the tokens is
scored with the full width, the others in two groups with a half and a quarter of it, and only where they occur. The
probabilities are still exact and sum to 1. Tokens must be numbered by frequency, as in `text/vocabulary.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rejoinder.text.vocabulary import UNSAID

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

"""RUBER's head over two vectors: how well a reply fits a context (ruber, section 3.2)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class QuadraticHead(nn.Module):
    """sigmoid(MLP([c; r; c^T M r])), with one hidden layer of tanh units.

    The hidden layer is written as the sum of three, of c, of r and of the product: it is the same function, and many
    replies to one context can share what is computed of c.
    """

    def __init__(self, context_width: int, reply_width: int, units: int, start: float = 1.0) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(context_width, reply_width) * start)
        self.of_context = nn.Linear(context_width, units)
        self.of_reply = nn.Linear(reply_width, units, bias=False)
        self.of_product = nn.Linear(1, units, bias=False)
        self.out = nn.Linear(units, 1)
        for layer in (self.of_context, self.of_reply, self.of_product):
            # As one layer over all of its inputs would begin.
            nn.init.uniform_(layer.weight, -(bound := 1 / math.sqrt(context_width + reply_width + 1)), bound)

    def logits(self, contexts: Tensor, replies: Tensor) -> Tensor:
        """Before the sigmoid. (rows, context width), (rows, candidates, reply width) -> (rows, candidates)"""
        products = (replies * (contexts @ self.matrix)[:, None]).sum(dim=2)  # (rows, candidates)
        hidden = self.of_context(contexts)[:, None] + self.of_reply(replies) + self.of_product(products[..., None])
        scores: Tensor = self.out(torch.tanh(hidden))[..., 0]
        return scores

    def forward(self, contexts: Tensor, replies: Tensor) -> Tensor:
        """From 0 to 1. (rows, context width), (rows, candidates, reply width) -> (rows, candidates)"""
        return torch.sigmoid(self.logits(contexts, replies))

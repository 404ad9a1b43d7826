"""The network of Zhao et al. 2020: score = 4 * sigmoid(MLP(encoder([context; response]))) + 1 (section 5.3)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rejoinder.evaluators.scale import HIGHEST, LOWEST
from rejoinder.learning.pretrained import mean_over


class CrossEncoder(nn.Module):
    """Reads context and reply together and gives one score, 1 to 5.

    `pooling` decides what the head gets of the encoder's last vectors: their `mean`, the first (`cls`), or a `match` of
    the mean c over the context with the mean r over the reply: [c, r, c * r, |c - r|, cosine(c, r)].
    """

    def __init__(self, encoder: nn.Module, pooling: str = "mean") -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = pooling
        if getattr(encoder, "pooler", None) is not None:
            # Its output is not used, and training in several processes fails on weights without a gradient.
            encoder.pooler = None  # type: ignore[assignment]
        width = int(encoder.config.hidden_size)  # type: ignore[union-attr,arg-type]
        features = 4 * width + 1 if pooling == "match" else width
        self.head = nn.Sequential(nn.Linear(features, width), nn.Tanh(), nn.Dropout(0.1), nn.Linear(width, 1))

    @property
    def config(self) -> Any:
        """The encoder's configuration, a class of transformers."""
        return self.encoder.config

    @property
    def takes_types(self) -> bool:
        """Whether the encoder has token type ids, which distinguish context from reply."""
        return int(getattr(self.config, "type_vocab_size", 0) or 0) > 1

    @property
    def needs_types(self) -> bool:
        """Whether `token_type_ids` must be given: for the encoder, or to distinguish context from reply in pooling."""
        return self.takes_types or self.pooling == "match"

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """One score per row. Each (rows, tokens) -> (rows,)"""
        types = {"token_type_ids": token_type_ids} if self.takes_types else {}
        # (rows, tokens, width)
        vectors = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **types).last_hidden_state
        if self.pooling == "cls":
            pooled = vectors[:, 0]
        elif self.pooling == "match":
            if token_type_ids is None:
                raise ValueError("pooling='match' needs token_type_ids: 0 for the context, 1 for the reply")
            pooled = _match(
                mean_over(vectors, attention_mask * (1 - token_type_ids)),
                mean_over(vectors, attention_mask * token_type_ids),
            )
        else:
            pooled = mean_over(vectors, attention_mask)
        return on_scale(self.head(pooled).squeeze(-1).float())


def on_scale(logits: Tensor) -> Tensor:
    """Scores from 1 to 5."""
    score: Tensor = (HIGHEST - LOWEST) * torch.sigmoid(logits) + LOWEST
    return score


def _match(context: Tensor, reply: Tensor) -> Tensor:
    """[c, r, c * r, |c - r|, cosine(c, r)]. Twice (rows, width) -> (rows, 4 * width + 1)"""
    cosine = nn.functional.cosine_similarity(context, reply, dim=-1).unsqueeze(-1)
    return torch.cat([context, reply, context * reply, (context - reply).abs(), cosine], dim=-1)

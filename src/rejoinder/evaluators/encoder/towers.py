"""The encoder as two towers: contexts and replies as vectors whose cosine measures how well they fit.

Both towers are one encoder. A context has two vectors, one of all its turns and one of its last turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.arrays import Ints
from rejoinder.evaluators.encoder.texts import ContextIds, Ids, SeparateTexts
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.learning.pretrained import mean_over
from rejoinder.text.cleaning import writable

MOST_CONTEXT = 64
"""Tokens of a context at most, special ones included."""
MOST_REPLY = 32
_AT_ONCE = 64


class Towers(nn.Module):
    """Vectors of length 1 of contexts, of their last turns, and of replies."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(
        self, context: Tensor, context_mask: Tensor, last_turn: Tensor, reply: Tensor, reply_mask: Tensor
    ) -> Tensor:
        """Each (rows, tokens) -> (3, rows, width): the whole context, its last turn, the reply."""
        contexts = self.contexts(context, context_mask, last_turn)
        return torch.cat([contexts, self.replies(reply, reply_mask).unsqueeze(0)])

    def contexts(self, context: Tensor, context_mask: Tensor, last_turn: Tensor) -> Tensor:
        """Each (rows, tokens) -> (2, rows, width): the whole context, its last turn."""
        vectors = self.encoder(input_ids=context, attention_mask=context_mask).last_hidden_state
        return _unit(torch.stack([mean_over(vectors, context_mask), mean_over(vectors, last_turn)]))

    def replies(self, reply: Tensor, reply_mask: Tensor) -> Tensor:
        """Each (rows, tokens) -> (rows, width)"""
        vectors = self.encoder(input_ids=reply, attention_mask=reply_mask).last_hidden_state
        return _unit(mean_over(vectors, reply_mask))


class TowerTexts:
    """Turns contexts and replies into the input of the towers."""

    def __init__(self, model: TorchModel) -> None:
        self.model = model
        self.texts = SeparateTexts(model.tokeniser.tokeniser, MOST_CONTEXT, MOST_REPLY)

    def contexts(self, contexts: Sequence[Sequence[str]]) -> dict[str, Tensor]:
        """The arguments of `Towers.contexts`."""
        read = self.texts.contexts([[writable(turn) for turn in context] for context in contexts])
        return self.model.on_device(padded_contexts(read, self.model.settings.pad))

    def replies(self, replies: Sequence[str]) -> dict[str, Tensor]:
        """The arguments of `Towers.replies`."""
        read = self.texts.replies([writable(reply) for reply in replies])
        return self.model.on_device(padded_replies(read, self.model.settings.pad))


class TowerVectors(NamedTuple):
    """Vectors of length 1."""

    contexts: Tensor
    """(contexts, width)"""
    last_turns: Tensor
    """(contexts, width)"""
    replies: Tensor
    """(replies, width)"""


def tower_vectors(
    models: Sequence[TorchModel], contexts: Sequence[Sequence[str]], replies: Sequence[str]
) -> TowerVectors:
    """The vectors of contexts and replies; a cosine of them is the mean of the cosines by each model's encoder."""
    found = [(*_contexts_of(model, contexts), _replies_of(model, replies)) for model in models]
    whole, last, after = (torch.cat(each, dim=1) / len(models) ** 0.5 for each in zip(*found, strict=True))
    return TowerVectors(whole, last, after)


@torch.no_grad()
def _contexts_of(model: TorchModel, contexts: Sequence[Sequence[str]]) -> Tensor:
    """Whole contexts, last turns. (2, contexts, width)"""
    towers, texts = Towers(model.network.encoder).eval(), TowerTexts(model)
    order = sorted(range(len(contexts)), key=lambda row: sum(map(len, contexts[row])))
    parts = [
        towers.contexts(**texts.contexts([contexts[row] for row in order[start : start + _AT_ONCE]]))
        for start in range(0, len(order), _AT_ONCE)
    ]
    return torch.cat(parts, dim=1)[:, np.argsort(order)]


@torch.no_grad()
def _replies_of(model: TorchModel, replies: Sequence[str]) -> Tensor:
    """A reply that occurs several times is read once. (replies, width)"""
    towers, texts = Towers(model.network.encoder).eval(), TowerTexts(model)
    order = sorted(set(replies), key=lambda reply: (len(reply), reply))
    place = {reply: number for number, reply in enumerate(order)}
    parts = [
        towers.replies(**texts.replies(order[start : start + _AT_ONCE])) for start in range(0, len(order), _AT_ONCE)
    ]
    return torch.cat(parts)[[place[reply] for reply in replies]]


def padded_contexts(contexts: Sequence[ContextIds], pad: int) -> dict[str, Ints]:
    """Token ids, which of them are not padding, and which belong to the last turn. Each (contexts, longest)"""
    ids, mask = _padded([context.ids for context in contexts], pad)
    last_turn = mask.copy()
    for row, context in enumerate(contexts):
        last_turn[row, : context.last_turn] = 0
    return {"context": ids, "context_mask": mask, "last_turn": last_turn}


def padded_replies(replies: Sequence[Ids], pad: int) -> dict[str, Ints]:
    """Token ids, and which of them are not padding. Each (replies, longest)"""
    ids, mask = _padded(replies, pad)
    return {"reply": ids, "reply_mask": mask}


def _padded(rows: Sequence[Ids], pad: int) -> tuple[Ints, Ints]:
    longest = max(map(len, rows))
    ids, mask = np.full((len(rows), longest), pad, np.int64), np.zeros((len(rows), longest), np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        mask[place, : len(row)] = 1
    return ids, mask


def _unit(vectors: Tensor) -> Tensor:
    return nn.functional.normalize(vectors.float(), dim=-1)

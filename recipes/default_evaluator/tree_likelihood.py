"""How likely several replies to one context are to a language model, read in one row.

The row is the context, then one reply after the other; a reply sees the context and itself, not its neighbours, and
its positions go on from the context's. So the context is computed once, and rows are long enough to keep a processor
busy: with six short replies to a context that is several times as fast as a row a reply.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from recipes.default_evaluator.corpora import TURNS
from torch import Tensor

from rejoinder.arrays import Floats
from rejoinder.data.pairs import by_replier
from rejoinder.language_models.causal import CausalModel

CONTEXT_TOKENS = 64
REPLY_TOKENS = 28
ROW_TOKENS = 2400
"""Tokens run at once, padding counted."""
LOGITS_AT_ONCE = 512
ALONE_IN_A_ROW = 8
"""Replies without a context that share a row."""
_HIDDEN = -1e9

Ids = list[int]


class Tree(NamedTuple):
    """A context and the replies to it, as token numbers."""

    context: Ids
    replies: list[Ids]

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.context) + sum(map(len, self.replies))


class Grown(NamedTuple):
    """Several trees as the network's input."""

    ids: Tensor
    """(trees, longest)"""
    positions: Tensor
    """(trees, longest)"""
    segments: Tensor
    """0 for the context, then a number a reply; -1 for padding. (trees, longest)"""
    before: Tensor
    """Of each token of each reply, the place of the token before it, counted through all rows."""
    tokens: Tensor
    """Those tokens."""
    owners: list[tuple[int, int]]
    """Their trees and replies."""


@dataclass(frozen=True, eq=False)
class TreeLikelihood:
    """A language model that reads trees."""

    model: CausalModel

    def context_ids(self, context: Sequence[str]) -> Ids:
        """The last turns as a script in which A replies; one that is too long loses its beginning."""
        turns = [turn.strip() for turn in context[-TURNS:]]
        names = ["A" if own else "B" for own in by_replier(len(turns))]
        script = "".join(f"{name}: {turn}\n" for name, turn in zip(names, turns, strict=True)) + "A:"
        first = self.model.tokeniser.bos_token_id
        return [1 if first is None else first, *self._tokens(script)[-CONTEXT_TOKENS:]]

    def reply_ids(self, reply: str) -> Ids:
        """The first tokens of a reply, and the line break that ends it."""
        return self._tokens(" " + reply.strip())[:REPLY_TOKENS] + self._tokens("\n")

    def after(self, contexts: Sequence[Sequence[str]], replies: Sequence[Sequence[str]]) -> list[Floats]:
        """The natural logarithm of each reply's probability after its context. Each (replies,)"""
        trees = [
            Tree(self.context_ids(context), [self.reply_ids(reply) for reply in each])
            for context, each in zip(contexts, replies, strict=True)
        ]
        return self.log_probabilities(trees)

    def alone(self, replies: Sequence[str]) -> dict[str, float]:
        """The same of each reply after no context."""
        ordered = sorted(set(replies), key=len)
        groups = [ordered[start : start + ALONE_IN_A_ROW] for start in range(0, len(ordered), ALONE_IN_A_ROW)]
        found = self.after([()] * len(groups), groups)
        return {
            reply: float(value)
            for group, values in zip(groups, found, strict=True)
            for reply, value in zip(group, values, strict=True)
        }

    @torch.no_grad()
    def log_probabilities(self, trees: Sequence[Tree]) -> list[Floats]:
        """That of each reply of each tree. Each (replies,)"""
        sums = [np.zeros(len(tree.replies)) for tree in trees]
        for rows in _batches(trees):
            grown = _grown([trees[row] for row in rows])
            vectors: Tensor = self.model.network.model(
                input_ids=grown.ids,
                attention_mask=_attention(grown.segments),
                position_ids=grown.positions,
                use_cache=False,
            ).last_hidden_state.flatten(0, 1)
            logs = self._logs(vectors[grown.before], grown.tokens)
            for (place, reply), value in zip(grown.owners, logs.tolist(), strict=True):
                sums[rows[place]][reply] += value
        return sums

    def _logs(self, vectors: Tensor, tokens: Tensor) -> Tensor:
        """The logarithm of each token's probability. (tokens, width), (tokens,) -> (tokens,)"""
        found = []
        for start in range(0, len(tokens), LOGITS_AT_ONCE):
            logits = self.model.network.lm_head(vectors[start : start + LOGITS_AT_ONCE])
            wanted = tokens[start : start + LOGITS_AT_ONCE].unsqueeze(1)
            found.append(logits.gather(1, wanted).squeeze(1) - logits.logsumexp(1))
        return torch.cat(found)

    def _tokens(self, text: str) -> Ids:
        found: Ids = self.model.tokeniser(text, add_special_tokens=False)["input_ids"]
        return found


def _batches(trees: Sequence[Tree]) -> Iterator[list[int]]:
    """Row numbers, largest first, as many at once as there is room for."""
    order = sorted(range(len(trees)), key=lambda row: -trees[row].size)
    while order:
        count = max(1, ROW_TOKENS // trees[order[0]].size)
        yield order[:count]
        order = order[count:]


def _grown(trees: Sequence[Tree]) -> Grown:
    """The trees side by side, filled up to the longest."""
    longest = max(tree.size for tree in trees)
    ids = torch.zeros((len(trees), longest), dtype=torch.long)
    positions, segments = torch.zeros_like(ids), torch.full_like(ids, -1)
    before: Ids = []
    tokens: Ids = []
    owners: list[tuple[int, int]] = []
    for row, tree in enumerate(trees):
        end = len(tree.context)
        ids[row, :end] = torch.tensor(tree.context)
        positions[row, :end], segments[row, :end] = torch.arange(end), 0
        at = end
        for number, reply in enumerate(tree.replies):
            place = slice(at, at + len(reply))
            ids[row, place], positions[row, place] = torch.tensor(reply), torch.arange(end, end + len(reply))
            segments[row, place] = number + 1
            start = row * longest
            before += [start + end - 1, *range(start + at, start + at + len(reply) - 1)]
            tokens += reply
            owners += [(row, number)] * len(reply)
            at += len(reply)
    return Grown(ids, positions, segments, torch.tensor(before), torch.tensor(tokens), owners)


def _attention(segments: Tensor) -> Tensor:
    """0 where a token is seen, very little where it is not. (trees, longest) -> (trees, 1, longest, longest)"""
    longest = segments.shape[1]
    earlier = torch.ones(longest, longest, dtype=torch.bool).tril()
    seen = earlier & ((segments[:, :, None] == segments[:, None, :]) | (segments[:, None, :] == 0))
    seen |= torch.eye(longest, dtype=torch.bool)  # padding sees itself, so that no row is without anything
    return torch.zeros(seen.shape).masked_fill(~seen, _HIDDEN).unsqueeze(1)

"""What a language model says of each word of a reply, laid beside the encoder's tokens.

A reply gives the student one number to learn; its words give a dozen, for the same work of the teacher. Both models cut
words into pieces of their own, so that they meet at the spaces: what a word costs the teacher is shared out evenly
among the encoder's pieces of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import torch
from recipes.default_evaluator.lesson import Group
from recipes.default_evaluator.targets import Taught
from recipes.default_evaluator.tree_likelihood import REPLY_TOKENS
from torch import Tensor
from torch.nn.functional import smooth_l1_loss

from rejoinder.models.branch_encoder import BranchEncoder
from rejoinder.models.branching import Brancher
from rejoinder.models.pairs import writable

MOST = 15.0
"""Nats that a word costs at most: beyond that it is a word that the teacher does not know."""
UNIT = 3.0
"""A typical difference in nats: errors are counted in these."""
GAIN_UNIT = 1.0
"""The same of what a context takes off a word's cost, which is less."""
LEAST = 0.05
"""Less than that is taken for that, where the layer begins."""
RIDGE = 300.0


def word_costs(brancher: Brancher, rows: Sequence[Taught]) -> list[Tensor | None]:
    """What each token of each reply costs after the context and with none, NaN where it is not known; the token that
    begins a text is left out, the one that ends it is there. None where no teacher said. Each (tokens, 2)"""
    judged = [number for number, row in enumerate(rows) if row.words is not None and row.reply.strip()]
    texts = [writable(rows[number].reply) for number in judged]
    found: list[Tensor | None] = [None] * len(rows)
    room = brancher.most_reply - len(brancher.first) - len(brancher.last)
    for number, text, pieces in zip(
        judged, texts, brancher.tokeniser.encode_batch(texts, add_special_tokens=False), strict=True
    ):
        known = _known(rows[number])
        starts = [word.start() for word in re.finditer(r"\S+", text)]
        if len(starts) < len(known) - 1:
            continue  # the encoder's text has other words
        owners = [sum(start <= begin for start in starts) - 1 for begin, _ in pieces.offsets]
        costs = torch.full((len(owners), 2), torch.nan)
        for place, owner in enumerate(owners):
            if owner < len(known) - 1:
                costs[place] = known[owner] / owners.count(owner)
        found[number] = torch.cat([costs[:room], known[-1:]])
    return found


class Places(NamedTuple):
    """Where in a batch the tokens stand whose cost is known, and their cost."""

    rows: Tensor
    """(tokens,)"""
    after: Tensor
    """Where the token stands in the reply after its context. (tokens,)"""
    alone: Tensor
    """Where it stands in the reply by itself. (tokens,)"""
    costs: Tensor
    """(tokens, 2)"""


def known_places(batch: Sequence[Group], costs: Sequence[Tensor | None]) -> Places:
    """The tokens of a batch whose cost is known."""
    rows, after, alone, known = [], [], [], [torch.zeros((0, 2))]
    for row, group in enumerate(batch):
        at = len(group.context.ids)
        for number, reply in zip(group.numbers, group.replies, strict=True):
            cost = costs[number]
            if cost is not None:
                there = [place for place, found in enumerate(cost[:, 0].isfinite().tolist()) if found]
                rows += [row] * len(there)
                after += [at + place for place in there]
                alone += [at + len(cost) + 1 + place for place in there]  # one more token begins it
                known.append(cost[there])
            at += 2 * len(reply) - 1
    numbers = (torch.tensor(each, dtype=torch.long) for each in (rows, after, alone))
    return Places(*numbers, costs=torch.cat(known))


def fit_surprise(network: BranchEncoder, samples: Sequence[tuple[Tensor, Places]]) -> None:
    """Set the layer that foretells costs to the ridge regression on some batches' words: learned step by step beside
    the other losses, it was far from there after 20 minutes."""
    for column in range(2):
        words = torch.cat([words[at.rows, (at.after, at.alone)[column]] for words, at in samples]).double()
        wanted = torch.cat([at.costs[:, column] for _, at in samples]).double()
        # The layer's outcome goes through softplus, whose inverse this is.
        wanted = torch.log(torch.expm1(wanted.clamp(min=LEAST)))
        middle, spread = words.mean(0), words.std(0).clamp(min=1e-6)
        levelled = (words - middle) / spread
        square = levelled.T @ levelled + RIDGE * torch.eye(levelled.shape[1], dtype=torch.float64)
        weights = torch.linalg.solve(square, levelled.T @ (wanted - wanted.mean())) / spread
        with torch.no_grad():
            network.surprise.weight[column] = weights.float()
            network.surprise.bias[column] = (wanted.mean() - weights @ middle).float()


def words_loss(surprises: Tensor, places: Places) -> Tensor:
    """How far what the network foretells of each token is from the teacher, and of what the context takes off.
    surprises (rows, tokens, 2)"""
    if not len(places.rows):
        return torch.zeros(())
    ours = torch.stack([surprises[places.rows, places.after, 0], surprises[places.rows, places.alone, 1]], dim=1)
    theirs = places.costs
    gains = smooth_l1_loss((ours[:, 1] - ours[:, 0]) / GAIN_UNIT, (theirs[:, 1] - theirs[:, 0]) / GAIN_UNIT)
    return smooth_l1_loss(ours / UNIT, theirs / UNIT) + gains


def _known(row: Taught) -> Tensor:
    """The costs of the words, then of the reply's end; unknown where the teacher did not read so far. (words + 1, 2)"""
    costs = -torch.tensor(row.words, dtype=torch.float32).clamp(-MOST, 0)
    if row.tokens is not None and row.tokens > REPLY_TOKENS:
        costs[-2:] = torch.nan  # the last word may be half of one
    return costs

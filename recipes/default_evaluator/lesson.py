"""Contexts with their replies as rows of token numbers, each reply with the score to learn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rejoinder.evaluators.encoder.branch_encoder import BranchEncoder, Reading
from rejoinder.evaluators.encoder.branching import Brancher, Ids, Spoken, by_context, padded_rows
from rejoinder.text.cleaning import writable

STRETCH = 40
"""Batches among which contexts are sorted by length."""


@dataclass(frozen=True)
class Group:
    """A context with replies to it."""

    context: Spoken
    replies: tuple[Ids, ...]
    numbers: tuple[int, ...]
    """Those of the replies in the whole lesson."""
    place: int
    """That of the context."""

    @property
    def size(self) -> int:
        """Tokens of the row, nearly: each reply is read twice."""
        return len(self.context.ids) + 2 * sum(map(len, self.replies))


def grouped(
    brancher: Brancher, contexts: Sequence[Sequence[str]], replies: Sequence[str], most: int = 10
) -> list[Group]:
    """Replies that have one context together, at most so many; a context with more stands in several groups."""
    owners = by_context(contexts)
    spoken = brancher.contexts([[_said(turn) for turn in context or (".",)] for context in owners])
    answers = brancher.replies([_said(reply) for reply in replies])
    groups = []
    for place, (said, numbers) in enumerate(zip(spoken, owners.values(), strict=True)):
        for start in range(0, len(numbers), most):
            part = numbers[start : start + most]
            groups.append(Group(said, tuple(answers[number] for number in part), tuple(part), place))
    return groups


def read_groups(
    network: BranchEncoder, brancher: Brancher, groups: Sequence[Group], pad: int
) -> tuple[Reading, Tensor]:
    """What the network finds in the groups, and which of its cells are replies. The second (groups, replies)"""
    rows = [brancher.row(group.context, group.replies) for group in groups]
    arrays = {name: torch.from_numpy(array) for name, array in padded_rows(rows, pad).items()}
    most = max(len(group.replies) for group in groups)
    there = torch.tensor([[place < len(group.replies) for place in range(most)] for group in groups])
    return network.read(**arrays, replies=torch.arange(most)), there


def plan_batches(groups: Sequence[Group], tokens: int, epochs: int, rng: random.Random) -> list[list[Group]]:
    """Batches of groups of like size, of at most so many tokens, epoch after epoch."""
    batches: list[list[Group]] = []
    for _ in range(epochs):
        order = list(groups)
        rng.shuffle(order)
        mean = sum(group.size for group in order) / len(order)
        stretch = max(1, int(STRETCH * tokens / mean))
        for start in range(0, len(order), stretch):
            cut = _cut(sorted(order[start : start + stretch], key=lambda group: group.size), tokens)
            rng.shuffle(cut)
            batches += cut
    return batches


def _cut(groups: Sequence[Group], tokens: int) -> list[list[Group]]:
    batches: list[list[Group]] = [[]]
    for group in groups:
        if batches[-1] and (len(batches[-1]) + 1) * group.size > tokens:
            batches.append([])
        batches[-1].append(group)
    return batches


def _said(text: str) -> str:
    """The text; a full stop stands for what is missing."""
    return writable(text) if text.strip() else "."

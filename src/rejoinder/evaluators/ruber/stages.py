"""How RUBER's s_U learns: true replies above random ones, and then, where there are any, human scores.

Random replies are those of the other pairs of a batch, which is drawn at random: each text is read once and serves
both as a true reply and as a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rejoinder.arrays import Ints
from rejoinder.evaluators.ruber.network import PairNetwork
from rejoinder.evaluators.ruber.table import PairTable, TextInput
from rejoinder.progress import progress
from rejoinder.stats.correlation import product_moment
from rejoinder.types import Scores

_CLIP = 5.0
"""The longest gradient: GRUs have steep places."""
_DRAW, _SHUFFLE = 21, 22  # streams of random numbers that nothing else of a fit uses


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How long a stage is, and how fast."""

    epochs: int
    """At most."""
    patience: int
    """Epochs without a better figure on what was kept aside, after which it is over."""
    batch: int
    learning_rate: float
    """At the beginning; it falls to nothing in a straight line."""
    weight_decay: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """What a true reply is held against."""

    negatives: int = 8
    """Random replies to each context."""
    margin: float = 0.5
    """By which the true reply should score higher (delta in ruber, equation 3)."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """A table of pairs with what its texts are read from; some rows are learned from, some kept aside."""

    table: PairTable
    texts: TextInput
    learn: Ints
    held_out: Ints

    def read(self, network: PairNetwork, rows: Ints) -> tuple[Tensor, Tensor]:
        """Vectors of contexts and of replies, each text being read once. Both (rows, width)"""
        turns, own, lengths = self.table.padded(rows)
        needed, place = np.unique(np.concatenate([turns.ravel(), self.table.replies[rows]]), return_inverse=True)
        vectors = self.texts.vectors(network, needed)
        of_turns, of_replies = place[: turns.size].reshape(turns.shape), place[turns.size :]
        own_speaker, counts = torch.from_numpy(own), torch.from_numpy(lengths)
        return network.contexts(vectors[torch.from_numpy(of_turns)], own_speaker, counts), vectors[of_replies]


def rank(
    network: PairNetwork, pairs: Pairs, how: Ranking, schedule: Schedule, seed: int, *, quiet: bool = True
) -> float:
    """Learn in place to score true replies above random ones; the share of such pairs that is in order (0.5: chance).

    The share is over what was kept aside; NaN where nothing was.
    """
    rng = np.random.default_rng([seed, _DRAW])

    def loss(rows: Ints) -> Tensor:
        scores, counts = _against_others(network, pairs, rows, how.negatives, rng)
        short = torch.relu(how.margin - scores[:, :1] + scores[:, 1:]) * counts
        return short.sum() / counts.sum().clamp(min=1)

    def figure() -> float:
        right, total = 0.0, 0.0
        fixed = np.random.default_rng([seed, _DRAW, 1])
        for rows in np.array_split(pairs.held_out, -(-len(pairs.held_out) // 256)):
            scores, counts = _against_others(network, pairs, rows, how.negatives, fixed)
            above = (scores[:, :1] > scores[:, 1:]).float() + (scores[:, :1] == scores[:, 1:]).float() / 2
            right, total = right + float((above * counts).sum()), total + float(counts.sum())
        return right / total if total else float("nan")

    return _train(network, pairs, loss, figure, schedule, seed, "ranking", quiet)


def regress(
    network: PairNetwork, pairs: Pairs, human: Scores, schedule: Schedule, seed: int, *, quiet: bool = True
) -> float:
    """Learn in place to give the human scores, which are from 0 to 1; Pearson's correlation with what was kept aside.

    NaN where nothing was kept aside, or people say the same of all of it.
    """
    wanted = torch.from_numpy(human).float()

    def loss(rows: Ints) -> Tensor:
        contexts, replies = pairs.read(network, rows)
        return ((network.scores(contexts, replies[:, None])[:, 0] - wanted[rows]) ** 2).mean()

    def figure() -> float:
        contexts, replies = pairs.read(network, pairs.held_out)
        given = network.scores(contexts, replies[:, None])[:, 0].double().numpy()
        target = human[pairs.held_out]
        if not np.ptp(target):  # people say the same of all: nothing tells one epoch from another
            return float("nan")
        return float(product_moment(given, target)) if np.ptp(given) else -1.0

    return _train(network, pairs, loss, figure, schedule, seed, "human scores", quiet)


def _against_others(
    network: PairNetwork, pairs: Pairs, rows: Ints, negatives: int, rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Scores of the true reply, then of some other rows' replies; and which of those are really another text.

    (rows, 1 + negatives), (rows, negatives)
    """
    contexts, replies = pairs.read(network, rows)
    here = np.arange(len(rows))
    # A shift of 1 and more never meets the row itself.
    shifts = rng.integers(1, max(2, len(rows)), (len(rows), negatives))
    others = (here[:, None] + shifts) % len(rows)
    offered = torch.from_numpy(np.concatenate([here[:, None], others], axis=1))
    texts = pairs.table.replies[rows]
    counts = torch.from_numpy(texts[others] != texts[:, None]).float()
    return network.scores(contexts, replies[offered]), counts


def _train(
    network: PairNetwork,
    pairs: Pairs,
    loss_of: Callable[[Ints], Tensor],
    figure_of: Callable[[], float],
    schedule: Schedule,
    seed: int,
    stage: str,
    quiet: bool,
) -> float:
    """Every epoch; the network ends with the weights of the best one, or of the last where nothing was kept aside."""
    rng = np.random.default_rng([seed, _SHUFFLE])
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay, foreach=False
    )
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda epoch: 1 - epoch / max(1, schedule.epochs))
    best, reached, since = deepcopy(network.state_dict()), _figure(network, pairs, figure_of), 0
    with torch.random.fork_rng():
        torch.manual_seed(seed)  # of dropout
        for _ in progress(range(schedule.epochs), stage, total=schedule.epochs, unit="epochs", quiet=quiet):
            network.train()
            order = rng.permutation(pairs.learn)
            for rows in np.split(order, range(schedule.batch, len(order), schedule.batch)):
                optimiser.zero_grad()
                loss_of(rows).backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
                optimiser.step()
            falling.step()
            now = _figure(network, pairs, figure_of)
            since = since + 1 if now <= reached else 0
            if since == 0:
                best, reached = deepcopy(network.state_dict()), now
            if since >= schedule.patience:
                break
    network.load_state_dict(best)
    network.eval()
    return reached


def _figure(network: PairNetwork, pairs: Pairs, figure_of: Callable[[], float]) -> float:
    """The figure of a stage without dropout; NaN, which nothing is at most, where nothing was kept aside."""
    if not len(pairs.held_out):
        return float("nan")
    network.eval()
    with torch.no_grad():
        return figure_of()

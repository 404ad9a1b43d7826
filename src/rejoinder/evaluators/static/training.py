"""How the static evaluator learns: a language model is counted, word vectors learn which reply answers which turn
(`static_matching.py`), then word vectors and MLP are fitted to scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rejoinder.arrays import Ints
from rejoinder.data.contexts import context_groups, rows_of_contexts
from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.distill_stage import centred
from rejoinder.evaluators.scale import HIGHEST, LOWEST, observed_scale, on_our_scale
from rejoinder.evaluators.static.matching import match_replies
from rejoinder.evaluators.static.network import COSINES, PRODUCTS, TINY, StaticNetwork
from rejoinder.evaluators.static.reading import (
    BEFORE,
    COUNTS,
    LAST,
    OWN,
    RAREST,
    REPLY,
    STRETCHES,
    Reading,
    counted,
    word_numbers,
)
from rejoinder.language_models.ngram import Counts, NgramModel, kneser_ney, prune
from rejoinder.language_models.ngram.model import SPECIAL, Level, with_special
from rejoinder.learning.data import TrainingData, labels
from rejoinder.metrics.batch import BATCH
from rejoinder.progress import progress
from rejoinder.stats.correlation import product_moment
from rejoinder.text.vectors import WordVectors, load_vectors
from rejoinder.types import JudgedExample, Scores

if TYPE_CHECKING:
    from rejoinder.evaluators.static.static import Static

HELD_OUT, MOST_HELD_OUT, FEWEST_TO_HOLD_OUT = 0.1, 500, 50
"""The share of contexts that training is validated on, how many at most, and from how many contexts on."""
ROWS = 512
"""Replies of one step, with all of their contexts' other replies."""
RATE, TABLE_RATE = 2e-3, 5e-4
DROPOUT = 0.1
COMMON = 1e-3
"""A word's weight begins as COMMON / (COMMON + p), p being its share of all words (Arora et al. 2017)."""


def learned_static(evaluator: Static, data: TrainingData) -> tuple[NgramModel, StaticNetwork]:
    """The language model and the network."""
    vectors = load_vectors(evaluator.vectors)
    judged = (*data.judged, *data.valid)
    scale = evaluator.scale or observed_scale(judged, evaluator.dimension)
    learn, valid = _split(data)
    known = language_model(vectors, _spoken(data), evaluator.prune)
    torch.manual_seed(data.seed)
    start = _start_vectors(vectors)
    network = _Network(start, _start_weights(known), evaluator.hidden)
    match_replies(network.matching, network.towers, data.dialogues, known, evaluator.passes, data.seed)
    rows = _Rows.of(learn, evaluator.dimension, scale, known)
    held_out = _Rows.of(valid, evaluator.dimension, scale, known) if valid else None
    network.standardise(rows)
    return known, _trained(network, rows, held_out, evaluator.epochs, data.seed)


def language_model(vectors: WordVectors, texts: Sequence[str], pruning: float) -> NgramModel:
    """Pairs of the words that have a vector, counted in texts; as exact as it is saved."""
    words = with_special(vectors.words)
    bare = NgramModel(words, ())
    counts = Counts.of(words, word_numbers(texts, bare), order=2)
    model = kneser_ney(counts)
    return rounded(prune(model, pruning) if pruning > 0 else model)


def rounded(model: NgramModel) -> NgramModel:
    """The same model in half precision, without infinite numbers."""

    def half(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(values, -2 * RAREST, 0.0).astype(np.float16).astype(np.float64)

    return NgramModel(
        model.words, tuple(Level(level.keys, half(level.log_prob), half(level.back_off)) for level in model.levels)
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Replies to learn from or to validate on."""

    reading: Reading
    counts: NDArray[np.float32]
    wanted: Scores
    contexts: list[list[int]]
    """The rows of each context."""

    @classmethod
    def of(
        cls, judged: Sequence[JudgedExample], dimension: str | None, scale: tuple[float, float], known: NgramModel
    ) -> _Rows:
        examples, human = labels(judged, dimension)
        usable = [row for row, example in enumerate(examples) if example.context and example.response.strip()]
        if not usable:
            raise CallError("no judged example has both a context and a reply: expected at least one")
        chosen = [examples[row] for row in usable]
        parts = [Reading.of(chosen[at : at + BATCH], known) for at in range(0, len(chosen), BATCH)]
        counts = np.concatenate([counted(part, known) for part in parts])
        lengths = np.concatenate([part.lengths.ravel() for part in parts])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        reading = Reading(
            np.concatenate([part.words for part in parts]), offsets, np.concatenate([part.turns for part in parts])
        )
        return cls(reading, counts, on_our_scale(human[usable], scale), rows_of_contexts(chosen))

    def batches(self, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
        """Shuffled contexts until they have enough replies: the rows, and how many each context has."""
        found: list[tuple[Ints, Ints]] = []
        rows, sizes = [], []
        order = rng.permutation(len(self.contexts)).tolist()
        for number, place in enumerate(order, start=1):
            rows += self.contexts[place]
            sizes.append(len(self.contexts[place]))
            if len(rows) >= ROWS or number == len(order):
                found.append((np.array(rows), np.array(sizes)))
                rows, sizes = [], []
        return found


class _Network(nn.Module):
    """What StaticNetwork computes, so that it can be learned."""

    shift: Tensor
    scale: Tensor
    centre: Tensor

    def __init__(self, vectors: NDArray[np.float32], weights: NDArray[np.float32], hidden: int) -> None:
        super().__init__()
        dims = vectors.shape[1]
        self.vectors = nn.Parameter(torch.from_numpy(vectors))
        self.weights = nn.Parameter(torch.from_numpy(weights))
        for table in (self.vectors, self.weights):
            table.register_hook(_none_for_special)  # type: ignore[no-untyped-call]
        self.bridge = nn.Parameter(torch.eye(dims))
        inputs = PRODUCTS * dims + COSINES + len(COUNTS)
        self.hidden, self.out = nn.Linear(inputs, hidden), nn.Linear(hidden, 1)
        for name, size in (("shift", len(COUNTS)), ("scale", len(COUNTS)), ("centre", dims)):
            self.register_buffer(name, torch.zeros(size))

    def standardise(self, rows: _Rows) -> None:
        """Take mean and deviation of the counts, and the mean reply, from the rows to learn from."""
        self.shift = torch.from_numpy(rows.counts.mean(axis=0))
        self.scale = torch.from_numpy(np.maximum(rows.counts.std(axis=0), 0.01).astype(np.float32))
        with torch.no_grad():
            some = rows.reading.take(np.arange(min(len(rows.reading), BATCH)))
            self.centre = nn.functional.normalize(nn.functional.normalize(self._means(some)[0]).mean(0), dim=0)

    def forward(self, reading: Reading, counts: NDArray[np.float32]) -> Tensor:
        """Scores from 1 to 5. (examples,)"""
        reply, last, before = self._means(reading)
        r, to_last, to_before = (_unit(mean) for mean in (reply, last, before))
        m = _unit(r @ self.bridge)
        products = (m * to_last, m * to_before, r * to_last)
        numbers = [product.sum(1) for product in products]
        numbers += [reply.norm(dim=1), r @ self.centre]
        scaled = (torch.from_numpy(counts) - self.shift) / self.scale
        inputs = torch.cat([r, to_last, *products, torch.stack(numbers, 1), scaled], 1)
        units = nn.functional.dropout(torch.relu(self.hidden(inputs)), DROPOUT, self.training)
        return LOWEST + (HIGHEST - LOWEST) * torch.sigmoid(self.out(units)[:, 0])

    @property
    def matching(self) -> list[nn.Parameter]:
        """What is learned from dialogues."""
        return [self.vectors, self.weights, self.bridge]

    def towers(self, reading: Reading) -> tuple[Tensor, Tensor, Tensor]:
        """Replies led to what they answer, last turns, and all before. Each (examples, dims), of length 1"""
        reply, last, before = self._means(reading)
        return _unit(_unit(reply) @ self.bridge), _unit(last), _unit(before)

    def _means(self, reading: Reading) -> tuple[Tensor, Tensor, Tensor]:
        """Of reply, last turn, and all before it. Each (examples, dims)"""
        words, starts = torch.from_numpy(reading.words), torch.from_numpy(reading.offsets[:-1])
        weights = self.weights.exp()
        sums = nn.functional.embedding_bag(
            words, self.vectors, starts, mode="sum", per_sample_weights=weights[words]
        ).reshape(len(reading), STRETCHES, -1)
        total = nn.functional.embedding_bag(words, weights[:, None], starts, mode="sum").reshape(-1, STRETCHES, 1)

        def mean(*parts: int) -> Tensor:
            return sums[:, list(parts)].sum(1) / total[:, list(parts)].sum(1).clamp(min=TINY)

        return mean(REPLY), mean(LAST), mean(BEFORE, OWN)

    def finished(self) -> StaticNetwork:
        """The same in numpy, word vectors rounded."""
        arrays = {name: tensor.detach().numpy().copy() for name, tensor in self.state_dict().items()}
        rest = {name: arrays[name] for name in ("bridge", "centre", "shift", "scale")}
        rest |= {"hidden": arrays["hidden.weight"].T.copy(), "hidden_bias": arrays["hidden.bias"]}
        rest |= {"out": arrays["out.weight"].T.copy(), "out_bias": arrays["out.bias"]}
        return StaticNetwork.of_table(arrays["vectors"], arrays["weights"], rest)


def _none_for_special(gradient: Tensor) -> Tensor:
    """Marks and unknown words stay without a vector."""
    kept = gradient.clone()
    kept[: len(SPECIAL)] = 0
    return kept


def _unit(vectors: Tensor) -> Tensor:
    return nn.functional.normalize(vectors, eps=TINY)


def _trained(network: _Network, rows: _Rows, held_out: _Rows | None, epochs: int, seed: int) -> StaticNetwork:
    """The network after the epoch whose scores correlate best with those wanted, or after the last."""
    rng = np.random.default_rng([seed, 11])
    table = [network.vectors, network.weights]
    others = [parameter for name, parameter in network.named_parameters() if name not in {"vectors", "weights"}]
    optimiser = torch.optim.Adam([{"params": others, "lr": RATE}, {"params": table, "lr": TABLE_RATE}])
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda epoch: 1 - epoch / max(1, epochs))
    best, figure = network.finished(), -np.inf
    for _ in progress(range(epochs), "training", total=epochs, unit="epochs"):
        network.train()
        for chosen, sizes in rows.batches(rng):
            wanted = torch.from_numpy(rows.wanted[chosen]).float()
            off = network(rows.reading.take(chosen), rows.counts[chosen]) - wanted
            loss = (off**2).mean() + (centred(off, torch.from_numpy(sizes)) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        falling.step()
        now = network.finished()
        reached = np.inf if held_out is None else _agreement(now, held_out)
        if reached >= figure:
            best, figure = now, reached
    return best


def _agreement(network: StaticNetwork, rows: _Rows) -> float:
    """Pearson's correlation with the scores that are wanted; -1 where there is none."""
    scores = network.score(rows.reading, rows.counts)
    if np.ptp(scores) == 0 or np.ptp(rows.wanted) == 0:
        return -1.0
    return float(product_moment(scores, rows.wanted))


def _split(data: TrainingData) -> tuple[Sequence[JudgedExample], Sequence[JudgedExample]]:
    """To learn from, and to validate on: the split `valid`, else some contexts, or none where there are few."""
    if data.valid:
        return data.judged, data.valid
    group_of = context_groups([item.example for item in data.judged])
    groups = int(group_of.max(initial=-1)) + 1
    if groups < FEWEST_TO_HOLD_OUT:
        return data.judged, ()
    count = min(MOST_HELD_OUT, round(groups * HELD_OUT))
    held = np.isin(group_of, np.random.default_rng([data.seed, 12]).permutation(groups)[:count])
    return (
        [data.judged[row] for row in np.flatnonzero(~held)],
        [data.judged[row] for row in np.flatnonzero(held)],
    )


def _spoken(data: TrainingData) -> list[str]:
    """What people said: the dialogues' turns, or where there are none each turn of a judged context once."""
    turns = [turn for dialogue in data.dialogues for turn in dialogue.turns]
    return turns or list(dict.fromkeys(turn for item in data.judged for turn in item.example.context))


def _start_vectors(vectors: WordVectors) -> NDArray[np.float32]:
    """The vectors at length 1 on average, before them zeros for the marks and for unknown words."""
    matrix = np.asarray(vectors.matrix, np.float32)
    matrix = matrix / max(float(np.linalg.norm(matrix, axis=1).mean()), TINY)
    return np.concatenate([np.zeros((len(SPECIAL), matrix.shape[1]), np.float32), matrix])


def _start_weights(known: NgramModel) -> NDArray[np.float32]:
    """The logarithm of each word's weight."""
    share = 10.0 ** known.levels[0].log_prob
    weights = np.log(COMMON / (COMMON + share)).astype(np.float32)
    weights[: len(SPECIAL)] = np.log(TINY)
    return weights

"""The network in torch, where it is trained; `StaticNetwork` computes the same in numpy."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.arrays import Vectors
from rejoinder.evaluators.scale import HIGHEST, LOWEST
from rejoinder.evaluators.static.network import COSINES, PRODUCTS, TINY, StaticNetwork
from rejoinder.evaluators.static.reading import BEFORE, COUNTS, LAST, OWN, REPLY, STRETCHES, Reading
from rejoinder.language_models.ngram import NgramModel
from rejoinder.language_models.ngram.model import SPECIAL
from rejoinder.learning.weights import seeded
from rejoinder.metrics.batch import BATCH
from rejoinder.text.vectors import WordVectors

DROPOUT = 0.1
COMMON = 1e-3
"""A word's weight starts as COMMON / (COMMON + p), p being its share of all words (Arora et al. 2017)."""


class TrainableNetwork(nn.Module):
    """Word vectors, word weights, bridge and MLP."""

    shift: Tensor
    scale: Tensor
    centre: Tensor

    def __init__(self, vectors: Vectors, weights: Vectors, hidden: int) -> None:
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

    @classmethod
    def start(cls, vectors: WordVectors, known: NgramModel, hidden: int, seed: int) -> TrainableNetwork:
        """Before training: from word vectors and from the word frequencies of a language model."""
        return seeded(seed, lambda: cls(_start_vectors(vectors), _start_weights(known), hidden))

    def standardise(self, reading: Reading, counts: Vectors) -> None:
        """Take the mean and deviation of the counts, and the mean reply vector, from the training replies."""
        self.shift = torch.from_numpy(counts.mean(axis=0))
        self.scale = torch.from_numpy(np.maximum(counts.std(axis=0), 0.01).astype(np.float32))
        with torch.no_grad():
            some = reading.take(np.arange(min(len(reading), BATCH)))
            self.centre = nn.functional.normalize(nn.functional.normalize(self.means(some)[0]).mean(0), dim=0)

    def forward(self, reading: Reading, counts: Vectors) -> Tensor:
        """Scores from 1 to 5. (examples,)"""
        reply, last, before = self.means(reading)
        r, to_last, to_before = (unit(mean) for mean in (reply, last, before))
        m = unit(r @ self.bridge)
        products = (m * to_last, m * to_before, r * to_last)
        numbers = [product.sum(1) for product in products]
        numbers += [reply.norm(dim=1), r @ self.centre]
        scaled = (torch.from_numpy(counts) - self.shift) / self.scale
        inputs = torch.cat([r, to_last, *products, torch.stack(numbers, 1), scaled], 1)
        units = nn.functional.dropout(torch.relu(self.hidden(inputs)), DROPOUT, self.training)
        return LOWEST + (HIGHEST - LOWEST) * torch.sigmoid(self.out(units)[:, 0])

    def means(self, reading: Reading) -> tuple[Tensor, Tensor, Tensor]:
        """Weighted mean word vectors of the reply, the last turn, and all turns before it. Each (examples, dims)"""
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
        """The same network in numpy, with int8 word vectors."""
        arrays = {name: tensor.detach().numpy().copy() for name, tensor in self.state_dict().items()}
        rest = {name: arrays[name] for name in ("bridge", "centre", "shift", "scale")}
        rest |= {"hidden": arrays["hidden.weight"].T.copy(), "hidden_bias": arrays["hidden.bias"]}
        rest |= {"out": arrays["out.weight"].T.copy(), "out_bias": arrays["out.bias"]}
        return StaticNetwork.of_table(arrays["vectors"], arrays["weights"], rest)


class Towers(nn.Module):
    """The unit vectors by which replies are matched with turns."""

    def __init__(self, network: TrainableNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, reading: Reading) -> tuple[Tensor, Tensor, Tensor]:
        """Replies through the bridge, last turns, and all turns before. Each (examples, dims)"""
        reply, last, before = self.network.means(reading)
        return unit(unit(reply) @ self.network.bridge), unit(last), unit(before)


def unit(vectors: Tensor) -> Tensor:
    """Each row at length 1; a row of zeros stays one."""
    return nn.functional.normalize(vectors, eps=TINY)


def _none_for_special(gradient: Tensor) -> Tensor:
    """No gradient for marks and unknown words, which stay without a vector."""
    kept = gradient.clone()
    kept[: len(SPECIAL)] = 0
    return kept


def _start_vectors(vectors: WordVectors) -> Vectors:
    """The vectors, scaled to a mean length of 1, after zeros for marks and unknown words."""
    matrix = np.asarray(vectors.matrix, np.float32)
    matrix = matrix / max(float(np.linalg.norm(matrix, axis=1).mean()), TINY)
    return np.concatenate([np.zeros((len(SPECIAL), matrix.shape[1]), np.float32), matrix])


def _start_weights(known: NgramModel) -> Vectors:
    """The logarithm of each word's weight."""
    share = 10.0 ** known.levels[0].log_prob
    weights = np.log(COMMON / (COMMON + share)).astype(np.float32)
    weights[: len(SPECIAL)] = np.log(TINY)
    return weights

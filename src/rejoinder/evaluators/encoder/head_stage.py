"""The stage of training in which a network learns all of its heads at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rejoinder.arrays import Floats, Ints
from rejoinder.data.contexts import context_groups
from rejoinder.data.dialogues import ReplyInContext
from rejoinder.evaluators.encoder.heads import OWN_SCORE, HeadData, HeadRow
from rejoinder.evaluators.encoder.networks import BranchEncoder, NetworkOutput
from rejoinder.evaluators.encoder.reading import ContextIds, TokenIds, padded_rows
from rejoinder.evaluators.encoder.stages import AllReplies
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.learning.data import buckets, held_out
from rejoinder.learning.loop import Forward
from rejoinder.text.tokens import writable
from rejoinder.types import Example

# A row of the stage is a context with one or more replies and what one head should give them; the context is computed
# once for all. Batches hold rows of similar length, whatever head they are for: each head's loss is the mean over its
# rows of the batch, and counts by their number.
#
# In each epoch, a file has its share of the rows. They are drawn by going through a random order of the file again and
# again, epoch after epoch, so that each row is drawn about as often as every other one.


HELD_OUT = 0.05
"""The share of each file's contexts that training is validated on."""
MOST_HELD_OUT = 100
"""Contexts of a file that are validated on at most."""
FEWEST_TO_HOLD_OUT = 40
"""A file of fewer contexts is learned whole."""
PARTS_LEARNED = 2
"""Parts of a long reply that are learned from, where the network reads replies in parts."""


@dataclass(frozen=True, eq=False)
class HeadsStage:
    """Rows of several files, each for a head and with its loss."""

    name: ClassVar[str] = "heads"
    figure: ClassVar[str] = "pairs in order"

    model: TorchModel
    tasks: Sequence[HeadData]
    seed: int
    new_rate: float = 10.0
    """The learning rate of the heads' own layers, a multiple of that of the rest."""

    @cached_property
    def network(self) -> nn.Module:
        """The whole network, with all its outputs."""
        return AllReplies(self._branches)

    @property
    def _branches(self) -> BranchEncoder:
        network = self.model.network
        if not isinstance(network, BranchEncoder) or network.heads is None:
            raise ValueError("expected a network with towers and heads")
        return network

    def groups(self) -> list[tuple[list[nn.Parameter], float]]:
        """The encoder and what was there before, and the layers of the heads."""
        new = [weight for name, weight in self._branches.named_parameters() if name.startswith("heads.")]
        inside = {id(weight) for weight in new}
        rest = [weight for weight in self._branches.parameters() if id(weight) not in inside]
        return [(rest, 1.0), (new, self.new_rate)]

    def __len__(self) -> int:
        return sum(map(len, self._learned))

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """Rows of similar length together; each file has its share of them."""
        drawn = np.concatenate([self._drawn(task, epoch) for task in range(len(self.tasks))])
        rng = np.random.default_rng([self.seed, 21, epoch])
        lengths = [self._lengths[row] for row in drawn.tolist()]
        return [[int(drawn[place]) for place in places] for places in buckets(lengths, size, rng)]

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:  # noqa: ARG002 - nothing is drawn
        """The mean over the rows of each row's loss."""
        given = [self._rows[row] for row in rows]
        total = torch.zeros(())
        for place, logits in enumerate(self._logits(forward, rows)):
            task, row = given[place]
            wanted = torch.tensor(row.wanted, dtype=logits.dtype, device=logits.device)
            total = total.to(logits.device) + row_loss(self.tasks[task].head.loss, logits, wanted)
        return total / len(rows)

    def validate(self) -> float | None:
        """The mean over the files of how often, of two held-out replies, the better one is above the other."""
        found = self._agreements()
        return float(np.mean([*found.values()])) if found else None

    def report(self) -> str:
        """The same for each file."""
        found = self._last.get("agreements", {})
        shown = (f"{head} ({loss}) {value:.3f}" for (head, loss, _), value in found.items())
        return ", ".join(shown)

    @cached_property
    def _last(self) -> dict[str, Any]:
        return {}

    def _agreements(self) -> dict[tuple[str, str, str], float]:
        found = {}
        training = self._branches.training
        self._branches.eval()
        with torch.inference_mode():
            for task, rows in zip(self.tasks, self._validated, strict=True):
                if rows:
                    scores = self._scores(rows)
                    found[task.head.name, task.head.loss, task.head.data] = pairs_in_order(
                        [self._rows[row][1].wanted for row in rows],
                        scores,
                        across=task.head.loss in ("votes", "binary"),
                    )
        self._branches.train(training)
        self._last["agreements"] = found
        return found

    def _scores(self, rows: Sequence[int]) -> list[Floats]:
        """The logits of these rows' replies."""
        order = sorted(rows, key=lambda row: self._lengths[row])
        found: dict[int, Floats] = {}
        for start in range(0, len(order), 16):
            part = order[start : start + 16]
            for row, logits in zip(part, self._logits(self.network, part), strict=True):
                found[row] = logits.float().cpu().numpy().astype(np.float64)
        return [found[row] for row in rows]

    def _logits(self, forward: Forward | nn.Module, rows: Sequence[int]) -> Iterator[Tensor]:
        """For each row what its head gives its replies, the mean over parts for those read in parts. (replies,)"""
        brancher, pad = self.model.tokeniser.brancher, self.model.settings.pad
        made, owners = [], []
        for row in rows:
            context, replies = self._texts[row]
            made.append(brancher.row(context, [part for parts in replies for part in parts]))
            owners.append([number for number, parts in enumerate(replies) for _ in parts])
        arrays = self.model.on_device(padded_rows(made, pad))
        most = torch.arange(max(map(len, owners)), device=arrays["input_ids"].device)
        reading = NetworkOutput(*forward(**arrays, replies=most))
        names = self.model.settings.heads
        for place, (row, owner) in enumerate(zip(rows, owners, strict=True)):
            task, given = self._rows[row]
            name = self.tasks[task].head.name
            logits = reading.logits if name == OWN_SCORE else reading.heads[..., names.index(name)]
            mine = logits[place, : len(owner)].float()
            if len(owner) > len(given.replies):
                number = torch.tensor(owner, device=mine.device)
                total = torch.zeros(len(given.replies), device=mine.device).index_add(0, number, mine)
                mine = total / torch.bincount(number)
            yield mine

    @cached_property
    def _rows(self) -> list[tuple[int, HeadRow]]:
        """Every row of every file, with the number of the file."""
        return [(task, row) for task, each in enumerate(self.tasks) for row in each.rows]

    @cached_property
    def _splits(self) -> list[tuple[list[int], list[int]]]:
        """For each file the rows to learn from, and those to validate on, which have other contexts."""
        found, start = [], 0
        for number, each in enumerate(self.tasks):
            contexts = context_groups([Example("", row.context, "") for row in each.rows])
            seed = [self.seed, 22, number]
            aside = held_out(contexts, HELD_OUT, seed, fewest=FEWEST_TO_HOLD_OUT, most=MOST_HELD_OUT)
            rows = start + np.arange(len(each.rows))
            found.append((rows[~aside].tolist(), rows[aside].tolist()))
            start += len(each.rows)
        return found

    @property
    def _learned(self) -> list[list[int]]:
        return [learned for learned, _ in self._splits]

    @property
    def _validated(self) -> list[list[int]]:
        return [aside for _, aside in self._splits]

    def _drawn(self, task: int, epoch: int) -> Ints:
        """The rows of a file in an epoch."""
        rows, counts = np.array(self._learned[task]), self._counts
        start = epoch * counts[task]
        orders = range(start // len(rows), (start + counts[task]) // len(rows) + 1)
        shuffled = [
            rows[np.random.default_rng([self.seed, 23, task, order]).permutation(len(rows))] for order in orders
        ]
        first = start - orders[0] * len(rows)
        drawn: Ints = np.concatenate(shuffled)[first : first + counts[task]]
        return drawn

    @cached_property
    def _counts(self) -> list[int]:
        """Rows of each file in an epoch; together they are as many as there are rows to learn from."""
        shares = np.cumsum([each.head.share for each in self.tasks])
        bounds = np.rint(len(self) * shares / shares[-1]).astype(int)
        return [int(count) for count in np.diff([0, *bounds])]

    @cached_property
    def _texts(self) -> list[tuple[ContextIds, list[list[TokenIds]]]]:
        """The token ids of each row: its context, and of each reply one or more parts."""
        tokeniser, brancher = self.model.tokeniser, self.model.tokeniser.brancher
        contexts = brancher.contexts([[writable(turn) for turn in row.context] for _, row in self._rows])
        pairs = [ReplyInContext(row.context, (), reply) for _, row in self._rows for reply in row.replies]
        parts = [each[:PARTS_LEARNED] for each in tokeniser.parts(pairs)]
        ids = iter(brancher.replies([writable(text) for each in parts for text in each]))
        replies = iter([[next(ids) for _ in each] for each in parts])
        return [
            (context, [next(replies) for _ in row.replies])
            for context, (_, row) in zip(contexts, self._rows, strict=True)
        ]

    @cached_property
    def _lengths(self) -> list[int]:
        """The tokens of each row."""
        return [
            len(context.ids) + 2 * sum(len(part) for parts in replies for part in parts)
            for context, replies in self._texts
        ]


def row_loss(loss: str, logits: Tensor, wanted: Tensor) -> Tensor:
    """The loss of one row. (replies,), (replies,) -> ()"""
    if loss == "pairs":
        return nn.functional.binary_cross_entropy_with_logits(logits[0] - logits[1], wanted[0])
    if loss == "ranking":
        better = wanted[:, None] > wanted[None, :]  # (replies, replies)
        return nn.functional.softplus(logits[None, :] - logits[:, None])[better].mean()
    return nn.functional.binary_cross_entropy_with_logits(logits, wanted)


def pairs_in_order(wanted: Sequence[Sequence[float]], scores: Sequence[NDArray[np.float64]], *, across: bool) -> float:
    """How often the reply of two that should have the higher score has it; a tie counts half.

    Replies of one row are compared with each other, or those of all rows if `across`.
    """
    if across:
        wanted, scores = [[value for each in wanted for value in each]], [np.concatenate(scores)]
    right, count = 0.0, 0
    for values, found in zip(wanted, scores, strict=True):
        better = np.subtract.outer(np.array(values), np.array(values)) > 0
        signs = np.sign(np.subtract.outer(found, found))
        right += float(((signs + 1) / 2)[better].sum())
        count += int(better.sum())
    return right / count if count else 0.5

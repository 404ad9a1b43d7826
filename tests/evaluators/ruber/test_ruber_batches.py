"""RUBER's network and its ranking stage over small batches, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rejoinder.data.dialogues import ReplyInContext
from rejoinder.evaluators.ruber.network import PairInput, PairTable, UtteranceGru, VectorInput
from rejoinder.evaluators.ruber.training import RuberRankingStage


class Fixed(torch.nn.Module):
    """Gives the true and the random replies of two pairs the same scores in every batch."""

    def __init__(self, true: list[float], random: list[float]) -> None:
        super().__init__()
        self.scores = torch.tensor([true, random])

    def forward(self, candidates: torch.Tensor, **_: Any) -> torch.Tensor:
        """(2, candidates)"""
        return torch.cat([self.scores[:1].T, self.scores[1:].T.expand(-1, candidates.shape[1] - 1)], dim=1)


def ranking(network: Any, negatives: int) -> RuberRankingStage:
    """Two pairs, to learn from and to validate on."""
    table = PairTable.of([ReplyInContext(("a",), (), "b"), ReplyInContext(("c",), (), "d")], 1, hierarchical=False)
    pairs = PairInput(table, VectorInput(np.eye(4, dtype=np.float32)))
    return RuberRankingStage(network, pairs, np.arange(2), np.arange(2), 0, negatives=negatives, margin=0.5)


def test_the_vector_of_a_text_does_not_depend_on_its_batch() -> None:
    torch.manual_seed(0)
    gru = UtteranceGru(words=9, dims=3, hidden=4, layers=2)
    words, lengths = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0], [5, 0, 0, 0]]), torch.tensor([4, 2, 1])
    alone = [gru(row[None, :length], length[None])[0] for row, length in zip(words, lengths, strict=True)]
    torch.testing.assert_close(gru(words, lengths), torch.stack(alone))


def test_each_of_two_pairs_is_the_negative_of_the_other() -> None:
    stage = ranking(Fixed(true=[0.9, 0.4], random=[0.3, 0.3]), negatives=5)
    torch.manual_seed(0)
    # max(0, .5 - .9 + .3) = 0 and max(0, .5 - .4 + .3) = .4, each five times
    assert stage.loss(stage.network, [0, 1], 0).item() == pytest.approx(0.2)


@pytest.mark.parametrize("negatives", [1, 2])
def test_a_tie_counts_half_in_validation(negatives: int) -> None:
    assert ranking(Fixed([0.5, 0.5], [0.5, 0.4]), negatives).validate() == 0.75
    assert ranking(Fixed([0.5, 0.5], [0.5, 0.6]), negatives).validate() == 0.25

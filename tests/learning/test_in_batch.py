"""In-batch ranking, by hand; its loss is tested with the encoder that is trained by it."""

from __future__ import annotations

import torch

from rejoinder.learning.torch_parts import recall_in_batches


def test_recall_counts_rows_whose_own_column_is_highest() -> None:
    seen: list[int] = []
    network = torch.nn.Dropout(0.5).train()

    def scores(rows: list[int]) -> torch.Tensor:
        """Odd rows find their own reply."""
        assert not network.training
        seen.extend(rows)
        own = torch.tensor([1.0 if row % 2 else -1.0 for row in rows])
        return torch.diag(own)

    assert recall_in_batches(network, 10, 4, scores) == 0.5
    assert sorted(seen) == list(range(10)) != seen
    assert network.training
    first = seen.copy()
    recall_in_batches(network, 10, 4, scores)
    assert seen[10:] == first, "the same batches each time"

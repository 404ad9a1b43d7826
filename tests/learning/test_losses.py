"""The loss of scores within and between contexts, by hand."""

from __future__ import annotations

import pytest
import torch

from rejoinder.learning.torch_parts import centred, squared_error_with_contexts


def test_both_squared_errors_are_added() -> None:
    off, sizes = torch.tensor([1.0, 3.0, -2.0]), torch.tensor([2, 1])  # two replies to one context, one to another
    assert centred(off, sizes).tolist() == [-1, 1, 0]
    # (1 + 9 + 4) / 3, and (1 + 1 + 0) / 3
    assert squared_error_with_contexts(off, sizes).item() == pytest.approx(14 / 3 + 2 / 3)

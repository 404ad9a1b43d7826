"""Losses that several models are trained with."""

from __future__ import annotations

import torch
from torch import Tensor


def squared_error_with_contexts(off: Tensor, sizes: Tensor) -> Tensor:
    """The mean squared error, plus that of the errors minus their mean within each context.

    The first part makes replies to different contexts comparable, the second tells replies to one context apart. `off`
    are the errors, context after context; `sizes` is the number of replies of each context. (replies,), (contexts,) ->
    ()
    """
    return (off**2).mean() + (centred(off, sizes) ** 2).mean()


def centred(values: Tensor, sizes: Tensor) -> Tensor:
    """Values minus the mean of their group; values are ordered by group, `sizes` are the groups' sizes. (values,)"""
    group = torch.repeat_interleave(torch.arange(len(sizes), device=values.device), sizes)
    totals = torch.zeros(len(sizes), dtype=values.dtype, device=values.device).index_add(0, group, values)
    return values - (totals / sizes)[group]

"""The probability of replies by a causal language model, given the text before them (their prefix).

A prefix is read once for all its replies, which share its keys and values. A batch holds only prefixes of equal length,
so that no padding has to be masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rejoinder.data.pairs import Pair, by_replier
from rejoinder.language_models.causal import CausalModel
from rejoinder.text.cleaning import writable

Ids = tuple[int, ...]

_PREFIX_TOKENS = 2048
"""Tokens of different prefixes per batch."""
_REPLY_TOKENS = 1024
"""Tokens of replies per batch: for each the network computes one number per token of its vocabulary."""


def prefix_text(pair: Pair, turns: int) -> str:
    """The last turns of a context as a script in which A replies: "B: Hello.\\nA: Hi.\\nB: How are you?\\nA:"."""
    mine = by_replier(len(pair.context), pair.speakers)[-turns:]
    lines = [f"{'A' if own else 'B'}: {_one_line(turn)}" for own, turn in zip(mine, pair.context[-turns:], strict=True)]
    return "\n".join([*lines, "A:"])


def prefix_ids(model: CausalModel, texts: Sequence[str], most: int) -> list[Ids]:
    """The last tokens of each text, at most `most`."""
    return [tuple(ids[-most:]) for ids in _tokens(model, texts)]


def reply_ids(model: CausalModel, replies: Sequence[str], most: int) -> list[Ids]:
    """The first tokens of each reply, at most `most`, and those of the line break that ends it."""
    [end] = _tokens(model, ["\n"])
    return [(*ids[:most], *end) for ids in _tokens(model, [f" {_one_line(reply)}" for reply in replies])]


def log_likelihoods(model: CausalModel, prefixes: Sequence[Ids], replies: Sequence[Ids]) -> NDArray[np.float64]:
    """The natural logarithm of each reply's probability after its prefix. (replies,)"""
    found = np.zeros(len(replies))
    for rows in _batches(prefixes, replies):
        found[rows] = _sums(model, [prefixes[row] for row in rows], [replies[row] for row in rows])
    return found


def _batches(prefixes: Sequence[Ids], replies: Sequence[Ids]) -> Iterator[list[int]]:
    """Row numbers in batches within the limits, ordered by length of prefix, prefix and length of reply."""
    order = sorted(
        range(len(prefixes)), key=lambda row: (len(prefixes[row]), prefixes[row], len(replies[row]), replies[row])
    )
    batch: list[int] = []
    for row in order:
        if batch:
            same_length = len(prefixes[row]) == len(prefixes[batch[0]])
            different = len({prefixes[each] for each in batch} | {prefixes[row]})
            longest = max(len(replies[each]) for each in (*batch, row))
            room = longest * (len(batch) + 1) <= _REPLY_TOKENS and different * len(prefixes[row]) <= _PREFIX_TOKENS
            if not (same_length and room):
                yield batch
                batch = []
        batch.append(row)
    if batch:
        yield batch


@torch.no_grad()
def _sums(model: CausalModel, prefixes: Sequence[Ids], replies: Sequence[Ids]) -> NDArray[np.float64]:
    """The log-probabilities of one batch, whose prefixes have equal length."""
    numbers: dict[Ids, int] = {}
    place = torch.tensor([numbers.setdefault(prefix, len(numbers)) for prefix in prefixes])
    read = model.network(input_ids=torch.tensor(list(numbers)), use_cache=True)
    first: Tensor = read.logits[:, -1:][place]  # (replies, 1, vocabulary)
    longest = max(map(len, replies))
    ids, mask = torch.zeros((len(replies), longest), dtype=torch.long), torch.zeros((len(replies), longest))
    for row, reply in enumerate(replies):
        ids[row, : len(reply)], mask[row, : len(reply)] = torch.tensor(reply), 1
    logits = first
    if longest > 1:
        cache = read.past_key_values
        cache.batch_select_indices(place)
        rest = model.network(input_ids=ids[:, :-1], past_key_values=cache, use_cache=True).logits
        logits = torch.cat([first, rest], dim=1)  # (replies, longest, vocabulary)
    logs = logits.gather(2, ids.unsqueeze(2)).squeeze(2).float() - logits.float().logsumexp(2)
    sums: NDArray[np.float64] = (logs * mask).double().sum(1).numpy()
    return sums


def _tokens(model: CausalModel, texts: Sequence[str]) -> list[list[int]]:
    # No special tokens: they would come between context and reply.
    found: list[list[int]] = model.tokeniser(list(texts), add_special_tokens=False)["input_ids"] if texts else []
    return found


def _one_line(text: str) -> str:
    return " ".join(writable(text).split())

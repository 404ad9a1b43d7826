"""The probability of replies by a causal language model, given the text before them (their prefix).

Prefixes and their replies are packed into one row, in which each reply sees its own prefix and itself. So a prefix is
read once for all its replies, nothing is padded, and only tokens of replies are compared with the whole vocabulary. A
network that does not honour such a mask (one without attention, for example) gets one padded row per reply instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import signature

import numpy as np
import torch
from numpy.typing import NDArray

from rejoinder.data.pairs import Pair, by_replier
from rejoinder.language_models.causal import CausalModel
from rejoinder.progress import reported
from rejoinder.text.cleaning import writable

Ids = tuple[int, ...]

_PACKED_TOKENS = 384
"""Tokens per row: attention grows with the square of it, and short rows use a processor badly."""
_PADDED_REPLIES = 32
"""Rows per batch of a network that cannot read packed rows."""


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
    pairs = list(zip(prefixes, replies, strict=True))
    different = sorted(set(pairs), key=lambda pair: (len(pair[0]), pair[0], len(pair[1]), pair[1]))
    known: dict[tuple[Ids, Ids], float] = {}
    if _reads_packed_rows(model):
        packs = list(_packs(different))
        for pack in reported(packs, len(packs)):
            known |= zip(pack, _packed_sums(model, pack), strict=True)
    else:
        starts = range(0, len(different), _PADDED_REPLIES)
        for start in reported(starts, len(starts)):
            rows = different[start : start + _PADDED_REPLIES]
            known |= zip(rows, _padded_sums(model, rows), strict=True)
    return np.array([known[pair] for pair in pairs])


def _packs(pairs: Sequence[tuple[Ids, Ids]]) -> Iterator[list[tuple[Ids, Ids]]]:
    """The pairs, of which those with the same prefix are neighbours, in rows of at most so many tokens."""
    pack: list[tuple[Ids, Ids]] = []
    size = 0
    for prefix, reply in pairs:
        added = len(reply) + (0 if pack and pack[-1][0] == prefix else len(prefix))
        if pack and size + added > _PACKED_TOKENS:
            yield pack
            pack, size, added = [], 0, len(prefix) + len(reply)
        pack.append((prefix, reply))
        size += added
    if pack:
        yield pack


@torch.no_grad()
def _packed_sums(model: CausalModel, pack: Sequence[tuple[Ids, Ids]]) -> list[float]:
    """The log-probability of each reply, all in one row."""
    ids, position, prefix_of, reply_of = list[int](), list[int](), list[int](), list[int]()  # one number per token
    where, wanted, owner = (
        list[int](),
        list[int](),
        list[int](),
    )  # per reply token: where predicted, what, whose
    for number, (prefix, reply) in enumerate(pack):
        if number == 0 or pack[number - 1][0] != prefix:
            first = number
            ids += prefix
            position += range(len(prefix))
            prefix_of += [first] * len(prefix)
            reply_of += [-1] * len(prefix)
            last = len(ids) - 1
        where += [last, *range(len(ids), len(ids) + len(reply) - 1)]
        wanted += reply
        owner += [number] * len(reply)
        ids += reply[:-1]
        position += range(len(prefix), len(prefix) + len(reply) - 1)
        prefix_of += [first] * (len(reply) - 1)
        reply_of += [number] * (len(reply) - 1)
    places, groups, parts = torch.tensor(position), torch.tensor(prefix_of), torch.tensor(reply_of)
    seen = (groups[:, None] == groups) & ((parts == -1) | (parts[:, None] == parts)) & (places[:, None] >= places)
    mask = torch.where(seen, 0.0, torch.finfo(torch.float32).min)  # (tokens, tokens)
    predicting, back = torch.unique(torch.tensor(where), return_inverse=True)
    logits = model.network(
        input_ids=torch.tensor([ids]),
        attention_mask=mask[None, None],
        position_ids=places[None],
        logits_to_keep=predicting,
        use_cache=False,
    ).logits[0]  # (predicting tokens, vocabulary)
    logs = logits[back, torch.tensor(wanted)].double() - logits.logsumexp(1).double()[back]
    sums = torch.zeros(len(pack), dtype=torch.double).index_add_(0, torch.tensor(owner), logs)
    return list(sums.tolist())


@torch.no_grad()
def _padded_sums(model: CausalModel, pairs: Sequence[tuple[Ids, Ids]]) -> list[float]:
    """The log-probability of each reply, each in a row with its prefix; what follows its last token is ignored."""
    longest = max(len(prefix) + len(reply) for prefix, reply in pairs)
    ids, counts = torch.zeros((len(pairs), longest), dtype=torch.long), torch.zeros((len(pairs), longest - 1))
    for row, (prefix, reply) in enumerate(pairs):
        ids[row, : len(prefix) + len(reply)] = torch.tensor([*prefix, *reply])
        counts[row, len(prefix) - 1 : len(prefix) + len(reply) - 1] = 1
    logits = model.network(input_ids=ids).logits[:, :-1].float()  # (replies, longest - 1, vocabulary)
    logs = logits.gather(2, ids[:, 1:, None]).squeeze(2) - logits.logsumexp(2)
    return list((logs * counts).double().sum(1).tolist())


def _reads_packed_rows(model: CausalModel) -> bool:
    """Whether a small packed row gives what one row per reply gives."""
    known: bool | None = getattr(model.network, "_reads_packed_rows", None)
    if known is None:
        takes = {"attention_mask", "position_ids", "logits_to_keep"}
        known = takes <= signature(model.network.forward).parameters.keys()
        if known:
            pairs = [((1, 2, 3), (4, 5)), ((1, 2, 3), (6, 0, 5)), ((2, 3), (4, 5))]
            known = np.allclose(_packed_sums(model, pairs), _padded_sums(model, pairs), rtol=1e-3, atol=1e-3)
        model.network._reads_packed_rows = known
    return known


def _tokens(model: CausalModel, texts: Sequence[str]) -> list[list[int]]:
    # No special tokens: they would come between context and reply.
    found: list[list[int]] = model.tokeniser(list(texts), add_special_tokens=False)["input_ids"] if texts else []
    return found


def _one_line(text: str) -> str:
    return " ".join(writable(text).split())

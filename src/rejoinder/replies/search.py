"""From the probabilities of the next token to whole replies: greedy, beam search and sampling, for many contexts.

A model has to implement `Stepper`: the probabilities of the next token, and a state that can be reordered. Random
numbers are drawn from each context's own seed, one per token, so that a reply depends neither on the other contexts
nor on their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rejoinder.replies.base import Decoding

S = TypeVar("S")
"""A model's state after the tokens so far: hidden states, or keys and values."""

_NEVER = -torch.inf


class Stepper(Protocol[S]):
    """A model that writes several replies (rows) at once, token by token."""

    @property
    def end(self) -> int:
        """The token that ends a reply."""

    def step(self, state: S, last: Tensor) -> tuple[Tensor, S]:
        """Log-probabilities of the next token (rows, vocabulary) after the last one (rows,), and the new state.

        Tokens that cannot be part of a reply, such as padding, have -inf.
        """

    def reorder(self, state: S, rows: Tensor) -> S:
        """The state of these rows, in this order; rows may be left out or repeated."""


def search(stepper: Stepper[S], state: S, first: Tensor, decoding: Decoding, seeds: Sequence[int]) -> list[list[int]]:
    """The tokens of one reply per row, without the end token: at least one, at most `decoding.max_tokens`.

    `first` (rows,) is the first token to be read: the start token of a decoder, or the last token of a script. `state`
    is the state before it. `seeds` has one number per row.
    """
    with torch.inference_mode():
        if decoding.method == "beam":
            return _beam(stepper, state, first, decoding)
        return _single(stepper, state, first, decoding, seeds)


def _single(stepper: Stepper[S], state: S, first: Tensor, decoding: Decoding, seeds: Sequence[int]) -> list[list[int]]:
    """Greedy decoding or sampling: one reply per row. Rows that have ended are removed from the batch."""
    draws = np.stack([np.random.default_rng(seed).random(decoding.max_tokens) for seed in seeds])
    replies: list[list[int]] = [[] for _ in seeds]
    live, last = list(range(len(seeds))), first
    for place in range(decoding.max_tokens):
        logs, state = stepper.step(state, last)
        logs = _allowed(logs, [replies[row] for row in live], stepper.end, decoding.block_ngrams)
        chosen = _draw(logs, decoding, draws[live, place]) if decoding.samples else logs.argmax(1)
        going = [number for number, token in enumerate(chosen.tolist()) if token != stepper.end]
        if not going:
            break
        if len(going) < len(live):
            rows = torch.tensor(going, device=chosen.device)
            live, chosen, state = [live[number] for number in going], chosen[rows], stepper.reorder(state, rows)
        for row, token in zip(live, chosen.tolist(), strict=True):
            replies[row].append(token)
        last = chosen
    return replies


def _draw(logs: Tensor, decoding: Decoding, draws: NDArray[np.float64]) -> Tensor:
    """One token per row, chosen by the number in [0, 1) that was drawn for it. (rows,)"""
    sharpened = (logs.double() / decoding.temperature).softmax(1)
    shares, order = sharpened.sort(dim=1, descending=True, stable=True)  # (rows, vocabulary)
    if decoding.method == "top-k":
        shares = shares[:, : decoding.k]
    if decoding.method == "nucleus" and decoding.p < 1:
        before = shares.cumsum(1) - shares
        shares = shares.masked_fill(before >= decoding.p, 0.0)  # the most likely token is always kept
    sums = shares.cumsum(1)
    wanted = torch.from_numpy(draws).to(sums.device)[:, None] * sums[:, -1:]
    places = torch.searchsorted(sums, wanted, right=True).clamp(max=shares.shape[1] - 1)
    return order.gather(1, places).squeeze(1)


class _Candidate(NamedTuple):
    """A hypothesis with one more token, which may be the end token."""

    log_prob: float
    row: int
    token: int


@dataclass(frozen=True)
class _Hypothesis:
    """An unfinished reply to one context."""

    context: int
    tokens: tuple[int, ...] = ()
    log_prob: float = 0.0

    def score(self, penalty: float, *, ended: bool) -> float:
        """log p / n ** penalty; the end token counts."""
        return self.log_prob / float((len(self.tokens) + ended) ** penalty)


def _beam(stepper: Stepper[S], state: S, first: Tensor, decoding: Decoding) -> list[list[int]]:
    """The best reply per context that beam search finds; each finished reply narrows the beam by one.

    A beam of 1 is therefore greedy decoding, and a beam as wide as the number of possible replies finds the best of
    all. A reply cut off at `max_tokens` counts as finished.
    """
    best: dict[int, tuple[float, tuple[int, ...]]] = {}
    live = [_Hypothesis(context) for context in range(len(first))]
    room = dict.fromkeys(range(len(first)), decoding.beam)
    last = first

    def finish(hypothesis: _Hypothesis, *, ended: bool) -> None:
        found = hypothesis.score(decoding.length_penalty, ended=ended), hypothesis.tokens
        if hypothesis.context not in best or found[0] > best[hypothesis.context][0]:
            best[hypothesis.context] = found

    for _ in range(decoding.max_tokens):
        logs, state = stepper.step(state, last)
        logs = _allowed(logs, [one.tokens for one in live], stepper.end, decoding.block_ngrams)
        grown: list[tuple[int, _Hypothesis]] = []  # each with the row that it extends
        for context, candidates in _best_candidates(logs, live, room).items():
            for log_prob, row, token in candidates:
                if token == stepper.end:
                    finish(_Hypothesis(context, live[row].tokens, log_prob), ended=True)
                    room[context] -= 1
                else:
                    grown.append((row, _Hypothesis(context, (*live[row].tokens, token), log_prob)))
        if not grown:
            break
        live = [hypothesis for _, hypothesis in grown]
        state = stepper.reorder(state, torch.tensor([row for row, _ in grown], device=first.device))
        last = torch.tensor([one.tokens[-1] for one in live], device=first.device)
    else:
        for one in live:
            finish(one, ended=False)
    return [list(best[context][1]) for context in range(len(first))]


def _best_candidates(logs: Tensor, live: Sequence[_Hypothesis], room: dict[int, int]) -> dict[int, list[_Candidate]]:
    """Context -> its most likely candidates, as many as there is room for in its beam."""
    so_far = torch.tensor([one.log_prob for one in live], dtype=torch.float64, device=logs.device)
    sums, tokens = (logs.double() + so_far[:, None]).topk(min(max(room.values()), logs.shape[1]), dim=1)
    found: dict[int, list[_Candidate]] = {}
    for row, (values, ids) in enumerate(zip(sums.tolist(), tokens.tolist(), strict=True)):
        possible = [_Candidate(value, row, token) for value, token in zip(values, ids, strict=True) if value > _NEVER]
        found.setdefault(live[row].context, []).extend(possible)
    return {
        context: sorted(candidates, key=lambda one: (-one.log_prob, one.row, one.token))[: room[context]]
        for context, candidates in found.items()
    }


def _allowed(logs: Tensor, replies: Sequence[Sequence[int]], end: int, block_ngrams: int) -> Tensor:
    """The log-probabilities with -inf for an end token in an empty reply and for tokens that would repeat an n-gram.

    If no token is left for a row, its reply ends.
    """
    logs = logs.clone()
    for row, tokens in enumerate(replies):
        if not tokens:
            logs[row, end] = _NEVER
        elif block_ngrams:
            logs[row, list(_repeating(tokens, block_ngrams) - {end})] = _NEVER
    stuck = torch.isneginf(logs).all(1)
    if stuck.any():
        logs[stuck, end] = 0.0
    return logs


def _repeating(tokens: Sequence[int], size: int) -> set[int]:
    """Tokens that would repeat an n-gram of this size: they followed the last `size` - 1 tokens before."""
    tail = tuple(tokens[len(tokens) - size + 1 :]) if size > 1 else ()
    if len(tail) < size - 1:
        return set()
    return {tokens[at + size - 1] for at in range(len(tokens) - size + 1) if tuple(tokens[at : at + size - 1]) == tail}

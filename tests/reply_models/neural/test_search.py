"""Decoding over a tiny model whose probabilities are a table: what each method finds can be enumerated."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from rejoinder.replies.base import Decoding
from rejoinder.replies.search import search

END, WORDS = 0, 4
SEEDS = [11, 12, 13, 14, 15, 16]
METHODS: list[dict[str, Any]] = [
    {"method": "greedy"},
    {"method": "beam", "beam": 3},
    {"method": "ancestral"},
    {"method": "top-k", "k": 2},
    {"method": "nucleus", "p": 0.7, "temperature": 1.3},
]


@dataclass(frozen=True)
class Table:
    """One second-order Markov chain per context; the state is (context, second-to-last token)."""

    logs: Tensor  # (contexts, tokens, tokens, tokens)
    end: int = END

    def step(self, state: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
        context, before = state.unbind(1)
        return self.logs[context, before, last], torch.stack([context, last], 1)

    def reorder(self, state: Tensor, rows: Tensor) -> Tensor:
        return state[rows]

    def replies(self, contexts: list[int], seeds: list[int] | None = None, **decoding: Any) -> list[list[int]]:
        state = torch.tensor([[context, END] for context in contexts])
        first = torch.full((len(contexts),), END)
        how = Decoding(**{"max_tokens": 5, **decoding})
        return search(self, state, first, how, seeds or [SEEDS[context] for context in contexts])

    def log_prob(self, context: int, tokens: tuple[int, ...]) -> float:
        path = (END, END, *tokens)
        return sum(float(self.logs[context, a, b, c]) for a, b, c in zip(path, path[1:], path[2:], strict=False))


@pytest.fixture(scope="module")
def table() -> Table:
    scores = torch.randn(len(SEEDS), WORDS, WORDS, WORDS, generator=torch.Generator().manual_seed(1)) * 1.5
    return Table(scores.log_softmax(-1))


ALL = list(range(len(SEEDS)))


def test_greedy_takes_the_most_likely_token(table: Table) -> None:
    for context, reply in zip(ALL, table.replies(ALL), strict=True):
        before, last = END, END
        for place, token in enumerate([*reply, END][:5]):
            logs = table.logs[context, before, last].clone()
            if place == 0:
                logs[END] = -torch.inf
            assert int(logs.argmax()) == token
            before, last = last, token


def test_greedy_is_a_beam_of_one(table: Table) -> None:
    for penalty in (0.0, 1.0):
        assert table.replies(ALL, method="beam", beam=1, length_penalty=penalty) == table.replies(ALL)


@pytest.mark.parametrize("penalty", [0.0, 0.7, 1.0, 2.0])
def test_a_wide_beam_finds_the_best_of_all_replies(table: Table, penalty: float) -> None:
    words = [token for token in range(WORDS) if token != END]
    ended = [tokens for size in range(1, 5) for tokens in product(words, repeat=size)]
    scored = [(*tokens, END) for tokens in ended] + list(product(words, repeat=5))  # the latter are cut
    for context, reply in zip(ALL, table.replies(ALL, method="beam", beam=400, length_penalty=penalty), strict=True):
        best = max(scored, key=lambda tokens: table.log_prob(context, tokens) / len(tokens) ** penalty)
        assert tuple(reply) == tuple(token for token in best if token != END)


def test_a_wider_beam_finds_nothing_less_likely(table: Table) -> None:
    def found(width: int) -> float:
        replies = table.replies(ALL, method="beam", beam=width, length_penalty=0.0)
        return sum(table.log_prob(context, (*reply, END)[:5]) for context, reply in zip(ALL, replies, strict=True))

    assert found(1) < found(8) <= found(400) + 1e-6


def test_a_nucleus_of_everything_is_ancestral(table: Table) -> None:
    seeds = list(range(200))
    ancestral = table.replies([0] * 200, seeds, method="ancestral")
    assert table.replies([0] * 200, seeds, method="nucleus", p=1.0) == ancestral
    assert table.replies([0] * 200, seeds, method="top-k", k=WORDS) == ancestral
    assert len({tuple(reply) for reply in ancestral}) > 20


def test_samples_have_the_models_probabilities(table: Table) -> None:
    rows = 4000
    drawn = table.replies([2] * rows, list(range(rows)), method="ancestral", max_tokens=1, temperature=2.0)
    found = np.bincount([reply[0] for reply in drawn], minlength=WORDS) / rows
    logs = table.logs[2, END, END] / 2.0
    logs[END] = -torch.inf
    expected = logs.softmax(0).numpy()
    np.testing.assert_allclose(found, expected, atol=4 * np.sqrt(0.25 / rows))  # four standard errors


def test_what_is_cut_off_is_never_drawn(table: Table) -> None:
    shares = table.logs[:, END, END].exp()
    shares[:, END] = 0
    shares /= shares.sum(1, keepdim=True)
    for context in ALL:
        ranked = shares[context].argsort(descending=True).tolist()
        seeds = list(range(300))
        first = {r[0] for r in table.replies([context] * 300, seeds, method="top-k", k=2, max_tokens=1)}
        assert first == set(ranked[:2])
        p = float(shares[context, ranked[0]]) - 0.01
        only = table.replies([context] * 300, seeds, method="nucleus", p=p, max_tokens=1)
        assert {r[0] for r in only} == {ranked[0]}
        both = table.replies([context] * 300, seeds, method="nucleus", p=p + 0.02, max_tokens=1)
        assert {r[0] for r in both} == set(ranked[:2])


def test_a_low_temperature_is_greedy(table: Table) -> None:
    assert table.replies(ALL, method="ancestral", temperature=1e-4) == table.replies(ALL)


@pytest.mark.parametrize("how", METHODS, ids=lambda how: how["method"])
def test_company_and_order_do_not_matter(table: Table, how: dict[str, Any]) -> None:
    together = table.replies(ALL, **how)
    assert table.replies(ALL[::-1], **how) == together[::-1]
    assert [table.replies([context], **how)[0] for context in ALL] == together
    assert table.replies(ALL, **how) == together


@pytest.mark.parametrize("how", METHODS, ids=lambda how: how["method"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_ngram_is_repeated(table: Table, how: dict[str, Any], size: int) -> None:
    endless = Table(table.logs - 20 * torch.nn.functional.one_hot(torch.tensor(END), WORDS))

    def repeats(reply: list[int]) -> bool:
        grams = [tuple(reply[at : at + size]) for at in range(len(reply) - size + 1)]
        return len(set(grams)) < len(grams)

    free = endless.replies(ALL, max_tokens=30, **how)
    blocked = endless.replies(ALL, max_tokens=30, block_ngrams=size, **how)
    assert any(map(repeats, free))
    assert not any(map(repeats, blocked))
    assert all(blocked)


def test_a_reply_is_not_empty_and_ends(table: Table) -> None:
    taciturn = Table(table.logs + 50 * torch.nn.functional.one_hot(torch.tensor(END), WORDS))
    for how in METHODS:
        assert all(len(reply) == 1 for reply in taciturn.replies(ALL, **how))
        assert all(len(reply) <= 2 for reply in table.replies(ALL, max_tokens=2, **how))


def test_tokens_of_probability_0_are_never_written(table: Table) -> None:
    logs = table.logs.clone()
    logs[..., 2:] = -torch.inf
    for how in METHODS:
        replies = Table(logs).replies(ALL, block_ngrams=1, **how)
        assert replies == [[1]] * len(ALL)

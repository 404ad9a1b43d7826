"""What a language model says of words, laid beside an encoder's tokens."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from recipes.default_evaluator.lesson import grouped
from recipes.default_evaluator.targets import Taught
from recipes.default_evaluator.words import MOST, known_places, word_costs, words_loss
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from rejoinder.models.branching import AFTER, ALONE, Brancher

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "well", "now", "never", "##more", ".", "so"]
CONTEXT = ("so now", "well")


@pytest.fixture(scope="module")
def brancher() -> Brancher:
    tokeniser = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokeniser.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokeniser.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return Brancher(tokeniser, most_context=16, most_reply=8)


def taught(reply: str, words: Sequence[tuple[float, float]], tokens: int = 5) -> Taught:
    return Taught(CONTEXT, "true", reply, -1.0, -2.0, tokens, words)


def test_a_word_shares_its_cost_among_its_pieces(brancher: Brancher) -> None:
    [costs] = word_costs(brancher, [taught("well  nevermore.", [(-1, -2), (-3, -6), (-0.5, -0.25)])])
    assert costs is not None
    assert costs.tolist() == [[1, 2], [1, 2], [1, 2], [1, 2], [0.5, 0.25]]  # well, never, ##more, ., the end


def test_costs_end_where_they_are_not_known(brancher: Brancher) -> None:
    long = taught("now " * 12, [(-1, -2)] * 12 + [(-3, -4)])
    cut, far, empty, unjudged = word_costs(
        brancher,
        [
            taught("now well so", [(-1, -2), (-3, -4), (-5, -6)], tokens=99),
            taught("now", [(-40, -2), (-1, -1)]),
            taught("  ", [(-1, -2)]),
            Taught(CONTEXT, "true", "now", None, None, None),
        ],
    )
    assert cut is not None
    assert far is not None
    assert cut[:, 0].isfinite().tolist() == [True, False, False, False]  # well may be half of a word, so was not read
    assert far[0].tolist() == [MOST, 2]
    assert empty is None
    assert unjudged is None
    [costs] = word_costs(brancher, [long])
    assert costs is not None
    assert len(costs) == brancher.most_reply - 1
    assert costs[-1].tolist() == [3, 4]


def test_the_loss_reads_the_tokens_after_the_context_and_those_alone(brancher: Brancher) -> None:
    rows = [
        taught("now", [(-1, -2), (-3, -4)]),
        Taught(CONTEXT, "true", "so so", None, None, None),
        taught("never.", [(-5, -8), (-7, -6)]),
    ]
    costs = word_costs(brancher, rows)
    [group] = grouped(brancher, [row.context for row in rows], [row.reply for row in rows])
    row = brancher.row(group.context, group.replies)
    right = torch.full((1, len(row.ids), 2), 9.0)
    places = [(part, number, place) for place, (part, number) in enumerate(zip(row.parts, row.numbers, strict=True))]
    for number, cost in ((0, [[1, 2], [3, 4]]), (2, [[2.5, 4], [2.5, 4], [7, 6]])):
        after = [place for part, owner, place in places if part == AFTER and owner == number]
        alone = [place for part, owner, place in places if part == ALONE and owner == number][1:]
        for column, found in ((0, after), (1, alone)):
            right[0, found, column] = torch.tensor(cost, dtype=torch.float32)[:, column]
    assert words_loss(right, known_places([group], costs)).item() == 0
    assert words_loss(right + 0.1, known_places([group], costs)).item() > 0
    assert words_loss(right, known_places([group], [None] * 3)).item() == 0

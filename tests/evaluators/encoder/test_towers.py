"""Context and reply read apart."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from rejoinder.evaluators.encoder.towers import MOST_CONTEXT, MOST_REPLY, Towered, padded_towers, towered

WORDS = {word: number for number, word in enumerate(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "a", "b", "c", "d", "e"])}


@pytest.fixture(scope="module")
def tokeniser() -> Tokenizer:
    made = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return made


def test_turns_stand_apart_and_the_last_is_known(tokeniser: Tokenizer) -> None:
    [made] = towered(tokeniser, [["a b", "c"]], ["d e"])
    assert made == Towered((1, 4, 5, 2, 6, 2), 4, (1, 7, 8, 2))


def test_only_the_last_four_turns_are_read(tokeniser: Tokenizer) -> None:
    [made] = towered(tokeniser, [["a", "b", "c", "d", "e"]], ["a"])
    assert made.context == (1, 5, 2, 6, 2, 7, 2, 8, 2)
    assert made.last_turn == 7


def test_a_long_context_loses_its_beginning_and_a_long_reply_its_end(tokeniser: Tokenizer) -> None:
    [made] = towered(tokeniser, [["a " * 50 + "b", "c " * 20 + "d"]], ["e " * 99])
    assert len(made.context) == MOST_CONTEXT
    assert made.context[0] == 1
    assert made.context[made.last_turn - 2 : made.last_turn] == (5, 2)
    assert made.context[made.last_turn :] == (*[6] * 20, 7, 2)
    assert made.reply == (1, *[8] * (MOST_REPLY - 2), 2)
    [made] = towered(tokeniser, [["b", "a " * 99]], ["e"])
    assert made.context == (1, *[4] * (MOST_CONTEXT - 2), 2)
    assert made.last_turn == 1


def test_padding_is_in_no_mask() -> None:
    arrays = padded_towers([Towered((1, 4, 2, 5, 2), 3, (1, 2)), Towered((1, 4, 2), 1, (1, 4, 2))], pad=0)
    assert arrays["context"].tolist() == [[1, 4, 2, 5, 2], [1, 4, 2, 0, 0]]
    assert arrays["context_mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert arrays["last_turn"].tolist() == [[0, 0, 0, 1, 1], [0, 1, 1, 0, 0]]
    assert arrays["reply_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]

"""Contexts and replies as separate texts."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from rejoinder.evaluators.encoder.reading import ContextIds, SeparateTexts

WORDS = {word: number for number, word in enumerate(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "a", "b", "c", "d", "e"])}
MOST_CONTEXT, MOST_REPLY = 64, 32


@pytest.fixture(scope="module")
def texts() -> SeparateTexts:
    made = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return SeparateTexts(made, MOST_CONTEXT, MOST_REPLY)


def test_turns_are_separated_and_the_last_is_known(texts: SeparateTexts) -> None:
    assert texts.contexts([["a b", "c"]]) == [ContextIds((1, 4, 5, 2, 6, 2), 4)]
    assert texts.replies(["d e"]) == [(1, 7, 8, 2)]


def test_only_the_last_four_turns_are_read(texts: SeparateTexts) -> None:
    [made] = texts.contexts([["a", "b", "c", "d", "e"]])
    assert made == ContextIds((1, 5, 2, 6, 2, 7, 2, 8, 2), 7)


def test_a_long_context_loses_its_beginning_and_a_long_reply_its_end(texts: SeparateTexts) -> None:
    [made] = texts.contexts([["a " * 50 + "b", "c " * 20 + "d"]])
    assert len(made.ids) == MOST_CONTEXT
    assert made.ids[0] == 1
    assert made.ids[made.last_turn - 2 : made.last_turn] == (5, 2)
    assert made.ids[made.last_turn :] == (*[6] * 20, 7, 2)
    assert texts.replies(["e " * 99]) == [(1, *[8] * (MOST_REPLY - 2), 2)]
    assert texts.contexts([["b", "a " * 99]]) == [ContextIds((1, *[4] * (MOST_CONTEXT - 2), 2), 1)]

"""Contexts and replies as token numbers: who speaks, what is cut, and nothing lost of the reply."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from rejoinder.data.dialogues import ReplyInContext, by_replier
from rejoinder.errors import CallError, DataError
from rejoinder.evaluators.encoder.reading import PairTokeniser, turns_as_text
from rejoinder.text.tokens import writable

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "me:", "you:", *(f"w{n}" for n in range(90))]


def definition(pair: str = "[CLS] $A [SEP] $B:1 [SEP]:1") -> str:
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = [("[CLS]", 2), ("[SEP]", 3)]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair=pair, special_tokens=special)
    made.enable_truncation(5)
    made.enable_padding(length=99)
    return str(made.to_str())


def words(tokeniser: PairTokeniser, *context: str, response: str, speakers: tuple[str, ...] = ()) -> list[str]:
    [encoded] = tokeniser.encode([ReplyInContext(context, speakers, response)])
    assert len(encoded.ids) == len(encoded.types)
    return [WORDS[number] for number in encoded.ids]


def test_turns_are_marked_by_who_speaks() -> None:
    pair = ReplyInContext(("a", "b", "c"), (), "d")
    assert turns_as_text(pair) == "you: a me: b you: c"
    assert turns_as_text(pair, marks=False) == "a b c"


@pytest.mark.parametrize(
    ("speakers", "mine"),
    [
        (("A", "B", "A"), [False, True, False]),
        (("A", "A", "B"), [True, True, False]),
        (("A", "B", "C", "A"), [False, False, True, False]),
        (("A", "A"), [False, False]),
    ],
)
def test_the_one_who_replies_is_not_the_one_who_spoke_last(speakers: tuple[str, ...], mine: list[bool]) -> None:
    assert by_replier(len(speakers), speakers) == mine


def test_context_then_reply() -> None:
    tokeniser = PairTokeniser(definition(), 20, 8)
    assert words(tokeniser, "w1 w2", response="w3") == ["[CLS]", "you:", "w1", "w2", "[SEP]", "w3", "[SEP]"]
    [encoded] = tokeniser.encode([ReplyInContext(("w1",), (), "w2 w3")])
    assert encoded.types == (0, 0, 0, 0, 1, 1, 1)


def test_a_long_context_loses_its_beginning_and_the_reply_stays_whole() -> None:
    tokeniser = PairTokeniser(definition(), 12, 6)
    long = " ".join(f"w{n}" for n in range(50))
    found = words(tokeniser, long, response="w60 w61 w62 w63 w64 w65")
    assert found == ["[CLS]", "w47", "w48", "w49", "[SEP]", "w60", "w61", "w62", "w63", "w64", "w65", "[SEP]"]
    assert words(tokeniser, long, response="w60")[-3:] == ["[SEP]", "w60", "[SEP]"]
    assert len(words(tokeniser, long, response="w60")) == 12


def test_a_reply_is_cut_at_its_own_limit() -> None:
    tokeniser = PairTokeniser(definition(), 12, 3)
    assert words(tokeniser, "w1", response="w60 w61 w62 w63 w64")[-4:] == ["w60", "w61", "w62", "[SEP]"]


def test_the_encoder_s_own_way_of_setting_apart_is_kept() -> None:
    tokeniser = PairTokeniser(definition("[CLS] $A [SEP] [SEP] $B [SEP]"), 12, 6)
    assert tokeniser.special == 4
    assert words(tokeniser, "w1", response="w2") == ["[CLS]", "you:", "w1", "[SEP]", "[SEP]", "w2", "[SEP]"]


@pytest.mark.parametrize(
    ("template", "context", "reply"),
    [
        ("[CLS] $A [SEP] $B:1 [SEP]:1", 4, 3),  # BERT's own
        ("[CLS] $A [SEP] [SEP] $B [SEP]", 5, 3),  # RoBERTa, MPNet
        ("[CLS] $A [SEP] $B [SEP]", 4, 3),
        ("$A [SEP] $B [SEP] [CLS]", 3, 4),  # XLNet
    ],
)
def test_segments_whatever_the_encoder(template: str, context: int, reply: int) -> None:
    tokeniser = PairTokeniser(definition(template), 20, 8, own_types=False)
    [encoded] = tokeniser.encode([ReplyInContext(("w1",), (), "w2 w3")])
    assert encoded.types == (0,) * context + (1,) * reply
    [empty] = tokeniser.encode([ReplyInContext(("w1",), (), "")])
    assert empty.types[-1] == 1
    assert empty.types[0] == 0


def test_limits_without_room() -> None:
    with pytest.raises(CallError, match=r"room for max_response \(10\) and 3 special tokens, not be 12"):
        PairTokeniser(definition(), 12, 10)
    with pytest.raises(CallError, match="max_response"):
        PairTokeniser(definition(), 12, 0)
    with pytest.raises(DataError, match="not a tokeniser's definition"):
        PairTokeniser("{}")


def test_lone_surrogates_become_question_marks() -> None:
    assert writable("a\ud800é") == "a?é"
    tokeniser = PairTokeniser(definition(), 12, 6)
    assert tokeniser.encode([]) == []
    assert words(tokeniser, "\udfff", response="\ud800") == ["[CLS]", "you:", "[UNK]", "[SEP]", "[UNK]", "[SEP]"]

"""The note about systems that often give stock replies."""

from __future__ import annotations

from rejoinder.evaluators.blend.notes import StockReplyCounter
from rejoinder.metrics.batch import Batch
from rejoinder.types import Example

OWN = [
    "Add some vinegar and chilli, then call it sweet and sour.",
    "Your parking was perfect last week.",
    "わかりません。",
    "",
]


def batch(system: str, replies: list[str]) -> Batch:
    return Batch([Example(str(number), ("How was it?",), reply, system=system) for number, reply in enumerate(replies)])


def notes(*batches: Batch) -> list[str]:
    counter = StockReplyCounter()
    for each in batches:
        counter.add(each)
    return list(counter.notes())


def test_a_system_of_stock_replies_is_named_with_its_commonest() -> None:
    stock = ["I don't know!", " I don't know! ", "i don’t know", "That's great.", "ME TOO", "That's great."]
    found = notes(batch("mute", [*stock, *OWN]), batch("good", OWN * 5))
    (note,) = found
    assert note.startswith(
        '6 of 10 replies of mute are stock replies ("I don\'t know!", "That\'s great.", "i don’t know"). People often '
    )


def test_people_and_few_replies_give_no_note() -> None:
    assert notes(batch("people", [*OWN * 4, "Thank you.", "Yes.", "No.", "Okay.", "Me too."])) == [], "5 of 21"
    assert notes(batch("few", ["I don't know."] * 4)) == [], "too few to say"
    (note,) = notes(batch("", ["I don't know."] * 5))
    assert note.startswith("5 of 5 replies are stock replies"), "replies without a system"


def test_counts_of_parts_are_put_together() -> None:
    parts = [batch("a", ["I don't know."] * 3), batch("b", OWN), batch("a", ["Me too.", "I don't know.", *OWN])]
    whole, joined = StockReplyCounter(), StockReplyCounter()
    for part in parts:
        whole.add(part)
        counted = StockReplyCounter()
        counted.add(part)
        joined.merge(counted.state())
    joined.merge(StockReplyCounter().state())  # of no replies
    assert joined == whole
    assert [note.partition(" replies")[0] for note in joined.notes()] == ["5 of 9"]


def test_texts_that_differ_by_a_nul_are_counted_in_parts_as_well() -> None:
    counted = StockReplyCounter()
    counted.add(batch("a", ["I don't know."] * 3 + ["I don't know.\0"] * 3))
    joined = StockReplyCounter()
    joined.merge(counted.state())
    assert [note.partition(" replies")[0] for note in joined.notes()] == ["6 of 6"]

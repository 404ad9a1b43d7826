"""One record to one example: field names, contexts as strings, chat messages, speakers, ids."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rejoinder
from rejoinder.data.files import TableRow
from rejoinder.data.records import FieldMap, example_of
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.types import Example


def example(record: dict[str, Any], fields: FieldMap | None = None, number: int = 1) -> Example:
    return example_of(record, number, fields or FieldMap())


def test_only_the_reply_is_required() -> None:
    assert example({"response": "hi"}, number=12) == Example("12", (), "hi")
    assert example({"response": ""}).response == "", "an empty reply is a reply"


def test_unknown_fields_are_ignored() -> None:
    assert example({"response": "hi", "score": 4, "meta": {"a": [1]}}) == Example("1", (), "hi")


def test_labels_may_be_whole_numbers() -> None:
    made = example({"response": "hi", "id": 17, "system": np.int64(2), "context_id": -1})
    assert (made.id, made.system, made.context_id) == ("17", "2", "-1")
    assert example({"response": "hi", "id": 17.0}).id == "17", "as a data frame writes it beside a missing one"


def test_one_reference_may_stand_alone() -> None:
    assert example({"response": "hi", "reference": "hello"}).references == ("hello",)
    assert example({"response": "hi", "references": "hello"}).references == ("hello",)
    assert example({"response": "hi", "references": ["a", "b"], "reference": "c"}).references == ("a", "b")
    assert example({"response": "hi", "references": "", "reference": "c"}).references == ("c",)


def test_a_context_as_one_string_is_cut_at_the_separator() -> None:
    assert example({"response": "hi", "context": "one\ntwo\n\n three "}).context == ("one", "two", "three")
    marked = FieldMap(separator=" EOU ")
    cut = example({"response": "hi", "context": "one EOU two EOU ", "speakers": "A EOU B"}, marked)
    assert (cut.context, cut.speakers) == (("one", "two"), ("A", "B"))
    assert example({"response": "hi", "context": ""}).context == ()


def test_a_cell_of_a_table_may_hold_a_list_as_json_but_only_of_strings() -> None:
    def row(**cells: str) -> Example:
        return example(TableRow(response="hi", **cells))

    assert row(context=' ["a", "b\\nc"]').context == ("a", "b\nc")
    assert row(references="[]").references == ()
    assert row(references="[1] see the notes").references == ("[1] see the notes",)
    assert row(references="[1]").references == ("[1]",)


@pytest.mark.parametrize("text", ["[]", '["a", "b"]', ' ["a"]'])
def test_elsewhere_a_string_that_looks_like_a_list_is_text(text: str, tmp_path: Path) -> None:
    record = {"response": "hi", "reference": text, "context": text}
    (tmp_path / "r.jsonl").write_text(json.dumps(record))
    pl.DataFrame([record]).write_parquet(tmp_path / "r.parquet")
    expected = Example("1", (text.strip(),), "hi", (text,))
    for origin in (tmp_path / "r.jsonl", tmp_path / "r.parquet", [record]):
        assert list(rejoinder.read(origin)) == [expected]


def test_an_empty_cell_beside_messages_is_no_reply(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "Tea?"}, {"role": "assistant", "content": "Yes."}]
    with (tmp_path / "r.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        rows = [("1", json.dumps(chat), ""), ("2", json.dumps(chat), "No."), ("3", "", "")]
        writer.writerows([("id", "messages", "response"), *rows])
    first, second, third = rejoinder.read(tmp_path / "r.csv")
    assert (first.context, first.response) == (("Tea?",), "Yes.")
    assert (second.context, second.response) == (("Tea?", "Yes."), "No.")
    assert (third.context, third.response) == ((), "")
    assert example({"messages": chat, "response": ""}).response == "", "outside tables an empty string was written so"


def test_arrays_of_frames_are_lists() -> None:
    assert example({"response": "hi", "context": np.array(["a", "b"], object)}).context == ("a", "b")
    with pytest.raises(ValueError, match="expected a list of strings, found a number"):
        example({"response": "hi", "context": np.float64(1.5)})


def test_fields_go_by_the_names_that_the_data_have() -> None:
    fields = FieldMap.parse(["response=answer", "context=history", "id=key", "references=gold"], separator="|")
    record = {"answer": "hi", "history": "a|b", "key": "k", "gold": ["g"], "response": "not this", "context": 5}
    assert example(record, fields) == Example("k", ("a", "b"), "hi", ("g",))


def test_errors_name_the_data_s_own_field() -> None:
    with pytest.raises(rejoinder.DataError) as caught:
        list(rejoinder.read([{"answer": "ok"}, {"answer": 3}], fields={"response": "answer"}))
    error = caught.value
    assert (error.file, error.line, error.field) == ("<list>", 2, "answer")
    assert str(error) == "<list>:2: field 'answer': expected a string, found a number"


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["context"], "cannot read the field 'context': expected ours=theirs, such as context=history"),
        (["=history"], "cannot read the field '=history': expected ours=theirs, such as context=history"),
        (["context="], "cannot read the field 'context=': expected ours=theirs, such as context=history"),
        (["contxt=history"], "unknown field 'contxt'; did you mean context or context_id?"),
        (["id=a", "id=b"], "the field 'id' is given twice: 'a' and 'b'"),
    ],
)
def test_wrong_field_options(pairs: list[str], message: str) -> None:
    with pytest.raises(CallError) as caught:
        FieldMap.parse(pairs)
    assert str(caught.value) == message


def test_an_empty_separator_cuts_nothing() -> None:
    with pytest.raises(CallError, match=r"^the separator of a context must be text that is not empty, not ''$"):
        FieldMap(separator="")


def test_a_mapped_field_that_no_record_has_is_an_error() -> None:
    records = [{"response": "hi", "history": ["a"]}, {"response": "yo"}]
    assert len(list(rejoinder.read(records, fields={"context": "history"}))) == 2
    with pytest.raises(UnknownNameError) as caught:
        list(rejoinder.read(records, fields={"context": "histroy"}))
    assert str(caught.value) == "unknown field in <list>: 'histroy'; did you mean history?"


CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi!"},
    {"role": "Assistant", "content": [{"type": "text", "text": "Hel"}, {"type": "image_url"}, {"text": "lo."}]},
    {"role": "user", "content": ["What time ", "is it?"]},
    {"role": "assistant", "content": None, "tool_calls": [{"name": "clock"}]},
    {"role": "tool", "content": "12:00"},
    {"role": "assistant", "content": "Noon."},
]


@pytest.mark.parametrize("messages", [CHAT, tuple(CHAT), json.dumps(CHAT), np.array(CHAT, object)])
def test_the_last_assistant_message_is_the_reply(messages: Any) -> None:
    made = example({"id": "m", "messages": messages})
    assert made.response == "Noon."
    assert made.context == ("Hi!", "Hello.", "What time is it?")
    assert made.speakers == ("user", "assistant", "user")


def test_what_follows_the_last_assistant_message_is_left_out() -> None:
    made = example({"messages": [*CHAT, {"role": "user", "content": "Thanks!"}]})
    assert (made.response, len(made.context)) == ("Noon.", 3)


def test_with_a_response_all_messages_are_context() -> None:
    made = example({"messages": CHAT[:4], "response": "Late."})
    assert (made.response, made.context[-1]) == ("Late.", "What time is it?")


def test_a_first_assistant_message_has_no_context() -> None:
    assert example({"messages": [{"role": "assistant", "content": "Hello!"}]}) == Example("1", (), "Hello!")


def test_messages_under_another_name_and_bots() -> None:
    chat = [{"role": "human", "content": "a"}, {"role": "bot", "content": "b"}]
    made = example({"conversation": chat}, FieldMap({"messages": "conversation"}))
    assert (made.context, made.response) == (("a",), "b")

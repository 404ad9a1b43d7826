"""Single records of other tools: which shape they have, and what becomes of them."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import foreign_records as foreign
import rejoinder
from rejoinder.data.chats import input_messages, messages_of, reply_of
from rejoinder.data.importers import SHAPES, snake_case
from rejoinder.data.judged import JudgedSource
from rejoinder.data.records import FieldError, value_at
from rejoinder.data.source import Source
from rejoinder.errors import DataError
from rejoinder.types import Example


@pytest.mark.parametrize("kind", foreign.RECORDS)
def test_every_shape_gives_the_same_examples_and_fits_one_importer_at_most(kind: str) -> None:
    records = foreign.RECORDS[kind]()
    assert foreign.summary(list(Source(records))) == foreign.EXPECTED
    assert all(sum(shape.fits(record) for shape in SHAPES) == (kind != "OpenAI chats") for record in records)


def one(record: dict[str, Any], **options: Any) -> Example:
    (example,) = Source([record], **options)
    return example


def test_a_conversation_of_several_turns_ends_with_the_last_reply() -> None:
    turns = [("system", "s"), ("human", "a"), ("gpt", "b"), ("human", "c"), ("gpt", "d"), ("human", "e")]
    example = one({"conversations": [{"from": who, "value": text} for who, text in turns]})
    assert (example.context, example.speakers) == (("a", "b", "c"), ("user", "assistant", "user"))
    assert example.response == "d"


def test_every_turn() -> None:
    turns = [("human", "a"), ("gpt", "b"), ("human", "c"), ("gpt", "d")]
    record = {"id": "x", "model": "m", "conversations": [{"from": who, "value": text} for who, text in turns]}
    first, last = Source([record], unit="turn")
    assert first == Example("x-1", ("a",), "b", (), "m", ("user",), "", "x")
    assert last == Example("x-2", ("a", "b", "c"), "d", (), "m", ("user", "assistant", "user"), "", "x")


def test_every_turn_of_messages_keeps_the_references_of_the_last_one() -> None:
    chat = [foreign.said(who, text) for who, text in (("user", "a"), ("assistant", "b"), ("assistant", "c"))]
    first, last = Source([{"messages": chat, "references": ["r"]}], unit="turn")
    assert (first.id, first.references) == ("1-1", ())
    assert (last.id, last.references) == ("1-2", ("r",))


def test_every_turn_of_several_files(tmp_path: Path) -> None:
    chat = json.dumps({"messages": [foreign.said("user", "a"), foreign.said("assistant", "b")]})
    for name in ("one.jsonl", "two.jsonl"):
        (tmp_path / name).write_text(chat + "\n", encoding="utf-8")
    found = list(Source(tmp_path, unit="turn"))
    assert [example.id for example in found] == ["one.jsonl:1-1", "two.jsonl:1-1"]


def test_a_chat_without_a_reply_has_no_turn() -> None:
    with pytest.raises(DataError, match="has no assistant message: expected at least one"):
        list(Source([{"messages": [foreign.said("user", "a")]}], unit="turn"))


def test_tools_null_content_and_images() -> None:
    example = one(
        {
            "messages": [
                foreign.said("developer", "Be brief."),
                foreign.said("user", [{"type": "text", "text": "What is "}, {"type": "image_url", "image_url": {}},
                                      {"type": "text", "text": "this?"}]),
                {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
                {"role": "tool", "tool_call_id": "1", "content": "a cat"},
                foreign.said("assistant", "A cat."),
            ]
        }
    )  # fmt: skip
    assert (example.context, example.response) == (("What is this?",), "A cat.")


def test_what_is_left_out_is_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    image = [{"type": "image_url", "image_url": {}}, {"type": "text", "text": "x"}]
    chat = [foreign.said("system", "s"), foreign.said("tool", "t"), foreign.said("user", image)]
    with caplog.at_level(logging.INFO, "rejoinder.data"):
        one({"messages": [*chat, foreign.said("assistant", "a")]})
    (line,) = caplog.messages
    left_out = "system prompts and tool messages and images and other content without text"
    mapping = "response from the last assistant message, context from the messages before it"
    assert line == f"<list>: read as a chat log with messages: {mapping}; {left_out} are not part of the context"


def test_an_unknown_role_is_an_error() -> None:
    with pytest.raises(DataError, match=r"field 'messages\[0\]\.role': expected user, assistant, .* found 'customer'"):
        one({"messages": [foreign.said("customer", "a"), foreign.said("assistant", "b")]})


def test_sharegpt_has_a_system_prompt_of_that_name() -> None:
    turns = [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]
    assert one({"conversations": turns, "system": "You are kind."}).system == ""


def test_human_scores_are_read_in_any_shape() -> None:
    records = [record | {"scores": {"overall": 3}, "split": "test"} for record in foreign.sharegpt()]
    (first, *_) = JudgedSource(records).judged()
    assert (first.scores, first.split) == ({"overall": (3.0,)}, "test")
    with pytest.raises(DataError, match="field 'scores': is missing"):
        list(JudgedSource([foreign.langfuse_traces()[0] | {"scores": [{"name": "helpful", "value": 1}]}]))


def test_several_choices_are_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    record = foreign.openai_request_logs()[0]
    record["response"]["choices"].append({"message": foreign.said("assistant", "other")})
    with caplog.at_level(logging.INFO, "rejoinder.data"):
        assert one(record).response == foreign.REPLIES["small"][0]
    assert "other choices than the first are left out" in caplog.text


def test_langsmith_details() -> None:
    record = {
        "id": "r",
        "inputs": {"chat_history": [{"type": "human", "content": "a"}, {"type": "ai", "content": "b"}], "input": "c"},
        "outputs": {"output": "d", "documents": ["x"]},
        "reference_outputs": {"answer": "e"},
        "extra": {"metadata": {"thread_id": "t"}, "invocation_params": {"model": "m"}},
    }
    expected = Example("r", ("a", "b", "c"), "d", ("e",), "m", ("user", "assistant", "user"), "", "t")
    assert one(record) == expected


def test_langgraph_outputs_repeat_the_conversation() -> None:
    asked = {"type": "human", "content": "a"}
    answered = {"type": "ai", "content": "b"}
    example = one({"inputs": {"messages": [asked]}, "outputs": {"messages": [asked, answered]}, "run_type": "chain"})
    assert (example.context, example.response) == (("a",), "b")


def test_a_trace_without_an_output_uses_its_last_model_call() -> None:
    call = {"type": "GENERATION", "startTime": "2", "model": "m", "input": "a", "output": "b"}
    earlier = {"type": "GENERATION", "startTime": "1", "model": "m", "input": "a", "output": "no"}
    record = {"id": "t", "input": None, "output": None, "sessionId": "s", "observations": [call, earlier]}
    assert one(record) == Example("t", ("a",), "b", (), "m", ("user",), "", "s")


def test_outputs_with_several_texts_are_refused_with_a_path() -> None:
    record = {"id": "1", "inputs": {"question": "a"}, "outputs": {"draft": "b", "final": "c"}}
    with pytest.raises(DataError, match=r"found draft, final; name one, for example --field response=outputs\.draft"):
        one(record)
    fields = {"response": "outputs.final", "context": "inputs.question"}
    assert one(record, fields=fields) == Example("1", ("a",), "c")


def test_named_fields_replace_those_of_the_importer() -> None:
    record = foreign.langfuse_traces()[0] | {"team": "bakers"}
    assert one(record, fields={"system": "team"}).system == "bakers"
    with pytest.raises(rejoinder.CallError, match="unknown field in <list>: 'teem'; did you mean team"):
        one(record, fields={"system": "teem"})


@pytest.mark.parametrize(
    ("value", "reply"),
    [
        ("a", "a"),
        ({"text": "a"}, "a"),
        ({"only": "a"}, "a"),
        ('{"answer": "a"}', "a"),
        ({"choices": [{"text": "a"}]}, "a"),
        ({"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}], "a"),
        ([{"type": "text", "text": "a"}], "a"),
        ({"generations": [[{"text": "", "message": {"type": "ai", "data": {"content": "a"}}}]]}, "a"),
        ({"output": {"answer": {"content": "a"}}}, "a"),
    ],
)
def test_where_a_reply_may_be(value: Any, reply: str) -> None:
    assert reply_of(value, "output") == reply


@pytest.mark.parametrize(
    "value", [None, 7, [], {}, {"a": "b", "c": "d"}, {"choices": []}, {"role": "assistant", "content": None}, [["a"]]]
)
def test_where_none_is(value: Any) -> None:
    with pytest.raises(FieldError):
        reply_of(value, "output")


def test_what_was_asked() -> None:
    assert input_messages(None, "input") == []
    assert (
        input_messages("a", "input")
        == input_messages({"query": "a", "top_k": 3}, "input")
        == [foreign.said("user", "a")]
    )
    with pytest.raises(FieldError, match="expected one field with the context, found prompt, question"):
        input_messages({"prompt": "a", "question": "b"}, "input")
    with pytest.raises(FieldError, match=r"input\[0\]|expected a role such as user or assistant, found 'narrator'"):
        messages_of([{"from": "narrator", "value": "a"}], "input")


def test_paths() -> None:
    record = {"a.b": 1, "a": {"b": 2, "c": [{"d": 3}]}, "cell": '{"x": [5]}'}
    found = [value_at(record, path) for path in ("a.b", "a.c.0.d", "cell.x.0", "a.c.1", "a.c.x", "a.b.c", "z", "")]
    assert found == [1, 3, 5, None, None, None, None, None]


def test_column_names() -> None:
    names = ("Ground Truth", "groundTruth", "ground-truth", " ground_truth ")
    assert {snake_case(name) for name in names} == {"ground_truth"}


@pytest.mark.parametrize(
    ("record", "context"),
    [
        ({"user": "Hi", "bot": "Hello"}, ("Hi",)),
        ({"user": "u-17", "bot": "Hello"}, ()),
        ({"user": "ann@example.org", "answer": "Hello"}, ()),
        ({"user": "Ann", "response": "Hello"}, ()),
        ({"history": ["a", "b"], "answer": "c"}, ("a", "b")),
        ({"Prompt": "a", "Response": "b"}, ("a",)),
        ({"prompt": {"id": 3}, "response": "b"}, ()),
    ],
)
def test_contexts_of_tables(record: dict[str, Any], context: tuple[str, ...]) -> None:
    assert one(record).context == context


def test_references_dialogues_and_ids_of_tables() -> None:
    record = {"ID": 3, "question": "a", "answer": "b", "expectedOutput": "c", "conversationId": "d", "model": "e"}
    assert one(record) == Example("3", ("a",), "b", ("c",), "e", (), "", "d")


def test_it_is_decided_once_and_a_record_that_differs_is_an_error() -> None:
    records = [*foreign.sharegpt() * 30, {"id": "odd", "conversations": "none"}]
    for number, record in enumerate(records):
        record = records[number] = record | {"id": str(number)}
    source = Source(records, on_error="skip")
    assert len(list(source)) == 120
    assert [str(error) for error in source.skipped.values()] == [
        "<list>:121: field 'conversations': expected a list of messages, found a string"
    ]


def test_fields_in_every_function_that_reads(tmp_path: Path) -> None:
    record = {"said": "word " * 3, "asked": "a b"}
    fields = {"response": "said", "context": "asked"}
    assert len(rejoinder.score([record], "length", fields=fields, resamples=10)) == 1
    assert rejoinder.check([record], fields=fields).contexts == 1
    assert rejoinder.convert([record], tmp_path / "a.jsonl", fields=fields).written == 1
    judged = [{"said": "word " * n, "asked": str(n), "scores": n} for n in range(1, 31)]
    assert rejoinder.trust(judged, metrics=["length"], fields=fields, resamples=10).dimensions

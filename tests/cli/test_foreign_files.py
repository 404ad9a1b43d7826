"""Files of other tools are scored with one command and no option; what could mean two things is refused."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import foreign_records as foreign
import rejoinder
from rejoinder.data.tables import write_sheet

if TYPE_CHECKING:
    from running import Run, WriteLines

Writer = Callable[[Path], Path]


def lines(records: list[dict[str, Any]]) -> Writer:
    def write(folder: Path) -> Path:
        path = folder / "log.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return write


def document(value: Any, name: str = "log.json", indent: int | None = 2) -> Writer:
    def write(folder: Path) -> Path:
        content = json.dumps(value, indent=indent).encode()
        (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return folder / name

    return write


def table(context: str, response: str, system: str, name: str = "log.csv") -> Writer:
    def write(folder: Path) -> Path:
        rows = foreign.flat(context, response, system)
        if name.endswith(".xlsx"):
            write_sheet(folder / name, list(rows[0]), [list(row.values()) for row in rows])
            return folder / name
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if name.endswith(".tsv") else ",")
            writer.writeheader()
            writer.writerows(rows)
        return folder / name

    return write


def folder_of_files(folder: Path) -> Path:
    logs = folder / "logs"
    logs.mkdir()
    for number, record in enumerate(foreign.openai_chats()):
        (logs / f"{number}.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
    (logs / "README.txt").write_text("not a log", encoding="utf-8")
    return logs


def pattern_of_files(folder: Path) -> Path:
    return folder_of_files(folder) / "*.json"


def langfuse_table(folder: Path) -> Path:
    """Langfuse's table export as .csv, where inputs and outputs are JSON in cells."""
    path = folder / "log.csv"
    traces = foreign.langfuse_traces()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(traces[0]))
        writer.writeheader()
        for trace in traces:
            cells = {key: value if isinstance(value, str) else json.dumps(value) for key, value in trace.items()}
            writer.writerow(cells)
    return path


SHAPES: dict[str, tuple[Writer, str]] = {
    "OpenAI chats": (lines(foreign.openai_chats()), "the messages before it, system from 'model'; system prompts"),
    "requests and responses": (lines(foreign.openai_request_logs()), "requests with responses of a chat service"),
    "OpenAI Responses": (lines(foreign.openai_responses()), "requests with responses of a chat service"),
    "ShareGPT": (document(foreign.sharegpt()), "ShareGPT conversations"),
    "ShareGPT, compressed": (document(foreign.sharegpt(), "log.json.gz"), "ShareGPT conversations"),
    "LangSmith runs": (lines(foreign.langsmith_runs()), "LangSmith runs"),
    "LangSmith calls": (lines(foreign.langsmith_calls()), "only calls of models are read"),
    "a page of LangSmith runs": (document({"runs": foreign.langsmith_runs(), "cursors": {}}), "LangSmith runs"),
    "Langfuse traces": (document(foreign.langfuse_traces()), "Langfuse traces"),
    "a page of Langfuse traces": (document({"data": foreign.langfuse_traces(), "meta": {"page": 1}}), "Langfuse"),
    "Langfuse observations": (lines(foreign.langfuse_observations()), "Langfuse traces"),
    "Langfuse table": (langfuse_table, "Langfuse traces"),
    "a folder": (folder_of_files, "a chat log with messages"),
    "a pattern": (pattern_of_files, "a chat log with messages"),
    "an array on one line": (document(foreign.openai_chats(), "log.jsonl", None), "a chat log with messages"),
    "user, bot, model": (table("user", "bot", "model"), "response from 'bot', context from 'user', system from"),
    "Question, Answer, Version": (table("Question", "Answer", "Version"), "context from 'Question'"),
    "prompt, completion": (table("prompt", "completion", "model_name", "log.tsv"), "response from 'completion'"),
    "a spreadsheet": (table("User input", "output", "model", "log.xlsx"), "context from 'User input'"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_one_command_and_no_option(shape: str, run: Run, tmp_path: Path) -> None:
    writer, understood = SHAPES[shape]
    path = writer(tmp_path)
    ran = run("score", path, "-m", "length", "-m", "distinct-2", "-o", "scores.jsonl", "--resamples", 20)
    assert ran.code == 0, ran.err
    note = next(line for line in ran.err.splitlines() if line.startswith("note: ") and "read as" in line)
    assert understood in note
    assert foreign.summary(list(rejoinder.read(path))) == foreign.EXPECTED
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text(encoding="utf-8").splitlines()]
    lengths = sorted((row["system"], row["scores"]["length"]) for row in rows)
    # Counted by hand: words and punctuation marks of the four replies.
    assert lengths == [("large", 7.0), ("large", 10.0), ("small", 4.0), ("small", 7.0)]


def test_batch_output_has_no_contexts(run: Run, write_lines: WriteLines) -> None:
    ran = run("score", write_lines(foreign.openai_batch()), "-m", "length", "--json", "--resamples", 20)
    assert ran.code == 0, ran.err
    assert set(ran.json["summary"]["length"]) == {"small", "large"}
    assert not any(example.context for example in rejoinder.read(foreign.openai_batch()))


def test_compare_needs_one_command_too(run: Run, write_lines: WriteLines) -> None:
    ran = run("compare", write_lines(foreign.sharegpt()), "-m", "length", "--resamples", 20)
    assert ran.code == 0, ran.err
    assert "ShareGPT conversations" in ran.err


def test_quiet_says_nothing(run: Run, write_lines: WriteLines) -> None:
    ran = run("score", write_lines(foreign.sharegpt()), "-m", "length", "--quiet", "--resamples", 20)
    assert (ran.code, ran.err) == (0, "")


def test_our_own_format_is_not_remarked_on(run: Run, write_lines: WriteLines) -> None:
    path = write_lines([{"response": "Hi.", "context": ["Hello?"], "system": "a", "feedback": "good"}])
    assert run("score", path, "-m", "length", "--resamples", 20).err == ""


def test_a_model_that_is_not_the_system_is_mentioned(run: Run, write_lines: WriteLines) -> None:
    path = write_lines([{"response": "Hi.", "system": "a", "model": "m"}])
    assert "the field 'model' is not used" in run("score", path, "-m", "length", "--resamples", 20).err


AMBIGUOUS: dict[str, tuple[dict[str, Any], str]] = {
    "two contexts": ({"input": "a b", "prompt": "c d", "output": "e"}, "context (input, prompt): name the right one, "
                     "for example --field context=input"),
    "two replies": ({"question": "a b", "answer": "c", "completion": "d"}, "response (answer, completion): name the "
                    "right one, for example --field response=answer"),
    "two systems": ({"response": "a", "model": "b", "version": "c"}, "system (model, version): name the right one, "
                    "for example --field system=model"),
    "two references": ({"response": "a", "expected": "b", "Ground Truth": "c"}, "references (expected, Ground Truth)"),
    "a question and its passage": ({"question": "a b", "context": "c d", "answer": "e"}, "context (question, context)"),
}  # fmt: skip


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_what_could_mean_two_things_is_refused(case: str, run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    record, problem = AMBIGUOUS[case]
    ran = run("score", write_lines([record]), "-m", "length", "-o", "scores.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert not (tmp_path / "scores.jsonl").exists()


def test_the_suggested_option_settles_it(run: Run, write_lines: WriteLines) -> None:
    path = write_lines([{"input": "a b", "prompt": "c d", "output": "e"}])
    ran = run("check", path, "--field", "context=input", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["first"][0]["context"] == ["a b"]


def test_an_unknown_shape_gets_a_suggestion_from_its_own_fields(run: Run, write_lines: WriteLines) -> None:
    path = write_lines([{"id": "1", "turn": {"they said": "Hello, you.", "we said": "Hi."}, "ok": True}])
    ran = run("score", path, "-m", "length")
    option = "--field 'context=turn.they said' --field 'response=turn.we said'"
    assert ran.code == 2
    assert ran.err.endswith(f"name the fields to read, for example {option}\n")
    settled = run("check", path, "--field", "context=turn.they said", "--field", "response=turn.we said", "--json")
    assert settled.json["first"][0]["response"] == "Hi."


def test_a_suggestion_names_no_field_that_is_known(run: Run, write_lines: WriteLines) -> None:
    path = write_lines([{"question": "Where is the longest text of all?", "said": "Here."}])
    assert run("score", path, "-m", "length").err.endswith("for example --field response=said\n")
    without = run("score", write_lines([{"question": "Where?"}], "b.jsonl"), "-m", "length")
    assert without.err.endswith("expected the reply as a string, found question\n")


def test_a_path_that_leads_nowhere_is_an_error(run: Run, write_lines: WriteLines) -> None:
    path = write_lines([{"output": {"content": "Hi."}}])
    ran = run("score", path, "-m", "length", "--field", "response=output.contents")
    assert ran.code == 2
    assert "output.contents" in ran.err


def test_a_mixture_of_shapes_is_refused(run: Run, write_lines: WriteLines) -> None:
    ran = run("score", write_lines([foreign.sharegpt()[0], foreign.langsmith_runs()[0]]), "-m", "length")
    assert ran.code == 2
    assert "mixes ShareGPT conversations and LangSmith runs: expected records of one kind" in ran.err


def test_a_folder_with_files_of_two_kinds_says_so(run: Run, tmp_path: Path) -> None:
    logs = folder_of_files(tmp_path)
    table("question", "answer", "model", "more.csv")(logs)
    ran = run("score", logs, "-m", "length", "--resamples", 20)
    assert ran.code == 0, ran.err
    notes = [line for line in ran.err.splitlines() if "read as" in line]
    assert len(notes) == 2, "one line per kind, not per file"


def test_a_failed_run_is_told_and_can_be_skipped(run: Run, write_lines: WriteLines) -> None:
    failed = {"id": "f", "run_type": "chain", "inputs": {"question": "?"}, "outputs": None, "error": "timeout"}
    path = write_lines([*foreign.langsmith_runs(), failed])
    ran = run("score", path, "-m", "length")
    assert (ran.code, ran.out) == (2, "")
    assert "field 'outputs': is missing (the run failed): expected the reply" in ran.err
    skipped = run("score", path, "-m", "length", "--on-error", "skip", "--resamples", 20)
    assert "left out 1 unreadable example" in skipped.err


def test_an_error_in_a_folder_names_the_file(run: Run, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.jsonl").write_text('{"id": "1", "response": "a"}\n', encoding="utf-8")
    (logs / "b.jsonl").write_text('{"id": "1", "response": "b"}\n', encoding="utf-8")
    err = run("score", "logs", "-m", "length").err
    assert err.startswith("rejoinder: logs/b.jsonl:1: field 'id': '1' was already used on line 1 of logs/a.jsonl")


def test_several_files_are_one_set(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"id": "{name}", "response": "a b"}}\n', encoding="utf-8")
    ran = run("score", "a.jsonl", "b.jsonl", "-m", "length", "--json", "--resamples", 20)
    assert ran.json["examples"] == 2

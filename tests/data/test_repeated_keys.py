"""JSON with a key twice in one object is refused by every reader, with file, line and key: parsers disagree on it."""

from __future__ import annotations

import ast
import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rejoinder
from rejoinder.comparing.systems import read_score_table
from rejoinder.data import files as documents
from rejoinder.data.dialogues import DialogueSource, UnansweredSource
from rejoinder.data.judged import JudgedSource, PreferenceSource
from rejoinder.data.records import FieldMap
from rejoinder.data.results import result_rows
from rejoinder.data.source import Source
from rejoinder.errors import DataError
from rejoinder.folders.schema import RepeatedKeyError, json_value, read_config, read_json
from rejoinder.scoring.parts import Manifest
from rejoinder.scoring.score_file import read_score_file

TWICE = "names the key 'response' twice in one object: expected unique keys"
GOOD = json.dumps(
    {"id": "1", "context": ["c"], "response": "a", "turns": ["c", "a"], "a": "m", "b": "n", "winner": "m"}
    | {"scores": {"fluency": 1}, "x": {"y": [{"z": 1}]}}
)
BAD = [
    '{"id": "2", "response": "a", "response": "b"}',
    '{"id": "2", "response": "a", "response": "a"}',
    '{"response": "a", "id": "2", "\\u0072esponse": "b"}',
    '{"id": "2", "response": "a", "x": {"y": [{"response": 1, "response": 2}]}}',
    '{"id": "2", "response": [], "messages": [{"role": "user", "content": "a", "response": 0, "response": 0}]}',
]

READERS: list[Callable[..., Any]] = [Source, JudgedSource, PreferenceSource, UnansweredSource, DialogueSource]


def written(path: Path, content: str) -> Path:
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return path


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("name", "layout", "line"),
    [
        ("a.jsonl", "{good}\n\n{bad}\n", 3),
        ("a.jsonl.gz", "{good}\n{bad}", 2),
        ("a.json", "{good}\n{bad}\n", 2),
        ("a.json", "[\n{good},\n{bad}, {good}]", 3),
        ("a.json", "[{bad}]", 1),
        ("a.json", "{{\n\n{inner}", 1),
        ("a.log", "{bad}", 1),
    ],
)
def test_every_layout_and_source(
    reader: Callable[..., Any], name: str, layout: str, line: int, bad: str, tmp_path: Path
) -> None:
    path = written(tmp_path / name, layout.format(good=GOOD, bad=bad, inner=bad[1:]))
    with pytest.raises(DataError) as caught:
        list(reader(path))
    assert str(caught.value) == f"{path}:{line}: {TWICE}"


@pytest.mark.parametrize("chunk", [1, 7, 1 << 16])
@pytest.mark.parametrize("bad", BAD)
def test_only_that_record_is_left_out(bad: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_CHUNK", chunk)
    for name, content in {"a.jsonl": f"{GOOD}\n{bad}\n", "a.json": f"[{GOOD},\n{bad}]"}.items():
        source = Source(written(tmp_path / name, content), on_error="skip")
        assert [example.id for example in source] == ["1"]
        assert [error.line for error in source.skipped.values()] == [2]


KEYS = st.text(max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.text(max_size=4) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_other_values_are_what_they_were(value: Any) -> None:
    assert json_value(json.dumps(value)) == json_value(json.dumps(value).encode()) == value


@given(VALUES, KEYS, st.lists(st.sampled_from(["[1, {}]", '{{"k": {}}}', '[{{"k": [{}]}}, null]']), max_size=4))
def test_a_key_twice_at_any_depth(value: Any, key: str, around: list[str]) -> None:
    text = f"{{{json.dumps(key)}: {json.dumps(value)}, {json.dumps(key)}: 1}}"
    for outer in around:
        text = outer.format(text)
    with pytest.raises(RepeatedKeyError, match="twice in one object"):
        json_value(text)


def test_the_message_stays_short_and_the_search_fast() -> None:
    keys = [*(f'"{number}": 0' for number in range(200_000)), '"199999": 0', f'"{"k" * 10_000}": 0']
    with pytest.raises(RepeatedKeyError, match="names the key '199999' twice"):
        json_value("{" + ", ".join(keys) + "}")
    with pytest.raises(RepeatedKeyError) as caught:
        json_value("{" + ", ".join([*keys[-1:], *keys[-1:]]) + "}")
    assert len(str(caught.value)) < 200


CELLS = {
    "messages": '[{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "content": "b"}]',
    "scores": '{"fluency": 1, "fluency": 5}',
    "output": '{"response": "a", "response": "b"}',
    "turns": '[{"a": 1, "a": 2}]',
    "response": '{"choices": [{"message": {"role": "assistant", "content": "a", "content": "b"}}]}',
    "outputs": '{"answer": "a", "answer": "b"}',
}


@pytest.mark.parametrize(("column", "reader", "fields"), [
    ("messages", Source, {}),
    ("messages", Source, {"messages": "messages"}),
    ("scores", JudgedSource, {}),
    ("output", Source, {"response": "output.response"}),
    ("turns", DialogueSource, {}),
    ("response", Source, {}),
    ("outputs", Source, {}),
])  # fmt: skip
@pytest.mark.parametrize("before", [0, 150])
def test_cells_of_tables(
    column: str, reader: Callable[..., Any], fields: dict[str, str], before: int, tmp_path: Path
) -> None:
    good = {
        "messages": '[{"role": "assistant", "content": "a"}]',
        "scores": '{"fluency": 1}',
        "output": '{"response": "a"}',
        "turns": '["a", "b"]',
        "response": '{"choices": [{"message": {"role": "assistant", "content": "a"}}]}',
        "outputs": '{"answer": "a"}',
    }[column]
    other = {"scores": {"response": "r"}, "outputs": {"inputs": '{"question": "q"}'}}.get(column, {"note": "n"})
    rows = [[*other.values(), cell] for cell in (*[good] * before, CELLS[column])]
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    path = written(tmp_path / "a.csv", "\n".join([",".join([*other, column]), *quoted]))
    with pytest.raises(DataError, match=f"{before + 2}: field '.*': names the key '.*' twice") as caught:
        list(reader(path, fields) if reader is not DialogueSource else reader(path))
    assert caught.value.line == before + 2


def test_a_text_that_looks_like_json_stays_text(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", json.dumps({"response": BAD[0], "context": [BAD[0]]}))
    assert [(example.response, example.context) for example in rejoinder.read(path)] == [(BAD[0], (BAD[0],))]


def test_results_of_other_tools(tmp_path: Path) -> None:
    promptfoo = '{"results": {"version": 3, "version": 3, "results": [], "stats": {}}}'
    sample = '{"doc_id": 0, "doc": {}, "filtered_resps": [], "metrics": ["acc"], "acc": 1'
    log = '{"version": 2, "status": "success", "eval": {"task": "t", "task": "u", "model": "m"}, "samples": [{}]}'
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        archive.writestr("header.json", '{"eval": {"task": "t", "model": "m", "model": "n"}}')
        archive.writestr("summaries.json", "[]")
    files = {
        written(tmp_path / "p.json", promptfoo): ":1: names the key 'version' twice",
        written(tmp_path / "l.json", log): ":1: names the key 'task' twice",
        written(tmp_path / "samples_t.jsonl", sample + ', "acc": 0}'): ":1: names the key 'acc' twice",
        written(tmp_path / "samples_u.jsonl", f'{sample}}}\n{sample}, "acc": 0}}\n'): ":2: names the key 'acc' twice",
        tmp_path / "a.eval": ": names the key 'model' twice",
    }
    for path, told in files.items():
        with pytest.raises(DataError) as caught:
            read_score_table([path], None, FieldMap(), None, None, "raise", seed=0, resamples=20)
        assert str(caught.value).startswith(f"{path}{told}")
    assert result_rows(tmp_path / "missing.json") is None


def test_score_files_their_metadata_and_manifests(tmp_path: Path) -> None:
    scores = written(tmp_path / "a.jsonl", '{"id": "1", "system": "", "scores": {"bleu": 0.5, "bleu": 0.9}}\n')
    with pytest.raises(DataError, match=r"a\.jsonl:1: names the key 'bleu' twice"):
        read_score_file(scores)
    written(scores, '{"id": "1", "system": "", "scores": {"bleu": 0.5}}\n')
    written(tmp_path / "a.meta.json", '{"scores": "a.jsonl", "seed": 1, "seed": 2}')
    with pytest.raises(DataError, match=r"a\.meta\.json: names the key 'seed' twice"):
        read_score_file(scores)
    with pytest.raises(DataError, match="m: names the key 'run' twice"):
        Manifest.of_json('{"run": {}, "run": {}}', "m")


def test_model_folders(tmp_path: Path) -> None:
    path = written(tmp_path / "config.json", '{"name": "adem", "parameters": {"seed": 1, "seed": 2}}')
    with pytest.raises(DataError, match=r"config\.json: names the key 'seed' twice"):
        read_json(path)
    with pytest.raises(DataError, match="names the key 'seed' twice"):
        read_config(tmp_path)


OWN = {
    "folders/schema.py": "json_value itself, and the parser of model folders",
    "data/files.py": "only whether a line is complete; records have the hook",
    "data/records.py": "only by which tool a record was written",
    "service/bodies.py": "has the hook",
    "folders/foreign.py": "what a library has just written",
    "text/vocabulary.py": "what a library has just written",
    "replies/causal_network.py": "what a library has just written",
    "training/train.py": "what was just written",
    "data/replay.py": "what was just written",
    "scoring/processes.py": "what was just written",
    "scoring/advice.py": "a file of this package",
    "text/vectors.py": "a cache",
    "judge/asking.py": "a cache",
    "judge/prompt.py": "text by a language model",
    "judge/wire.py": "what is shown of an answer",
    "training/distil.py": "lists of numbers of an interrupted run",
    "learning/checkpoints.py": "an interrupted run",
    "folders/outputs.py": "an interrupted run",
    "scoring/parts.py": "the log of an interrupted run; manifests have the check",
    "scoring/score_file.py": "an interrupted run, and whether a file may be replaced",
    "replies/pool.py": "only whether a file may be replaced",
}
"""Modules that may parse JSON by themselves, and why a repeated key does not matter there."""


def test_no_other_module_parses_json_by_itself() -> None:
    root = Path(rejoinder.__file__).parent
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in {("json", "loads"), ("json", "load"), ("json", "JSONDecoder")}
    }
    assert found <= OWN.keys(), "use folders.schema.json_value"

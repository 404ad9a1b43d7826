"""No command writes over anything that it reads, or over a file that is not the output of an earlier run."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from running import Run

ROWS = [{"id": str(n), "context": ["hello"], "response": f"reply {n}", "references": ["reply"]} for n in range(3)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(run: Run, folder: Path, *arguments: object) -> str:
    """The command is refused and changes nothing; what it printed."""
    before = files_in(folder)
    ran = run(*arguments)
    assert ran.code == 2, (ran.out, ran.err)
    assert ran.err.startswith("rejoinder: ")
    assert ran.err.count("\n") == 1
    assert files_in(folder) == before
    return ran.err


INPUTS = {
    ("x.jsonl.part", "x.jsonl"): "x.jsonl.part is an input, and a run into x.jsonl would write it",
    ("x.jsonl.part.json", "x.jsonl"): "x.jsonl.part.json is an input, and a run into x.jsonl would write it",
    ("x.meta.json", "x.jsonl"): "x.meta.json is an input, and a run into x.jsonl would write it",
    ("x.csv.part", "x.csv"): "x.csv.part is an input, and a run into x.csv would write it",
    ("x.jsonl", "./../folder/x.jsonl"): "../folder/x.jsonl is an input",
}


@pytest.mark.parametrize(("names", "message"), INPUTS.items(), ids=lambda value: str(value))
def test_scores_never_replace_the_replies(
    names: tuple[str, str], message: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    replies, output = names
    Path(replies).write_text(LINES, encoding="utf-8")
    told = assert_refused(run, folder, "score", replies, "-m", "length", "-o", output)
    assert told == f"rejoinder: {message}: expected another file to write to\n"
    hard, soft = Path("hard.jsonl"), Path("soft.jsonl")
    os.link(replies, hard)
    soft.symlink_to(replies)
    for other in (hard, soft):
        assert "is an input" in assert_refused(run, folder, "score", other, "-m", "length", "-o", output)


def test_temporary_files_have_names_that_nobody_has(run: Run, tmp_path: Path) -> None:
    for name in ("x.csv.tmp", "x.meta.json.tmp", "a.html.tmp"):
        (tmp_path / name).write_text(LINES, encoding="utf-8")
    (tmp_path / "x.parquet.tmp").symlink_to(tmp_path / "x.csv.tmp")
    for output in ("x.csv", "y.jsonl", "x.parquet"):
        assert run("score", "x.csv.tmp", "-m", "length", "-o", output, "--report", "a.html").code == 0
    for name in ("x.csv.tmp", "x.meta.json.tmp", "a.html.tmp"):
        assert (tmp_path / name).read_text(encoding="utf-8") == LINES
    assert (tmp_path / "x.parquet.tmp").is_symlink()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_report_never_replaces_the_replies(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(LINES, encoding="utf-8")
    told = assert_refused(run, tmp_path, "score", "a.html", "-m", "length", "--report", "a.html")
    assert told == "rejoinder: a.html is an input: expected another file to write to\n"
    (tmp_path / "scores.jsonl").write_text('{"id": "0", "system": "", "scores": {"length": 1}}\n')
    assert_refused(run, tmp_path, "report", "scores.jsonl", "--replies", "a.html", "-o", "a.html")
    assert_refused(run, tmp_path, "trust", "a.html", "-m", "length", "--report", "a.html")
    (tmp_path / "config.html").write_text("[metrics.length]\n")
    (tmp_path / "r.jsonl").write_text(LINES, encoding="utf-8")
    assert_refused(run, tmp_path, "score", "r.jsonl", "--config", "config.html", "--report", "config.html")


def test_standard_input_is_an_input(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(LINES, encoding="utf-8")
    with path.open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert_refused(run, tmp_path, "score", "-", "-m", "length", "-o", "x.jsonl")


def test_files_that_a_metric_reads_are_inputs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(LINES, encoding="utf-8")
    (tmp_path / "v.csv").write_text("reply 1 2\nhello 2 1\n")
    for spec in ("embedding-average(vectors=v.csv)", "embedding-average(vectors='v.csv')"):
        assert "v.csv is an input" in assert_refused(run, tmp_path, "score", "r.jsonl", "-m", spec, "-o", "v.csv")
    (tmp_path / "m.toml").write_text("[metrics.embedding-average]\nvectors = 'v.csv'\n")
    assert_refused(run, tmp_path, "score", "r.jsonl", "--config", "m.toml", "-o", "v.csv")


@pytest.mark.parametrize("foreign", ["x.jsonl.part", "x.jsonl.part.json"])
@pytest.mark.parametrize("more", [(), ("--resume",)])
def test_unfinished_files_of_other_programs_are_kept(
    foreign: str, more: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    (tmp_path / "r.jsonl").write_text(LINES, encoding="utf-8")
    (tmp_path / foreign).write_text('{"a": "download"}')
    told = assert_refused(run, tmp_path, "score", "r.jsonl", "-m", "length", "-o", "x.jsonl", *more)
    assert told.startswith(f"rejoinder: {foreign} is not from an interrupted run")


def test_unfinished_rows_behind_a_link_are_not_touched(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(LINES, encoding="utf-8")
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "x.jsonl.part").symlink_to("precious")
    (tmp_path / "x.jsonl.part.json").write_text('{"rejoinder": "unfinished run"}')
    assert_refused(run, tmp_path, "score", "r.jsonl", "-m", "length", "-o", "x.jsonl")


@pytest.fixture
def reply_model(run: Run, tmp_path: Path) -> Path:
    (tmp_path / "d.jsonl").write_text('{"turns": ["hello there", "hi you"]}\n{"turns": ["how are you", "fine"]}\n')
    assert run("train", "bm25", "--dialogues", "d.jsonl", "-o", "bot").code == 0
    return tmp_path / "bot"


def test_replies_never_replace_the_contexts(run: Run, reply_model: Path, tmp_path: Path) -> None:
    for name in ("x.jsonl.part", "x.pool.json", "x.jsonl.part.json"):
        (tmp_path / name).write_text('{"context": ["hello"]}\n')
        told = assert_refused(run, tmp_path, "generate", name, "--model", reply_model, "-o", "x.jsonl")
        assert told.startswith(f"rejoinder: {name} is an input, and a run into x.jsonl would write it")
        (tmp_path / "c.jsonl").write_text('{"context": ["hello"]}\n')
        assert_refused(run, tmp_path, "generate", "c.jsonl", "--model", reply_model, "-o", "x.jsonl")
        (tmp_path / name).unlink()
    assert run("generate", "c.jsonl", "--model", reply_model, "-o", "x.jsonl").code == 0
    assert run("generate", "c.jsonl", "--systems", "a=bot", "-o", "x.jsonl").code == 0, "over an earlier run"


def test_a_trained_model_never_replaces_its_data(run: Run, reply_model: Path, tmp_path: Path) -> None:
    shutil.copy("d.jsonl", reply_model / "d.jsonl")
    told = assert_refused(run, tmp_path, "train", "bm25", "--dialogues", "bot/d.jsonl", "-o", "bot")
    assert told == "rejoinder: bot holds an input: expected another folder to write to\n"
    assert_refused(run, tmp_path, "train", "fm", "--dialogues", "d.jsonl", "--write-arpa", "d.jsonl", "-o", "model")


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "r.jsonl", "-o", ""),
        ("score", "r.jsonl", "--report", ""),
        ("report", "scores.jsonl", "-o", ""),
        ("trust", "r.jsonl", "--report", ""),
        ("generate", "c.jsonl", "--model", "bot", "-o", ""),
        ("train", "bm25", "--dialogues", "d.jsonl", "-o", ""),
        ("train", "bm25", "--dialogues", "d.jsonl", "-o", "."),
        ("train", "fm", "--dialogues", "d.jsonl", "-o", "m", "--write-arpa", ""),
        ("calibrate", "default-fast", "--judged", "r.jsonl", "-o", ""),
        ("annotate", "new", "r.jsonl", "-o", ""),
        ("score", "r.jsonl", "-o", "a" * 5000 + ".jsonl"),
        ("score", "r.jsonl", "--report", "a" * 5000 + ".html"),
        ("train", "bm25", "--dialogues", "d.jsonl", "-o", "a" * 5000),
        ("train", "fm", "--dialogues", "d.jsonl", "-o", "m", "--write-arpa", "absent/x.arpa"),
        ("annotate", "new", "r.jsonl", "-o", "a" * 5000 + ".toml"),
    ],
    ids=lambda arguments: " ".join(arguments)[:50],
)
def test_names_that_cannot_be_written_are_told_before_any_work(
    arguments: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    (tmp_path / "r.jsonl").write_text(LINES, encoding="utf-8")
    (tmp_path / "d.jsonl").write_text('{"turns": ["hello there", "hi you"]}\n')
    told = assert_refused(run, tmp_path, *arguments)
    assert any(words in told for words in ("cannot write to", "absent does not exist", "output must be a path"))
    assert len(told) < 300

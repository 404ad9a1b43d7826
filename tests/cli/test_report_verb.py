"""`rejoinder report`: a score file, with or without the replies, to a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rejoinder.scoring.score_file import read_score_file

if TYPE_CHECKING:
    from running import Run


@pytest.fixture(params=[".jsonl", ".csv", ".parquet"])
def scores(request: pytest.FixtureRequest, run: Run, demo: Path, tmp_path: Path) -> Path:
    path = tmp_path / f"scores{request.param}"
    assert run("score", demo, "-m", "bleu-2", "-m", "length", "-o", path, "--quiet").code == 0
    return path


def test_with_the_replies(scores: Path, run: Run, demo: Path, tmp_path: Path) -> None:
    ran = run("report", scores, "--replies", demo, "-o", "page.html")
    assert (ran.code, ran.out, ran.err) == (0, "", "report: page.html\n")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "always meant to be sweet and sour" in page
    assert "bleu|n:2|smooth:exp" in page, "the signature of every number"


def test_without_the_replies_texts_are_left_out_and_it_says_so(scores: Path, run: Run, tmp_path: Path) -> None:
    ran = run("report", scores)
    assert (ran.code, ran.err) == (
        0,
        "note: without --replies the report has no texts\nreport: report.html\n",
    )
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "sweet and sour" not in page
    assert "bleu|n:2|smooth:exp" in page


def test_json_is_the_summary(scores: Path, run: Run, demo: Path) -> None:
    told = run("report", scores, "--replies", demo, "--json").json
    assert told["report"] == "report.html"
    assert set(told["summary"]) == {"bleu-2", "length"}


@pytest.fixture
def lines(run: Run, demo: Path, tmp_path: Path) -> Path:
    path = tmp_path / "scores.jsonl"
    assert run("score", demo, "-m", "bleu-2", "-m", "length", "-o", path, "--quiet").code == 0
    return path


def test_the_page_is_the_same_from_every_format(lines: Path, run: Run, demo: Path, tmp_path: Path) -> None:
    pages = set()
    for suffix in (".jsonl", ".csv", ".parquet"):
        name = f"as-{suffix[1:]}{suffix}"
        run("score", demo, "-m", "bleu-2", "-m", "length", "-o", name)
        assert run("report", name, "--replies", demo).code == 0
        pages.add((tmp_path / "report.html").read_text(encoding="utf-8").replace(name, "s"))
    assert len(pages) == 1


def test_replies_that_are_not_those_that_were_scored(lines: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text('{"id": "zzz", "response": "hi"}\n')
    ran = run("report", "scores.jsonl", "--replies", "other.jsonl", "-o", "page.html")
    message = "no reply of other.jsonl has the id and system of a score in scores.jsonl"
    assert (ran.code, ran.err) == (2, f"rejoinder: {message}\n")
    assert not (tmp_path / "page.html").exists()


def test_other_texts_under_the_same_ids_are_refused(scores: Path, run: Run, demo: Path, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text(demo.read_text(encoding="utf-8").replace("the", "teh"), encoding="utf-8")
    ran = run("report", scores.name, "--replies", "other.jsonl", "-o", "page.html")
    message = (
        f"other.jsonl is not what {scores.name} was made from: give the file that was scored, with the same reading "
        "options, or score this one again"
    )
    assert (ran.code, ran.err) == (2, f"rejoinder: {message}\n")
    assert not (tmp_path / "page.html").exists()


def test_without_meta_data_nobody_can_tell_whether_the_replies_are_others(
    lines: Path, run: Run, demo: Path, tmp_path: Path
) -> None:
    (tmp_path / "scores.meta.json").unlink()
    (tmp_path / "other.jsonl").write_text(demo.read_text(encoding="utf-8").replace("the", "teh"), encoding="utf-8")
    assert run("report", "scores.jsonl", "--replies", "other.jsonl").code == 0


def test_meta_data_of_another_score_file_are_not_used(lines: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("id,bleu-2\n1,0.5\n")
    table = read_score_file(tmp_path / "scores.csv")
    assert table.signatures == {"bleu-2": "unknown (scores.meta.json belongs to scores.jsonl)"}
    assert (table.ranges, table.notes) == ({}, ())


def test_scores_and_meta_data_may_be_renamed_together(lines: Path, run: Run, demo: Path, tmp_path: Path) -> None:
    before = read_score_file(lines)
    lines.rename(tmp_path / "old.jsonl")
    (tmp_path / "scores.meta.json").rename(tmp_path / "old.meta.json")
    assert read_score_file(tmp_path / "old.jsonl").signatures == before.signatures
    assert run("report", "old.jsonl", "--replies", demo).code == 0


def test_scores_without_meta_data_still_make_a_page(lines: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "scores.meta.json").unlink()
    assert run("report", lines).code == 0
    assert "unknown (no metadata next to the scores)" in (tmp_path / "report.html").read_text(encoding="utf-8")


BAD_SCORES = {
    "nothing": ("", "s.jsonl: holds no scores: expected one row per example"),
    "no id": ('{"scores": {"a": 1}}', "s.jsonl:1: field 'id': expected a row of scores: id, system, scores"),
    "replies": ('{"id": "1", "response": "hi"}', "s.jsonl:1: field 'response': expected a number or null, found 'hi'"),
    "no scores": ('{"id": "1", "scores": {}}', "s.jsonl:1: field 'scores': expected names with numbers"),
    "text": ('{"id": "1", "scores": {"a": "x"}}', "s.jsonl:1: field 'a': expected a number or null, found 'x'"),
    "digits": (f'{{"id": "1", "scores": {{"a": {"9" * 400}}}}}',
               f"s.jsonl:1: field 'a': expected a number or null, found {'9' * 40}..."),
    "infinity": ('{"id": "1", "scores": {"a": Infinity}}',
                 "s.jsonl:1: field 'a': expected a number or null, found inf"),
    "broken": ("{", "s.jsonl:1: is not valid JSON (Expecting property name enclosed in double quotes at column 2): "
                    "expected one object per line"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), BAD_SCORES.values(), ids=BAD_SCORES)
def test_what_is_no_file_of_scores(content: str, message: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(content)
    ran = run("report", "s.jsonl")
    assert (ran.code, ran.err) == (2, f"rejoinder: {message}\n")


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ("{", "s.meta.json: is not valid JSON: expected what `rejoinder score -o` wrote"),
        ('{"a": {"k": 1, "k": 2}}', "s.meta.json: names the key 'k' twice in one object: expected unique keys"),
        ("[]", "s.meta.json: expected one object, as `rejoinder score -o` wrote it"),
        (
            '{"seed": "x"}',
            "s.meta.json: field 'seed': expected a whole number of at most 4294967295, as `rejoinder score -o` wrote "
            "it",
        ),
        ("[" * 200_000, "s.meta.json: is not valid JSON: expected what `rejoinder score -o` wrote"),
    ],
    ids=lambda value: value[:20],
)
def test_meta_data_that_were_damaged(meta: str, message: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(json.dumps({"id": "1", "scores": {"a": 1}}))
    (tmp_path / "s.meta.json").write_text(meta)
    ran = run("report", "s.jsonl")
    assert (ran.code, ran.err) == (2, f"rejoinder: {message}\n")


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("scores", 1, "a file's name"),
        ("data", [], "an object"),
        ("data", {"digest": 1}, "an object"),
        ("signatures", 1, "an object of strings"),
        ("signatures", {"a": 1}, "an object of strings"),
        ("summary", {"bleu": [1]}, "an object of metrics and systems"),
        ("summary", {"bleu": {"A": 1}}, "an object of metrics and systems"),
        ("summary", {"bleu": {"A": {"corpus": "x"}}}, "an object of metrics and systems"),
        ("ranges", {"bleu": [1]}, "an object of pairs of numbers"),
        ("ranges", {"bleu": 1}, "an object of pairs of numbers"),
        ("ranges", {"bleu": [0, "x"]}, "an object of pairs of numbers"),
        ("ranges", {"bleu": [0, 10**400]}, "an object of pairs of numbers"),
        ("higher_is_better", {"bleu": 1}, "an object of true and false"),
        ("warnings", [1], "a list of strings"),
        ("seed", -1, "a whole number of at most 4294967295"),
        ("resamples", 0, "a whole number from 1 to 100000"),
    ],
)
def test_meta_data_with_a_damaged_field(field: str, value: Any, expected: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(json.dumps({"id": "1", "scores": {"bleu": 1}}))
    (tmp_path / "s.meta.json").write_text(json.dumps({field: value}))
    ran = run("report", "s.jsonl")
    message = f"s.meta.json: field '{field}': expected {expected}, as `rejoinder score -o` wrote it"
    assert (ran.code, ran.err) == (2, f"rejoinder: {message}\n")


def test_wrong_calls(lines: Path, run: Run) -> None:
    assert run("report", "gone.jsonl").err == "rejoinder: gone.jsonl: no such file\n"
    assert run("report", lines, "-o", "page.txt").err == "rejoinder: page.txt: cannot write .txt; expected .html\n"
    ran = run("report", "scores.txt")
    assert (ran.code, ran.err) == (2, "rejoinder: scores.txt: expected a score file: .jsonl, .csv, .parquet\n")

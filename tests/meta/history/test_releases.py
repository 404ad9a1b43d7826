"""Releases in a folder: what is stored, how the next one is compared with them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from running import Run, WriteLines

GOOD = "tea with milk please now"
SECRET = "xylophone"


def replies(words: int, count: int = 24, **more: Any) -> list[dict[str, Any]]:
    """Replies that have so many words of the reference, or one more."""
    return [
        {
            "id": f"r{n}",
            "context": [f"{SECRET} {n}?"],
            "response": " ".join(GOOD.split()[: words + n % 2]),
            "references": [GOOD],
            **more,
        }
        for n in range(count)
    ]


@pytest.fixture
def recorded(run: Run, write_lines: WriteLines) -> Path:
    """A folder with two releases; the second is better."""
    for name, words in (("1.0", 2), ("1.1", 4)):
        path = write_lines(replies(words), f"v{name}.jsonl")
        ran = run("history", "runs", "--add", path, "--name", name, "-m", "rouge-l", "-m", "bleu-2")
        assert ran.code == 0, ran.err
        assert f"recorded {name}: runs/{name}.jsonl" in ran.err
    return Path("runs")


def test_a_release_is_a_score_file_without_texts(recorded: Path, run: Run) -> None:
    row = json.loads((recorded / "1.0.jsonl").read_text().splitlines()[0])
    assert row.keys() == {"id", "system", "context_id", "scores"}
    meta = json.loads((recorded / "1.0.meta.json").read_text())
    assert meta["release"] == "1.0"
    assert meta["signatures"].keys() == {"rouge-l", "bleu-2"}
    assert not any(SECRET in path.read_text() for path in recorded.iterdir())
    assert run("compare", "--scores", recorded / "1.0.jsonl", recorded / "1.1.jsonl", "--json").json["better"] == "1.1"
    assert run("report", recorded / "1.0.jsonl").code == 0


def test_the_comparison_with_a_release_is_that_of_the_replies(
    recorded: Path, run: Run, write_lines: WriteLines
) -> None:
    new = write_lines(replies(3), "new.jsonl")
    with_baseline = run("compare", new, "--baseline", recorded, "--margin", 0.1, "--fail-if", "worse", "--json")
    old = Path("v1.1.jsonl").rename("1.1.jsonl")
    named = ["-m", "rouge-l", "-m", "bleu-2", "--margin", 0.1, "--fail-if", "worse", "--json"]
    both = run("compare", old, new, *named)
    assert with_baseline.code == both.code == 3
    assert with_baseline.json["comparisons"] == both.json["comparisons"]
    assert with_baseline.json["summary"] == both.json["summary"]
    assert with_baseline.json["check"] == both.json["check"]
    assert "1.1 is better than new" in with_baseline.json["verdict"]


def test_a_named_release_and_chosen_metrics(recorded: Path, run: Run, write_lines: WriteLines) -> None:
    new = write_lines(replies(3), "new.jsonl")
    ran = run("compare", new, "--baseline", recorded / "1.0.jsonl", "-m", "bleu-2", "--fail-if", "not-better", "--json")
    assert ran.code == 0
    assert list(ran.json["summary"]) == ["bleu-2"]
    assert ran.json["better"] == "new"


def test_a_report_of_the_comparison(recorded: Path, run: Run, write_lines: WriteLines) -> None:
    ran = run("compare", write_lines(replies(3), "new.jsonl"), "--baseline", recorded, "--report", "report.html")
    assert ran.code == 0
    assert "1.1" in Path("report.html").read_text()


def test_other_last_bits_are_no_difference(recorded: Path, run: Run) -> None:
    path = recorded / "1.1.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row["scores"]["rouge-l"] -= 3e-7
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = run("compare", "v1.1.jsonl", "--baseline", recorded, "-m", "rouge-l", "--fail-if", "worse", "--json")
    assert ran.json["comparisons"][0]["outcome"] == "identical"
    assert ran.code == 0
    for row in rows:
        row["scores"]["rouge-l"] -= 3e-4
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = run("compare", "v1.1.jsonl", "--baseline", recorded, "-m", "rouge-l", "--json")
    assert ran.json["comparisons"][0]["outcome"] == "better"


def test_turns_of_one_dialogue_stay_together(run: Run, write_lines: WriteLines) -> None:
    turns = [record | {"dialogue_id": f"d{n // 4}"} for n, record in enumerate(replies(4))]
    run("history", "runs", "--add", write_lines(turns, "old.jsonl"), "--name", "1", "-m", "rouge-l")
    assert "dialogue_id" in (Path("runs") / "1.jsonl").read_text()
    assert '"d0"' not in (Path("runs") / "1.jsonl").read_text()
    new = write_lines([{**record, "response": GOOD} for record in turns], "new.jsonl")
    found = run("compare", new, "--baseline", "runs", "--json").json
    assert any("belong to 6 dialogues" in warning for warning in found["warnings"])


def test_contexts_that_continue_each_other_stay_together(run: Run, write_lines: WriteLines) -> None:
    turns = [
        {"context": [f"q{n // 4}", *[f"a{n}-{turn}" for turn in range(2 * (n % 4))]][:1] + ["x", "y"] * (n % 4)}
        | {"response": "tea" + " milk" * (n % 3), "references": [GOOD, str(n)]}
        for n in range(24)
    ]
    old, new = write_lines(turns, "1.jsonl"), write_lines([{**turn, "response": GOOD} for turn in turns], "new.jsonl")
    run("history", "runs", "--add", old, "--name", "1", "-m", "rouge-l")
    found = run("compare", new, "--baseline", "runs", "--json").json
    expected = run("compare", old, new, "-m", "rouge-l", "--json").json
    assert any("belong to 6 dialogues" in warning for warning in expected["warnings"])
    assert found["comparisons"] == expected["comparisons"]


def test_scores_with_different_signatures_are_not_compared(recorded: Path, run: Run, write_lines: WriteLines) -> None:
    meta = recorded / "1.1.meta.json"
    changed = json.loads(meta.read_text())
    changed["signatures"]["rouge-l"] = "rouge-l|v:0.0.1"
    meta.write_text(json.dumps(changed))
    new = write_lines(replies(3), "new.jsonl")
    ran = run("compare", new, "--baseline", recorded)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err == (
        "rejoinder: rouge-l was not computed in the same way: 'v:0.0.1' in 1.1, 'beta:1.2' in new; "
        "expected equal signatures, so score one of them again\n"
    )
    assert run("compare", new, "--baseline", recorded, "-m", "bleu-2").code == 0
    shown = run("history", recorded)
    assert "1.1 and 1.0 cannot be compared: they were scored with different signatures." in shown.out
    assert "another signature: not compared" in shown.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new.jsonl", "--baseline", "runs/1.2.jsonl"], "unknown release in runs: '1.2.jsonl'; did you mean"),
        (["new.jsonl", "--baseline", "elsewhere"], "elsewhere: no such folder: expected one that `rejoinder history"),
        (["new.jsonl", "--baseline", "new.jsonl"], "new.jsonl: is not a release: expected a file that `rejoinder hist"),
        (["new.jsonl", "--baseline", "empty"], "empty: has no release: `rejoinder history --add` records one"),
        (["--baseline", "runs"], "--baseline needs replies to compare with it"),
        (["new.jsonl", "--baseline", "runs", "-m", "chrf"], "unknown metric of 1.1: 'chrf'"),
        (["new.jsonl", "--baseline", "runs", "--labels", "x"], "--labels cannot be used with baseline"),
        (["new.jsonl", "--baseline", "runs", "--pairwise", "x"], "--baseline is for scores of single replies"),
        (["two.jsonl", "--baseline", "runs"], "two.jsonl has the replies of several systems (a, b)"),
    ],
)
def test_wrong_baselines(arguments: list[str], message: str, recorded: Path, run: Run, write_lines: WriteLines) -> None:
    write_lines(replies(3), "new.jsonl")
    write_lines([*replies(3, system="a"), *replies(3, system="b")], "two.jsonl")
    Path("empty").mkdir()
    ran = run("compare", *arguments)
    assert ran.code == 2
    assert ran.err.startswith(f"rejoinder: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runs", "--add", "new.jsonl", "--name", "1.1"], "runs/1.1.jsonl exists: a recorded release is not changed"),
        (["runs", "--add", "new.jsonl", "--name", "../x"], "a release cannot be named '../x': expected up to 100"),
        (["runs", "--add", "new.jsonl"], "a release has replies and a name"),
        (["runs", "--name", "1.2"], "a release has replies and a name"),
        (["more", "--add", "bad.jsonl", "--name", "1"], "bad.jsonl:1: field 'response'"),
        (["no/where", "--add", "new.jsonl", "--name", "1"], "no does not exist: expected a folder to make where in"),
        (["new.jsonl", "--add", "new.jsonl", "--name", "1"], "new.jsonl is a file: expected a folder of releases"),
        (["missing"], "missing: no such folder"),
        (["runs", "-m", "chrf"], "unknown metric of these releases: 'chrf'"),
        (["runs", "--config", "x.toml"], "--config is for scoring"),
    ],
)
def test_wrong_histories(arguments: list[str], message: str, recorded: Path, run: Run, write_lines: WriteLines) -> None:
    write_lines(replies(3), "new.jsonl")
    write_lines([{"response": 1}], "bad.jsonl")
    before = sorted(Path().rglob("*"))
    ran = run("history", *arguments)
    assert ran.code == 2
    assert ran.err.startswith(f"rejoinder: {message}")
    assert sorted(Path().rglob("*")) == before


def test_damaged_releases(recorded: Path, run: Run) -> None:
    path = recorded / "1.1.jsonl"
    rows = path.read_text().splitlines()
    path.write_text("\n".join([rows[0], rows[1].replace('"context_id"', '"context"')]) + "\n")
    assert run("history", recorded).err.startswith(f"rejoinder: {path}:2: field 'context_id': expected the hash of a c")
    path.write_text(rows[0].replace('"1.1"', '"1.7"') + "\n")
    assert "has other systems than '1.1'" in run("history", recorded).err

"""Results of promptfoo as scores to compare.

The file was written by promptfoo 0.121.20: 8 tests, two prompts, two providers of ours, assertions of which two are
named metrics; one provider fails in test 5. Token counts and settings were removed. The expected means are promptfoo's
own sums, divided by the tests that did not end in an error.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rejoinder
from rejoinder.data.results import result_rows
from rejoinder.errors import DataError

if TYPE_CHECKING:
    from running import Run

FILE = Path(__file__).parent / "files" / "promptfoo.json"
FIRST, SECOND = "Is table {{n}} free?", "Guest: is table {{n}} free tonight?"


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def test_the_means_are_those_of_promptfoo() -> None:
    found = document()["results"]["prompts"]
    summary = rejoinder.compare(scores=FILE).table.summary()
    for prompt in found:
        system, told = f"{prompt['provider']}: {prompt['label']}", prompt["metrics"]
        tested = told["testPassCount"] + told["testFailCount"]
        assert summary["score"][system].mean == pytest.approx(told["score"] / tested)
        assert summary["pass"][system].mean == pytest.approx(told["testPassCount"] / tested)
        for name in ("helpful", "short"):
            assert summary[name][system].mean == pytest.approx(told["namedScores"][name] / tested)
            assert summary[name][system].n == tested
    assert len(found) == 4


@pytest.mark.parametrize(
    ("kept", "systems"),
    [
        (lambda result: result["prompt"]["label"] == FIRST, {"old", "new"}),
        (lambda result: result["provider"]["label"] == "old", {FIRST, SECOND}),
    ],
)
def test_systems_are_providers_or_prompts(kept: Any, systems: set[str], tmp_path: Path) -> None:
    found = document()
    found["results"]["results"] = list(filter(kept, found["results"]["results"]))
    (tmp_path / "part.json").write_text(json.dumps(found))
    compared = rejoinder.compare(scores=tmp_path / "part.json")
    assert set(compared.table.system_names) == systems
    assert compared.verdicts[0].result.paired


def test_equal_variables_are_paired_whatever_their_place(tmp_path: Path) -> None:
    """Two runs of one provider; the second has another test before the first."""
    old, new = document(), document()
    for found, shift in ((old, 0), (new, 1)):
        found["results"]["results"] = [
            {**result, "testIdx": result["testIdx"] + shift}
            for result in found["results"]["results"]
            if result["promptIdx"] == 0
        ]
    extra = {**new["results"]["results"][0], "testIdx": 0, "vars": {"n": 99, "_conversation": []}}
    new["results"]["results"].insert(0, extra)
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for path, found in zip(files, (old, new), strict=True):
        path.write_text(json.dumps(found))
    compared = rejoinder.compare(scores=files)
    assert compared.table.system_names == ("old:old", "new:old")
    assert compared.verdicts[0].outcome == "identical"
    assert compared.verdicts[0].n == 8


def test_a_test_that_ended_in_an_error_has_no_scores() -> None:
    rows: Any = result_rows(FILE)
    failed = [row for row in rows if row["scores"]["score"] is None]
    assert {(row["id"], row["system"].partition(":")[0]) for row in failed} == {("5", "new")}
    assert len(failed) == 2


def test_the_command(run: Run) -> None:
    ran = run("compare", "--scores", FILE, "-m", "helpful")
    assert ran.code == 0
    assert "No significant difference between any of the 4 systems on helpful" in ran.out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found["results"].update(results=[]), "is a file of promptfoo without results"),
        (lambda found: found["results"]["results"][3].pop("vars"), r"has an unexpected structure \(KeyError: 'vars'\)"),
        (lambda found: found["results"].update(results=[3]), r"has an unexpected structure \(TypeError"),
    ],
)
def test_damaged_files(change: Any, message: str, tmp_path: Path) -> None:
    found = document()
    change(found)
    (tmp_path / "bad.json").write_text(json.dumps(found))
    with pytest.raises(DataError, match=rf"bad\.json: {message}"):
        rejoinder.compare(scores=tmp_path / "bad.json")

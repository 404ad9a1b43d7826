"""Checks for continuous integration: `compare --fail-if` and `score --fail-under`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rejoinder

if TYPE_CHECKING:
    from running import Run, WriteLines

BETTER, WORSE = "tea with milk please", "milk tea"


@pytest.fixture
def two(write_lines: WriteLines) -> tuple[Path, Path]:
    def replies(response: str) -> list[dict[str, object]]:
        return [
            {"context": [f"q{n}"], "response": response + " now" * (n % 3), "references": [BETTER]} for n in range(12)
        ]

    return write_lines(replies(BETTER), "old.jsonl"), write_lines(replies(WORSE), "new.jsonl")


def test_a_worse_candidate_ends_with_exit_code_3(run: Run, two: tuple[Path, Path]) -> None:
    old, new = two
    ran = run("compare", old, new, "-m", "rouge-l", "--fail-if", "worse", "--quiet")
    assert ran.code == 3
    assert ran.out.startswith("old is better than new")  # the comparison is shown all the same
    assert ran.err.startswith("rejoinder: check failed: rouge-l: old is better than new by ")
    assert run("compare", new, old, "-m", "rouge-l", "--fail-if", "worse").code == 0
    assert run("compare", new, old, "-m", "rouge-l", "--fail-if", "not-better").code == 0
    assert run("compare", old, old, "-m", "rouge-l", "--fail-if", "not-better").code != 0


def test_json_holds_the_check(run: Run, two: tuple[Path, Path]) -> None:
    ran = run("compare", *two, "-m", "rouge-l", "--fail-if", "worse", "--margin", "0.9", "--json")
    assert ran.code == 0
    assert ran.json["check"]["passed"] is True
    assert ran.json["check"]["fail_if"] == "worse"
    assert "check" not in run("compare", *two, "-m", "rouge-l", "--json").json


def test_a_metric_that_does_not_say_what_is_better(run: Run, two: tuple[Path, Path]) -> None:
    ran = run("compare", *two, "-m", "length", "--fail-if", "worse")
    assert (ran.code, ran.out) == (2, "")
    assert "length does not say which replies are better" in ran.err


def test_a_mean_below_the_threshold_ends_with_exit_code_3(run: Run, two: tuple[Path, Path]) -> None:
    ran = run("score", two[1], "-m", "rouge-l", "-o", "scores.jsonl", "--fail-under", "rouge-l=0.9", "--json")
    assert ran.code == 3
    mean = ran.json["summary"]["rouge-l"][""]["mean"]
    assert ran.json["failed_checks"][0].startswith(f"rouge-l is {mean:.3f} [")
    assert ran.err.splitlines()[-1].startswith("rejoinder: check failed: rouge-l is ")
    assert len([json.loads(line) for line in Path("scores.jsonl").read_text().splitlines()]) == 12
    assert run("score", two[1], "-m", "rouge-l", "--fail-under", f"rouge-l={mean - 1e-9}").code == 0


def test_each_system_is_checked(run: Run, write_lines: WriteLines) -> None:
    rows = [{"system": system, "response": "tea " * count} for system, count in (("a", 2), ("b", 5))]
    ran = run("score", write_lines(rows), "-m", "length", "--fail-under", "length=3")
    assert ran.code == 3
    assert "check failed: length of a is 2.000" in ran.err
    assert "length of b" not in ran.err


def test_a_mean_that_is_unknown_does_not_pass(run: Run, write_lines: WriteLines) -> None:
    rows = [{"response": "zzqx vvrr", "references": ["qqkk"]}] * 2
    ran = run("score", write_lines(rows), "-m", "embedding-average", "--fail-under", "embedding-average=0")
    assert ran.code == 3
    assert "embedding-average is unknown: no reply could be scored" in ran.err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("length", "a threshold must be NAME=NUMBER, such as default=3.2, not 'length'"),
        ("length=", "a threshold must be NAME=NUMBER"),
        ("=3", "a threshold must be NAME=NUMBER"),
        ("length=nan", "a threshold must be NAME=NUMBER"),
        ("lenght=3", "unknown metric of the threshold 'lenght'; did you mean length?"),
        ("repetition=1", "lower scores of repetition are better"),
    ],
)
def test_thresholds_that_make_no_sense(given: str, message: str, run: Run, two: tuple[Path, Path]) -> None:
    ran = run("score", two[0], "-m", "length", "-m", "repetition", "-o", "scores.jsonl", "--fail-under", given)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err.splitlines()[-1]
    assert not Path("scores.jsonl").exists()


def test_a_log_without_its_package_is_refused_before_scoring(
    run: Run, two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = run("score", two[0], "-m", "length", "--log", "mlflow")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "rejoinder: --log mlflow needs a package that is not installed: pip install mlflow\n"


def test_the_table_gives_the_failures_of_its_means(two: tuple[Path, Path]) -> None:
    table = rejoinder.score(two[1], ["rouge-l", "repetition"])
    mean = table.summary()["rouge-l"][""].mean
    [failure] = table.failures({"rouge-l": mean + 0.01})
    assert failure.startswith(f"rouge-l is {mean:.3f} [")
    assert table.failures({"rouge-l": mean}) == table.undecided(["rouge-l"]) == []
    for lowest, message in (({"bleu": 1}, "unknown metric of the threshold"), ({"repetition": 1}, "lower scores of")):
        with pytest.raises(rejoinder.RejoinderError, match=message):
            table.failures(lowest)

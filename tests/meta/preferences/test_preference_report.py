"""`preferences`: the ranking, its verdict, and its forms, which must not contradict each other."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rejoinder
from rejoinder.cli import main


def preferences(wins: int, losses: int, ties: int = 0, a: str = "new", b: str = "old") -> list[dict[str, Any]]:
    winners = [a] * wins + [b] * losses + ["tie"] * ties
    return [{"context": [f"{a}{b}{n}"], "a": a, "b": b, "winner": winner} for n, winner in enumerate(winners)]


def test_a_clear_winner() -> None:
    report = rejoinder.prefer(preferences(60, 20, 10))
    assert report.verdict.startswith(
        "People prefer new to old (new wins 72% of comparisons, ties counting half; difference of strengths 1.10 ["
    )
    assert report.verdict.endswith("], p < 0.001).")
    assert [(row.system, row.group, row.wins, row.ties, row.losses) for row in report.systems] == [
        ("new", 1, 60, 10, 20),
        ("old", 2, 20, 10, 60),
    ]
    assert report.pair("old", "new") is report.pairs[0]


def test_no_clear_winner() -> None:
    verdict = rejoinder.prefer(preferences(22, 20, 10)).verdict
    assert verdict.startswith("No significant difference between new and old (new wins 52% of comparisons")


@pytest.mark.parametrize("wins", range(25, 40))
def test_the_verdict_and_its_interval_agree(wins: int) -> None:
    report = rejoinder.prefer(preferences(wins, 50 - wins, 6), resamples=200)
    (pair,) = report.pairs
    assert report.verdict.startswith("People prefer") == pair.significant == (not pair.difference.covers(0))


def test_the_strongest_of_three() -> None:
    data = [*preferences(40, 5, a="x", b="z"), *preferences(40, 5, a="y", b="z"), *preferences(22, 20, a="x", b="y")]
    report = rejoinder.prefer(data)
    assert report.verdict == "x is the strongest, but not significantly stronger than y."
    assert [row.group for row in report.systems] == [1, 1, 2]


def test_systems_that_were_never_compared_are_ranked_apart() -> None:
    report = rejoinder.prefer([*preferences(30, 5), *preferences(3, 3, a="left", b="right")])
    assert "2 sets without any comparison between them" in report.verdict
    assert report.verdict.startswith("People prefer new to old")
    assert report.pair("new", "left") is None
    assert report.to_dict()["ranking"][2]["component"] != report.to_dict()["ranking"][0]["component"]


def test_a_system_that_never_loses_is_said_to_have_an_infinite_strength() -> None:
    report = rejoinder.prefer(preferences(30, 0))
    assert "the most likely strengths are infinite" in report.verdict
    assert np.isfinite(report.systems[0].strength.high)


def test_all_ties_and_one_context() -> None:
    assert rejoinder.prefer(preferences(0, 0, 9)).verdict.startswith("No significant difference")
    many_raters = [record for record in preferences(1, 0) for _ in range(9)]
    apart = rejoinder.prefer([*many_raters, *preferences(2, 2, a="x", b="y")])
    assert apart.verdict.startswith("One context is too few to compare new, old.")
    assert rejoinder.prefer(preferences(1, 0)).verdict.startswith("One context is too few to compare new, old.")


def test_raters_of_one_context_are_not_independent() -> None:
    once = preferences(36, 24)
    often = [{**record, "rater": f"r{rater}"} for record in once for rater in range(8)]
    few, many = rejoinder.prefer(once), rejoinder.prefer(often)
    assert many.raters == 8
    assert many.pairs[0].p_value == pytest.approx(few.pairs[0].p_value, abs=0.05)
    without = [{key: value for key, value in record.items() if key != "context"} for record in often]
    blind = rejoinder.prefer(without)
    assert blind.pairs[0].p_value < 0.001
    assert blind.notes == ("the records have no contexts, so preferences are taken as independent of each other",)


def test_lengths_are_controlled_where_the_replies_are_known() -> None:
    data = [
        {**record, "response_a": "word " * (1 + 3 * (n < 40)), "response_b": "word"}
        for n, record in enumerate(preferences(40, 20))
    ]
    controlled = rejoinder.prefer(data).pairs[0].controlled
    assert controlled is not None
    assert controlled.n == 60
    text = str(rejoinder.prefer(data))
    assert "Win rates at equal lengths" in text
    assert rejoinder.prefer(preferences(40, 20)).pairs[0].controlled is None


def test_table_json_latex_and_verdict_agree() -> None:
    report = rejoinder.prefer(preferences(60, 20, 10))
    values = report.to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["verdict"] in str(report)
    pair = values["pairs"][0]
    assert pair["significant"] == (pair["difference"]["low"] > 0 or pair["difference"]["high"] < 0)
    assert (values["ranking"][0]["system"], values["ranking"][0]["group"]) == ("new", 1)
    assert r"new & 1 & " in report.to_latex()


def test_the_verb(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "preferences.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in preferences(30, 10, a="a_\x1b[2J", b="B&B")))
    assert main(["prefer", str(file)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("People prefer a_\\u001b[2J to B&B")
    assert main(["prefer", str(file), "--latex", "--model", "bradley-terry"]) == 0
    assert r"B\&B & 2" in capsys.readouterr().out
    assert main(["prefer", str(file), "--json", "--resamples", "20"]) == 0
    assert json.loads(capsys.readouterr().out)["contexts"] == 40


def test_wrong_calls(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    assert main(["prefer", str(tmp_path / "empty.jsonl")]) == 2
    assert "has no preferences: expected at least one" in capsys.readouterr().err
    with pytest.raises(rejoinder.CallError, match="model must be 'davidson' or 'bradley-terry', not 'elo'"):
        rejoinder.prefer(preferences(2, 2), model="elo")
    bad = [*preferences(5, 5), {"a": "x"}]
    assert rejoinder.prefer(bad, on_error="skip").skipped == (
        "<list>:11: field 'b': is missing: expected the name of a system",
    )


@pytest.mark.parametrize(
    ("wins", "losses", "worse", "not_better"),
    [(60, 20, True, True), (20, 60, False, False), (22, 20, True, False), (1, 0, False, False)],
)
def test_the_gate(
    wins: int, losses: int, *, worse: bool, not_better: bool, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    data = preferences(wins, losses)
    ranked = rejoinder.prefer(data)
    assert ranked.gate("worse", baseline="old").passed == worse
    assert ranked.gate("not-better", baseline="old").passed == not_better
    path = tmp_path / "preferences.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in data))
    for fail_if, passed in (("worse", worse), ("not-better", not_better)):
        assert main(["prefer", str(path), "--fail-if", fail_if, "--baseline", "old", "--json"]) == (0 if passed else 3)
        out, err = capsys.readouterr()
        assert json.loads(out)["check"]["passed"] == passed
        assert ("check failed" in err) != passed


def test_a_gate_needs_a_baseline_and_two_systems(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(rejoinder.RejoinderError, match="unknown baseline 'odl'; did you mean old"):
        rejoinder.prefer(preferences(9, 9)).gate("worse", baseline="odl")
    three = [*preferences(9, 9), *preferences(9, 9, a="new", b="other")]
    with pytest.raises(rejoinder.CallError, match="expected two systems, found 3"):
        rejoinder.prefer(three).gate("worse", baseline="old")
    assert main(["prefer", str(tmp_path / "absent.jsonl"), "--fail-if", "worse"]) == 2
    assert "--fail-if needs --baseline" in capsys.readouterr().err

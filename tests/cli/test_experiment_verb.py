"""`rejoinder experiment`: every study from the command line, in every form, resumed, and called wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from learning_ridge import RidgeEvaluator, synthetic
from rejoinder import registry
from rejoinder.cli.experiment import STUDIES
from rejoinder.meta.experiments.cross_validation import cross_validate
from rejoinder.meta.judged import JudgedSet

if TYPE_CHECKING:
    from pathlib import Path

    from running import Run, WriteLines

QUICK = ("--resamples", "20", "--quiet", "--folds", "2")


@pytest.fixture(autouse=True)
def sets(monkeypatch: pytest.MonkeyPatch, write_lines: WriteLines) -> None:
    """An evaluator that is registered for the test, and two judged files."""
    monkeypatch.setitem(registry.EVALUATORS, "ridge", "learning_ridge:RidgeEvaluator")
    RidgeEvaluator.fits.clear()
    for name, judged in (("ours", synthetic(contexts=30)), ("theirs", synthetic(contexts=20, seed=1, name="other"))):
        write_lines(records(judged, "overall" if name == "ours" else "coherence"), f"{name}.jsonl")


def records(judged: JudgedSet, dimension: str) -> list[dict[str, object]]:
    return [
        {
            "id": item.example.id,
            "context": item.example.context,
            "response": item.example.response,
            "system": item.example.system,
            "scores": {dimension: item.scores["overall"]},
            "split": item.split,
        }
        for item in judged.judged_examples()
    ]


def test_the_table_is_that_of_the_function(run: Run, tmp_path: Path) -> None:
    call = ["experiment", "cross-validation", "--evaluator", "ridge(alpha=2.0)", "--judged", "ours.jsonl", *QUICK]
    expected = cross_validate(RidgeEvaluator(alpha=2.0), tmp_path / "ours.jsonl", folds=2, resamples=20)
    assert run(*call).out == f"{expected}\n"
    assert run(*call, "--json").json == {"study": "cross-validation", **expected.to_dict()}
    latex = run(*call, "--latex").out
    assert latex.startswith(r"\begin{tabular}{llrrrr}")
    assert r"ridge & all folds & 90 & 30 & " in latex
    assert run(*call, "--report", "report.html").code == 0
    assert "cross-validated" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_resumes(study: str, run: Run) -> None:
    call = ["experiment", study, "--evaluator", "ridge", "--judged", "ours.jsonl", *QUICK, "--folder", "cells"]
    call += ["--judged", "theirs.jsonl", "--dimension", "ours=overall", "--dimension", "theirs=coherence"] * (
        study == "transfer"
    )
    first = run(*call, "--json").json
    assert first["study"] == study
    assert first["rows"]
    fitted = len(RidgeEvaluator.fits)
    assert fitted
    assert run(*call, "--json").json == first
    assert len(RidgeEvaluator.fits) == fitted, "nothing was fitted again"


def test_few_labels_are_those_that_there_are(run: Run) -> None:
    found = run("experiment", "low-resource", "--evaluator", "ridge", "--judged", "ours.jsonl", *QUICK, "--json").json
    assert [row["amount"] for row in found["rows"]] == ["25 labels", "100 %"], "a fold has 45 labels to learn from"
    call = ["experiment", "low-resource", "--evaluator", "ridge", "--judged", "ours.jsonl", *QUICK, "--seeds", "4"]
    assert [row["amount"] for row in run(*call, "--counts", "12", "--json").json["rows"]] == ["12 labels", "100 %"]


def test_dialogues_of_a_set_may_be_in_several_files(run: Run, write_lines: WriteLines) -> None:
    for name in ("first", "second"):
        write_lines([{"turns": [f"the {name} turn of a dialogue", f"the {name} reply to that turn"]}], f"{name}.jsonl")
    call = [
        "experiment",
        "transfer",
        "--evaluator",
        "ridge",
        "--judged",
        "ours.jsonl",
        "--judged",
        "theirs.jsonl",
        *QUICK,
    ]
    call += ["--dimension", "ours=overall", "--dimension", "theirs=coherence"]
    call += ["--dialogues", "ours=first.jsonl", "--dialogues", "ours=second.jsonl"]
    assert run(*call).code == 0
    assert {len(data.dialogues) for data in RidgeEvaluator.fits} == {0, 2}


def test_two_evaluators_of_one_name_are_told_apart(run: Run) -> None:
    both = ("--evaluator", "ridge", "--evaluator", "ridge(alpha=9.0)")
    found = run("experiment", "cross-validation", *both, "--judged", "ours.jsonl", *QUICK, "--json").json
    assert {row["evaluator"] for row in found["rows"]} == {"ridge", "ridge(alpha=9.0)"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["cross-validation", "--evaluator", "bleu"], "unknown evaluator to train: 'bleu'"),
        (["cross-validation", "--evaluator", "rige"], "did you mean ridge"),
        (
            ["cross-validation", "--evaluator", "ridge", "--counts", "3"],
            "--counts is for label-amounts and low-resource",
        ),
        (["cross-validation", "--evaluator", "ridge", "--judged", "theirs.jsonl"], "needs a single --judged, found 2"),
        (["cross-validation", "--evaluator", "ridge", "--folds", "1"], "folds must be a number of at least 2"),
        (["cross-validation", "--evaluator", "ridge", "--dimension", "overal"], "did you mean overall?"),
        (["cross-validation", "--evaluator", "ridge", "--report", "r.txt"], "cannot write .txt"),
        (["label-amounts", "--evaluator", "ridge", "--fractions", "2"], "must be above 0 and at most 1"),
        (["low-resource", "--evaluator", "ridge", "--counts", "4000"], "4000 labels were requested"),
        (["transfer", "--evaluator", "ridge"], "expected at least two judged sets"),
        (
            ["transfer", "--evaluator", "ridge", "--judged", "theirs.jsonl", "--dimension", "mine=overall"],
            "unknown judged set 'mine'",
        ),
        (
            [
                "transfer",
                "--evaluator",
                "ridge",
                "--judged",
                "theirs.jsonl",
                "--dimension",
                "ours=a",
                "--dimension",
                "ours=b",
            ],
            "expected one --dimension, or SET=NAME for each judged set, found a, b",
        ),
        (["cross-validation", "--evaluator", "ridge", "--dialogues", "none.jsonl"], "none.jsonl"),
    ],
)
def test_a_wrong_call_is_one_line(arguments: list[str], problem: str, run: Run) -> None:
    ran = run("experiment", *arguments, "--judged", "ours.jsonl", "--resamples", "20")
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert ran.err.count("\n") == 1

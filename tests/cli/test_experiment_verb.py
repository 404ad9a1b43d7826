"""`rejoinder experiment`: every study from the command line, in every form, resumed, and called wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from learning_ridge import RidgeEvaluator, synthetic
from rejoinder import registry
from rejoinder.data.judged import JudgedSet
from rejoinder.learning.data import TrainingData
from rejoinder.options import described
from rejoinder.trusting.cross_validation import cross_validate
from rejoinder.trusting.label_curves import COUNTS, FRACTIONS

if TYPE_CHECKING:
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
    assert run(*call, "--json").json == {
        "experiment": "cross-validation",
        "study": "cross-validation",
        **expected.to_dict(),
    }
    latex = run(*call, "--latex").out
    assert latex.startswith(r"\begin{tabular}{llrrrr}")
    assert r"ridge & all folds & 90 & 30 & " in latex
    assert run(*call, "--report", "report.html").code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "cross-validated" in page
    assert "Tested on 2 folds that share no context." in page
    assert page.count("<details") == 1, "the only study is visible at once; notes and terms are folded"


@pytest.mark.parametrize("study", described("trusting.experiment:experiment")[0].choices)
def test_every_study_resumes(study: str, run: Run) -> None:
    call = ["experiment", study, "--evaluator", "ridge", "--judged", "ours.jsonl", *QUICK, "--folder", "cells"]
    call += ["--judged", "theirs.jsonl", "--dimension", "ours=overall", "--dimension", "theirs=coherence"] * (
        study == "transfer"
    )
    first = run(*call, "--json").json
    assert first["experiment"] == study
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


def test_a_split_that_shares_contexts_names_the_way_to_go_on(run: Run, write_lines: WriteLines) -> None:
    splits = ("train", "valid", "test")
    rows = [{**row, "split": splits[place % 3]} for place, row in enumerate(records(synthetic(contexts=30), "overall"))]
    write_lines(rows, "by-reply.jsonl")
    call = ["experiment", "cross-validation", "--evaluator", "ridge", "--judged", "by-reply.jsonl", "--resamples", "20"]
    call += ["--folds", "published"]
    refused = run(*call)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "30 of 30 test replies" in refused.err
    assert "--allow-leakage REASON" in refused.err
    allowed = run(*call, "--allow-leakage", "the paper's split is by reply")
    assert allowed.code == 0
    assert "Leakage, which was allowed (the paper's split is by reply)" in allowed.out


@pytest.mark.parametrize(
    ("finished", "folder", "note"),
    [
        (1, ["--folder", "cells"], f"finished fits are in {Path('cells', 'cells.jsonl')}: run the same command"),
        (0, ["--folder", "cells"], "no fit was finished, so none is in cells"),
        (1, [], "no fit was kept: with --folder FOLDER, the same command continues from the finished fits"),
    ],
)
def test_an_interrupt_says_what_is_kept(
    finished: int, folder: list[str], note: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ["experiment", "cross-validation", "--evaluator", "ridge", "--judged", "ours.jsonl", "--resamples", "20"]
    call += ["--folds", "3", *folder]
    learn = RidgeEvaluator.learn

    def interrupted(self: RidgeEvaluator, data: TrainingData) -> Mapping[str, Any]:
        if len(self.fits) == finished:
            raise KeyboardInterrupt
        return learn(self, data)

    with monkeypatch.context() as during:
        during.setattr(RidgeEvaluator, "learn", interrupted)
        ran = run(*call)
    assert (ran.code, ran.out) == (130, "")
    first, last = ran.err.splitlines()
    assert first.startswith(note)
    assert last == "rejoinder: interrupted"
    RidgeEvaluator.fits.clear()
    assert run(*call).code == 0
    assert len(RidgeEvaluator.fits) == (3 - finished if folder else 3)


def test_decodings_are_merged_into_one_system(run: Run, write_lines: WriteLines) -> None:
    made = synthetic(contexts=20, systems=["mybot v1 greedy", "mybot v1 sample", "human"])
    write_lines(records(made, "overall"), "decodings.jsonl")
    call = ["experiment", "leave-one-system-out", "--evaluator", "ridge", "--judged", "decodings.jsonl", *QUICK]
    found = run(*call, "--system-words", "2", "--json").json
    assert list(dict.fromkeys(row["not trained on"] for row in found["rows"])) == [
        "mybot v1",
        "human",
        "average",
        "at random",
    ]


def test_each_set_needs_dialogues_where_the_evaluator_does(run: Run, write_lines: WriteLines) -> None:
    write_lines([{"turns": ["the turn of a dialogue", "the reply to that turn"]}], "some.jsonl")
    call = ["experiment", "transfer", "--evaluator", "am", "--judged", "ours.jsonl", "--judged", "theirs.jsonl", *QUICK]
    ran = run(*call, "--dialogues", "ours=some.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert "am learns from dialogues: expected dialogues of theirs as well" in ran.err


def test_the_help_names_the_defaults(run: Run) -> None:
    shown = " ".join(run("experiment", "--help").out.split())
    assert f"(default: {' '.join(f'{share:g}' for share in FRACTIONS)})" in shown
    assert f"(default: {' '.join(map(str, COUNTS))}, as far as every training set has more)" in shown


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["cross-validation", "--evaluator", "bleu"], "unknown evaluator to train: 'bleu'"),
        (["cross-validation", "--evaluator", "rige"], "did you mean ridge"),
        (
            ["cross-validation", "--evaluator", "ridge", "--counts", "3"],
            "--counts is for label-amounts and low-resource",
        ),
        (
            ["cross-validation", "--evaluator", "ridge", "--judged", "theirs.jsonl"],
            "needs a single judged set, found 2",
        ),
        *(
            (
                ["cross-validation", "--evaluator", "ridge", "--folds", folds],
                "--folds must be a whole number of at least 2, or 'published', not ",
            )
            for folds in ("x", "1", "2.5", "Published")
        ),
        (
            ["cross-validation", "--evaluator", "ridge", "--system-words", "1"],
            "--system-words is for leave-one-system-out, not for cross-validation",
        ),
        (
            ["leave-one-system-out", "--evaluator", "ridge", "--system-words", "0"],
            "--system-words must be a whole number of at least 1",
        ),
        (["cross-validation", "--evaluator", "ridge", "--dimension", "overal"], "did you mean overall?"),
        (["cross-validation", "--evaluator", "ridge", "--report", "r.txt"], "cannot write .txt"),
        (["label-amounts", "--evaluator", "ridge", "--fractions", "2"], "each a number above 0 and of at most 1"),
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
            "expected one dimension for each judged set, found ours=a, ours=b",
        ),
        (["cross-validation", "--evaluator", "ridge", "--dialogues", "none.jsonl"], "none.jsonl"),
        (["cross-validation", "--evaluator", "am"], "am learns from dialogues: expected dialogues"),
        (
            ["cross-validation", "--evaluator", "ridge", "--json", "--latex"],
            "--latex: not allowed with argument --json",
        ),
    ],
)
def test_a_wrong_call_is_one_line(arguments: list[str], problem: str, run: Run) -> None:
    ran = run("experiment", *arguments, "--judged", "ours.jsonl", "--resamples", "20")
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert ran.err.count("\n") == 1

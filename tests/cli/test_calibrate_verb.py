"""`rejoinder calibrate`, and `rejoinder score --intervals` with what it made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rejoinder import registry
from rejoinder.scoring import run as local
from rejoinder.scoring.score_file import read_score_file
from small_evaluators import Lengthy, judged

if TYPE_CHECKING:
    from running import Run, WriteLines


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(registry.EVALUATORS, "lengthy", "small_evaluators:Lengthy")
    Lengthy().fit((), judged(), seed=3).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def labelled(write_lines: WriteLines) -> Path:
    """New contexts, with ratings from 0 to 2."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 10, 300)
    ratings = np.clip(np.round((lengths[:, None] / 5 + rng.normal(0, 0.5, (300, 3))) * 2) / 2, 0, 2)
    return write_lines(
        (
            {
                "id": str(row),
                "context": [f"a new question, number {row // 3}"],
                "response": " ".join(["word"] * length),
                "scores": {"overall": ratings[row].tolist()},
            }
            for row, length in enumerate(lengths.tolist())
        ),
        "judged.jsonl",
    )


def test_calibrate_says_what_it_is_worth_and_writes_the_model(run: Run, model: Path, labelled: Path) -> None:
    (model / "other.weights").write_text("kept as they are")
    told = run("calibrate", model, "--judged", labelled, "--scale", 0, 2, "-o", "out", "--json")
    assert told.code == 0, told.err
    assert told.json["replies"] == 300
    assert told.json["contexts"] == 100
    assert 0.85 < told.json["coverage"]["estimate"] < 0.97
    assert told.json["coverage"]["low"] < told.json["coverage"]["high"]
    assert told.json["spearman"]["before"] == told.json["spearman"]["after"]
    assert told.json["pearson"]["after"]["estimate"] > 0.5
    assert "model: out (rejoinder score REPLIES -m out --intervals -o scores.jsonl)" in told.err
    assert (model.parent / "out" / "other.weights").read_text() == "kept as they are"
    assert not Lengthy.load(model).gives_intervals
    loaded = Lengthy.load("out")
    assert loaded.gives_intervals
    assert json.loads(Path("out", "config.json").read_text())["signature"] == loaded.signature


def test_calibrating_again_in_place_begins_with_the_raw_scores(run: Run, model: Path, labelled: Path) -> None:
    call = ("calibrate", model, "--judged", labelled, "-o", model, "--quiet")
    first = run(*call)
    assert first.code == 0, first.err
    assert first.err == ""
    assert first.out.startswith("overall, 0 to 2: 300 replies, 100 contexts\ncorrelation with people")
    assert "90% intervals contain 9" in first.out
    before = (model / "config.json").read_bytes()
    assert run(*call).out == first.out
    assert (model / "config.json").read_bytes() == before


def test_what_it_was_trained_or_is_tested_on_is_left_out(
    run: Run, model: Path, labelled: Path, write_lines: WriteLines
) -> None:
    rows = [json.loads(line) for line in labelled.read_text().splitlines()]
    for row in rows[:30]:
        row["split"] = "test"
    for row, item in zip(rows[30:50], judged(), strict=False):
        row["context"] = list(item.example.context)
    mixed = write_lines(rows, "mixed.jsonl")
    ran = run("calibrate", model, "--judged", mixed, "-o", "out")
    assert "note: 30 of 300 replies are left out: they are of the split test\n" in ran.err
    assert "note: 20 of 300 replies are left out: the evaluator was trained on their context\n" in ran.err
    assert "250 replies" in ran.out


def test_what_cannot_be_calibrated(run: Run, model: Path, labelled: Path, write_lines: WriteLines) -> None:
    few = write_lines(map(json.loads, labelled.read_text().splitlines()[:30]), "few.jsonl")
    for arguments, expected in (
        ((model, "--judged", few, "-o", "out"), "10 contexts with scored and judged replies are too few"),
        ((model, "--judged", labelled, "--scale", 0, 1, "-o", "out"), "expected 0 to 1, the scale"),
        ((model, "--judged", labelled, "--dimension", "overal", "-o", "out"), "did you mean overall"),
        ((model, "--judged", labelled, "-o", labelled), "is a file: expected a folder"),
        ((model, "--judged", labelled, "-o", "no/where"), "does not exist"),
        ((labelled.parent, "--judged", labelled, "-o", "out"), "holds no evaluator"),
        ((model, "--judged", labelled, "-o", "out", "--level", 2), "level must be a number from 0.5 to 0.99, not 2"),
    ):
        ran = run("calibrate", *arguments)
        assert ran.code == 2
        assert expected in ran.err
        assert not Path("out").exists()


@pytest.fixture
def calibrated(run: Run, model: Path, labelled: Path) -> Path:
    assert run("calibrate", model, "--judged", labelled, "-o", model).code == 0
    return model


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_intervals_are_written_and_read_back(suffix: str, run: Run, calibrated: Path, labelled: Path) -> None:
    name = str(calibrated)
    ran = run("score", labelled, "-m", name, "-m", "length", "--intervals", "-o", f"s{suffix}", "--json")
    assert ran.code == 0, ran.err
    assert list(ran.json["summary"]) == [name, "length"], "bounds are not metrics"
    table = read_score_file(Path(f"s{suffix}"))
    assert table.metrics == (name, "length")
    assert list(table.columns) == [name, f"{name}.low", f"{name}.high", "length"]
    low, high = table.intervals[name]
    assert ((low <= table[name]) & (table[name] <= high)).all()
    assert table.to_polars().columns == ["id", "system", *table.columns]
    assert table.ranges[name] == (1.0, 5.0)


def test_resumed_it_is_the_same_file(
    run: Run, calibrated: Path, labelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "BATCH", 64)
    call = ("score", labelled, "-m", calibrated, "--jobs", "1", "--intervals", "-o")
    assert run(*call, "whole.jsonl").code == 0
    predict, left = Lengthy.predict, [3]

    def interrupted(self: Lengthy, batch: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return predict(self, batch)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Lengthy, "predict", interrupted)
        assert run(*call, "parts.jsonl").code == 130
    assert run("score", labelled, "-m", calibrated, "-o", "parts.jsonl", "--resume").code == 2, "without --intervals"
    assert run(*call, "parts.jsonl", "--resume").code == 0
    assert Path("parts.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    all_metadata = [json.loads(Path(f"{name}.meta.json").read_text()) for name in ("whole", "parts")]
    assert all_metadata[0] | {"scores": ""} == all_metadata[1] | {"scores": ""}


def test_intervals_that_nobody_gives_or_nobody_sees(run: Run, model: Path, calibrated: Path, labelled: Path) -> None:
    ran = run("score", labelled, "-m", "length", "--intervals", "-o", "s.jsonl")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "none of the metrics gives any" in ran.err
    assert "--intervals needs -o" in run("score", labelled, "-m", calibrated, "--intervals").err

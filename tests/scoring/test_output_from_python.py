"""What the command line does with outputs, baselines and limits, done from Python; results that keep their replies."""

from __future__ import annotations

import gc
import io
import json
import pickle
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rejoinder
from judge_server import Reply, completion, serving, token
from parts_runs import InTurn, in_turn
from rejoinder import CallError, DataError, ScoreWarning
from rejoinder.data import replay
from rejoinder.data.spans import SpanFinder
from rejoinder.judge.cost import CostLimitError
from rejoinder.judge.judge import Judge
from rejoinder.metrics.batch import Batch
from rejoinder.metrics.overlap import Length
from rejoinder.scoring import run as local
from running import Run, WriteLines

__all__ = ["in_turn"]

METRICS = ["length", "rouge-l"]


def rows(words: int = 3, count: int = 40, **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": str(n),
            "context": [f"why {n}"],
            "response": "word " * (words + n % 5 - 1) + f"w{n}",
            "references": ["word"],
            **more,
        }
        for n in range(count)
    ]


@pytest.fixture
def replies(write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(local, "BATCH", 16)
    return write_lines(rows())


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """After a call, scoring is interrupted after its first batch, once."""

    def soon() -> None:
        whole, calls = Length.score_batch, []

        def score_batch(metric: Length, batch: Batch) -> Any:
            calls.append(batch)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return whole(metric, batch)

        monkeypatch.setattr(Length, "score_batch", score_batch)

    return soon


@pytest.mark.parametrize("output", ["scores.jsonl", "scores.csv", "scores.parquet"])
def test_the_output_is_that_of_the_command_line(output: str, replies: Path, run: Run, tmp_path: Path) -> None:
    table = rejoinder.score("replies.jsonl", METRICS, output=output, seed=3, resamples=50)
    suffix = Path(output).suffix
    ran = run("score", "replies.jsonl", "-m", "length", "-m", "rouge-l", "--seed", 3, "--resamples", 50)
    told = run("score", "replies.jsonl", "-m", "length", "-m", "rouge-l", "--seed", 3, "--resamples", 50, "--json",
               "-o", f"other{suffix}")  # fmt: skip
    assert (ran.code, told.code) == (0, 0), ran.err
    if suffix != ".parquet":
        assert (tmp_path / output).read_bytes() == (tmp_path / f"other{suffix}").read_bytes()
        all_metadata = [json.loads((tmp_path / f"{stem}.meta.json").read_text()) for stem in ("scores", "other")]
        assert all_metadata[0].pop("scores") != all_metadata[1].pop("scores")
        assert all_metadata[0] == all_metadata[1]
    assert told.json["summary"] == table.to_dict()["summary"]
    assert not list(tmp_path.glob("*.part*"))


def test_an_interrupted_run_is_resumed(replies: Path, interrupted: Callable[[], None], tmp_path: Path) -> None:
    whole = rejoinder.score("replies.jsonl", METRICS, output="whole.jsonl")
    interrupted()
    message = r"so far are in scores\.jsonl\.part; resume=True continues from there"
    with pytest.warns(ScoreWarning, match=message), pytest.raises(KeyboardInterrupt):
        rejoinder.score("replies.jsonl", METRICS, output="scores.jsonl")
    assert not Path("scores.jsonl").exists()
    with pytest.raises(CallError, match=r"belongs to another run \(chrf added\)"):
        rejoinder.score("replies.jsonl", [*METRICS, "chrf"], output="scores.jsonl", resume=True)
    table = rejoinder.score("replies.jsonl", METRICS, output="scores.jsonl", resume=True)
    assert Path("scores.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    assert table.to_dict() == whole.to_dict()


def test_starting_over_is_said(replies: Path, interrupted: Callable[[], None]) -> None:
    interrupted()
    with pytest.warns(ScoreWarning), pytest.raises(KeyboardInterrupt):
        rejoinder.score("replies.jsonl", "length", output="scores.jsonl")
    with pytest.warns(ScoreWarning, match=r"starting over; scores\.jsonl\.part .* \(resume=True would resume it\)"):
        rejoinder.score("replies.jsonl", "length", output="scores.jsonl")


def test_finished_scores_are_read_again(replies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = rejoinder.score("replies.jsonl", METRICS, output="scores.jsonl", by="turns")
    monkeypatch.setattr(Length, "score_batch", None)  # nothing is scored any more
    again = rejoinder.score("replies.jsonl", METRICS, output="scores.jsonl", by="turns", resume=True)
    assert again.to_dict() == first.to_dict()
    assert again.replies is not None
    assert again.replies.take([39])[39].id == "39"
    with pytest.raises(CallError, match="seed: 0, now 1"):
        rejoinder.score("replies.jsonl", METRICS, output="scores.jsonl", by="turns", resume=True, seed=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"resume": True}, "resuming needs an output"),
        ({"engine": "ray"}, "a run on Ray needs an output"),
        ({"engine": "dask"}, "engine must be 'local' or 'ray', not 'dask'"),
        ({"output": "replies.jsonl"}, r"replies\.jsonl is an input: expected another file to write to"),
        ({"output": "scores.txt"}, r"cannot write \.txt"),
        ({"max_cost": 0}, "max_cost must be a number above 0, not 0"),
        ({"max_cost": 1.0}, "a limit on the cost is for judges: none of the metrics is one"),
    ],
)
def test_calls_that_make_no_sense(arguments: dict[str, Any], message: str, replies: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CallError, match=message):
        rejoinder.score("replies.jsonl", "length", **arguments)
    assert sorted(tmp_path.iterdir()) == before


def test_ray_writes_parts(replies: Path, in_turn: InTurn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.folders.sources.EXTRAS", {"scale": ()})
    monkeypatch.setattr("rejoinder.scoring.ray.FAST_PART", 16)
    monkeypatch.setattr(SpanFinder.__init__, "__defaults__", (8,))
    here = rejoinder.score("replies.jsonl", METRICS, resamples=50)
    for resume in (False, True):
        there = rejoinder.score("replies.jsonl", METRICS, output="parts", engine="ray", resume=resume, resamples=50)
        assert there.to_dict()["summary"] == here.to_dict()["summary"]
        assert there.replies is not None
        assert there.replies.take([0, 33])[33].id == "33"
    assert len(in_turn.done) == 3, "the finished parts were not scored again"


def grade(body: dict[str, Any], number: int) -> Reply:
    return completion("4", [token("4", {"4": 0.9, "5": 0.1})])


def test_the_limit_on_the_cost_holds_for_one_call(replies: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(grade) as server:
        judge = Judge(model="m", url=server.url, price_read=1000, concurrency=1)  # 0.1 per request
        judged = [row | {"scores": {"overall": [n % 5]}} for n, row in enumerate(rows())]
        for limited in (
            lambda: rejoinder.score("replies.jsonl", judge, max_cost=0.25),
            lambda: rejoinder.compare(rows(), rows(4), metrics=judge, max_cost=0.25),
            lambda: rejoinder.trust(judged, metrics=judge, max_cost=0.25),
        ):
            judge.asker.meter.__init__(judge.asker.meter.prices)  # type: ignore[misc]
            with pytest.raises(CostLimitError, match=r"would exceed 0\.25"):
                limited()
            assert not judge.asker.budgets
            assert judge.asker.quiet is False
        with pytest.warns(ScoreWarning, match="40 requests sent"):
            table = rejoinder.score("replies.jsonl", judge)
    assert table.reasoning == {"judge": judge}


def test_a_comparison_with_a_baseline_is_that_of_the_command_line(
    replies: Path, run: Run, write_lines: WriteLines
) -> None:
    new = write_lines(rows(5), "new.jsonl")
    assert run("history", "runs", "--add", replies, "--name", "1.0", "-m", "rouge-l", "-m", "length").code == 0
    found = rejoinder.compare(new, baseline="runs", margin=0.1)
    assert found.to_dict() == run("compare", new, "--baseline", "runs", "--margin", 0.1, "--json").json
    assert rejoinder.compare(new, baseline="runs/1.0.jsonl", metrics="length").table.metrics == ("length",)
    for name, value in {"by": "turns", "scores": "x.csv", "labels": "x.jsonl", "cluster": "id"}.items():
        with pytest.raises(CallError, match=f"{name} cannot be used with baseline"):
            rejoinder.compare(new, baseline="runs", **{name: value})  # type: ignore[arg-type]
    with pytest.raises(CallError, match="baseline needs replies"):
        rejoinder.compare(baseline="runs")


# Results keep their replies.


def test_results_give_the_texts_of_their_replies(replies: Path, write_lines: WriteLines) -> None:
    second = write_lines(rows(5), "second.jsonl")
    judged = [row | {"scores": {"overall": [n % 5]}} for n, row in enumerate(rows())]
    table = rejoinder.score("replies.jsonl", "length")
    compared = rejoinder.compare("replies.jsonl", second, metrics="length")
    trusted = rejoinder.trust(judged, metrics="length")
    for result, row, id_, system in ((table, 7, "7", ""), (compared, 47, "7", "second"), (trusted, 7, "7", "")):
        assert result.replies is not None
        taken = result.replies.take([row, 0])
        assert (taken[row].id, taken[row].system) == (id_, system)
        assert list(result.replies)[row] == taken[row]
    assert table.where(table.rows_of("")[:3]).replies is None, "other rows"
    assert "replies=" not in repr(table)
    copied = pickle.loads(pickle.dumps(compared))
    assert copied.replies is None
    assert copied.to_dict() == compared.to_dict()


def test_replies_that_changed_are_not_shown(replies: Path) -> None:
    table = rejoinder.score("replies.jsonl", "length")
    assert table.replies is not None
    replies.write_text(replies.read_text().replace("why", "how long"))
    with pytest.raises(DataError, match=r"replies\.jsonl: changed after it was scored: expected the same replies"):
        table.replies.take([1])
    replies.unlink()
    with pytest.raises(DataError, match="changed after it was scored"):
        table.replies.take([1])


def test_what_a_result_keeps_of_a_stream_goes_with_it(
    replies: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(kept))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(replies.read_bytes())))
    table = rejoinder.score("-", "length")
    assert table.replies is not None
    assert table.replies.take([2])[2].id == "2"
    assert list(kept.iterdir())
    del table
    gc.collect()
    assert not list(kept.iterdir())


def test_a_large_copy_is_in_a_file_that_goes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_IN_MEMORY", 100)
    copy = replay.Replay(list(rejoinder.read(rows())))
    assert len(list(copy)) == 40
    file = copy._copy
    assert file._rolled  # type: ignore[attr-defined]
    del copy
    gc.collect()
    assert file.closed

"""Scoring on a real Ray with two CPUs: the results of one machine, whoever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from odd_metrics import DyingLength, FailingLength, OneProcessLength
from parts_runs import PART, rows, rows_of, runs, written
from rejoinder import registry
from rejoinder.data.spans import SpanFinder
from rejoinder.errors import CallError, WorkerError
from rejoinder.scoring.parts import PartsFolder
from rejoinder.scoring.ray import RayCluster
from running import Run

if find_spec("ray") is None:
    pytest.skip("needs the extra scale", allow_module_level=True)

pytestmark = [
    pytest.mark.timeout(1200),  # Ray is slow to start on a loaded machine
    pytest.mark.filterwarnings("ignore"),  # those of Ray are not ours to mend
]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """One Ray for all tests of this module, with two CPUs: reading must find a place next to two actors."""
    with RayCluster.joined(2):
        yield


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.scoring.run.BATCH", PART)


@pytest.mark.usefixtures("one_blas_thread")
def test_a_run_on_two_cpus_equals_one_on_this_machine(tmp_path: Path) -> None:
    """With an evaluator, a metric that needs the whole corpus, corpus scores, notes, slices, and a line left out."""
    given: list[Any] = [*rows()[:30], "{no json\n", *rows()[30:], {"id": "0", "system": "B", "response": "again"}]
    path = written(tmp_path, given)
    metrics = ["bleu-2", "cider", "distinct-1", "meteor", "default-fast"]
    local, on_ray = runs(path, metrics, by=["topic"], on_error="skip")
    expected, found = local.score(tmp_path / "scores.parquet"), on_ray.score(tmp_path / "scores")
    assert found.to_dict() == expected.to_dict()
    assert rows_of(tmp_path / "scores").equals(pl.read_parquet(tmp_path / "scores.parquet"))
    assert not (tmp_path / "scores" / "unfinished").exists()


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    given = [{**row, "response": "die"} if number == 50 else row for number, row in enumerate(rows())]
    path, died = written(tmp_path, given), tmp_path / "died"
    _, on_ray = runs(path, {"dying": DyingLength(once=str(died)), "bleu": "bleu-2"})
    on_ray.score(tmp_path / "scores")
    assert died.exists()
    found = rows_of(tmp_path / "scores")
    assert found.select("id", "system").rows() == [(row["id"], row["system"]) for row in rows()]
    assert found["scores"].struct.field("dying").null_count() == 0


@pytest.mark.slow
def test_a_part_that_fails_is_named_and_can_be_left_out(tmp_path: Path) -> None:
    given = [{**row, "response": "fail"} if number == 50 else row for number, row in enumerate(rows())]
    path = written(tmp_path, given)
    metrics = {"failing": FailingLength(), "length": "length"}
    failed = r"part-00002.parquet \(replies 41 to 60\): ValueError: the word fail"
    with pytest.raises(WorkerError, match=rf"^{failed}; --resume continues"):
        runs(path, metrics)[1].score(tmp_path / "scores")
    table = runs(path, metrics, on_error="skip")[1].score(tmp_path / "scores", resume=True)
    assert len(table) == 70
    assert any("left out part-00002.parquet" in note for note in table.notes)
    manifest = PartsFolder(tmp_path / "scores").manifest
    assert (manifest.is_finished, [*manifest.failed]) == (True, [2])
    path = written(tmp_path, rows())  # mended: but then it is other data
    with pytest.raises(CallError, match="belongs to another run"):
        runs(path, metrics)[1].score(tmp_path / "scores", resume=True)


@pytest.mark.slow
def test_a_part_that_kills_every_worker_is_given_up(tmp_path: Path) -> None:
    given = [{**row, "response": "die"} if number == 50 else row for number, row in enumerate(rows())]
    with pytest.raises(WorkerError, match=r"part-00002.parquet .*: 4 processes died while they scored it"):
        runs(written(tmp_path, given), {"dying": DyingLength()})[1].score(tmp_path / "scores")


def processes_below(pid: int) -> list[int]:
    """A process and all below it."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    found = children.read_text().split() if children.exists() else []
    return [pid, *(below for child in found for below in processes_below(int(child)))]


def listening(pids: list[int]) -> dict[str, int]:
    """Local address, as the system writes it -> port, of the sockets on which these processes listen."""
    sockets = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                sockets.add(os.readlink(descriptor).removeprefix("socket:[").removesuffix("]"))
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            address, _, port = fields[1].partition(":")
            if fields[3] == "0A" and fields[9] in sockets:
                found[address] = int(port, 16)
    return found


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's list of sockets")
def test_a_ray_on_this_machine_listens_on_loopback_only() -> None:
    found = listening(processes_below(os.getpid()))
    assert found, "Ray listens somewhere"
    assert {address[-8:] for address in found} == {"0100007F"}


def test_metrics_that_only_one_process_may_use_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="expected --engine local"):
        runs(written(tmp_path), {"odd": OneProcessLength()})[1].score(tmp_path / "scores")
    assert not (tmp_path / "scores").exists()


def test_the_command_line(run: Run, tmp_path: Path) -> None:
    written(tmp_path, name="replies.parquet")
    options = ("-m", "bleu-2", "-m", "distinct-1", "--json", "--quiet", "--resamples", 50)
    on_ray = run("score", "replies.parquet", *options, "--engine", "ray", "-o", "scores/", "--report", "r.html")
    assert on_ray.code == 0, on_ray.err
    assert on_ray.json == run("score", "replies.parquet", *options).json
    assert "some words go" in (tmp_path / "r.html").read_text()
    resumed = run("score", "replies.parquet", *options, "--engine", "ray", "-o", "scores", "--resume")
    assert (resumed.code, resumed.json) == (0, on_ray.json)
    other = run("score", "replies.parquet", *options[:4], "--engine", "ray", "-o", "scores", "--resume")
    assert (other.code, "belongs to another run (resamples: 50, now 1000)" in other.err) == (2, True)


def test_what_the_command_line_refuses(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    written(tmp_path, ["response\nhi\n"], "replies.csv")
    written(tmp_path, [*rows()[:5], "{\n"], "bad.jsonl")
    for arguments, expected in {
        ("replies.jsonl",): "a run on Ray needs an output",
        ("replies.csv", "-o", "s"): "replies.csv cannot be read in parts",
        ("bad.jsonl", "-o", "s"): "bad.jsonl:6: is not valid JSON",
        ("replies.jsonl", "-o", "replies.jsonl"): "replies.jsonl is a file: expected a folder",
        ("replies.jsonl", "-o", "."): "cannot write to '.'",
    }.items():
        ran = run("score", *arguments, "-m", "length", "--engine", "ray")
        assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
        assert expected in ran.err
    assert not (tmp_path / "s").exists()
    monkeypatch.setattr("rejoinder.folders.sources.EXTRAS", {"scale": ("no_such_module",)})
    ran = run("score", "replies.jsonl", "-m", "length", "--engine", "ray", "-o", "s")
    assert (ran.code, "pip install '.[scale]'" in ran.err, ran.err.count("\n")) == (2, True, 1)


# `rejoinder` with small parts and a metric that takes its time over each.
DRIVER = """
import sys
from rejoinder import registry
from rejoinder.data import spans
from rejoinder.scoring import ray as ray_run
from rejoinder.cli import main

if __name__ == "__main__":
    spans.SpanFinder.__init__.__defaults__ = (10,)
    ray_run.FAST_PART = 20
    registry.METRICS["slow-length"] = "odd_metrics:SlowLength"
    sys.exit(main())
"""


@pytest.mark.slow
def test_a_driver_that_is_killed_is_resumed_to_the_same_parts(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, rows(200))
    (tmp_path / "driver.py").write_text(DRIVER)
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    slow = "slow-length(pause=0.5)"
    options = [
        "score",
        "replies.jsonl",
        "-m",
        slow,
        "-m",
        "distinct-1",
        "--engine",
        "ray",
        "-o",
        "scores",
        "--jobs",
        "2",
    ]
    process = subprocess.Popen(
        [sys.executable, "driver.py", *options],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    log = tmp_path / "scores" / "unfinished" / "finished.jsonl"
    while not log.exists() or len(log.read_text().splitlines()) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    recorded = [json.loads(line) for line in log.read_text().splitlines()]
    assert 2 <= len(recorded) < 10
    folder = PartsFolder(tmp_path / "scores")
    before = {entry["part"]: folder.part(entry["part"]).stat().st_mtime_ns for entry in recorded}
    assert run("compare", "--scores", "scores").err.startswith("rejoinder: scores: unfinished (")
    monkeypatch.setattr(SpanFinder.__init__, "__defaults__", (10,))
    monkeypatch.setattr("rejoinder.scoring.ray.FAST_PART", 20)
    monkeypatch.setitem(registry.metric_names(), "slow-length", "odd_metrics:SlowLength")
    resumed = run(*options, "--resume")
    assert resumed.code == 0, resumed.err
    assert {number: folder.part(number).stat().st_mtime_ns for number in before} == before, "finished parts stay"
    local, _ = runs(tmp_path / "replies.jsonl", ["length", "distinct-1"])
    local.score(tmp_path / "local.parquet")
    columns = pl.read_parquet(tmp_path / "local.parquet").unnest("scores")
    found = rows_of(tmp_path / "scores").unnest("scores")
    assert found.rename({slow: "length"}).select(columns.columns).equals(columns)

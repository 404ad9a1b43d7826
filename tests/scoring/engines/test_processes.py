"""Several processes score as one does: the same numbers, errors, interruptions; and none is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from odd_metrics import DyingLength, FailingLength, OneProcessLength, PrivateCounter
from rejoinder.data.source import Source, survey
from rejoinder.errors import CallError, WorkerError
from rejoinder.metrics.base import Metric
from rejoinder.scoring import run as local
from rejoinder.scoring import run as sizes
from rejoinder.scoring.processes import Processes
from rejoinder.scoring.run import LocalRun, processes_for
from rejoinder.scoring.score import choose_metrics
from rejoinder.scoring.scorer import Scorer
from rejoinder.threads import thread_limits, usable_cores
from rejoinder.types import Example
from running import Run
from tolerance import assert_same_scores
from torch_threads import TorchThreads

pytestmark = pytest.mark.timeout(600)

WORDS = "some words go round and round until the end of a long day".split()
EXAMPLES = [
    Example(
        str(number),
        ("how are you?",),
        " ".join(WORDS[number % 5 : number % 12]),
        ("some words go and come",) if number % 5 else (),
        system="AB"[number % 2],
    )
    for number in range(70)
]
SHARED = ["bleu-2", "cider", "meteor", "distinct-1", "default-fast"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "BATCH", 16)


def make_run(
    metrics: Mapping[str, Metric] | list[str], jobs: int | None, examples: list[Example] | None = None
) -> LocalRun:
    source = Source(EXAMPLES if examples is None else examples)
    chosen = choose_metrics(metrics).metrics
    return LocalRun(source, survey(source), chosen, resamples=20, quiet=True, jobs=jobs)


@pytest.mark.usefixtures("one_blas_thread")
def test_the_number_of_processes_changes_nothing(tmp_path: Path) -> None:
    assert files_of(SHARED, 1, tmp_path) == files_of(SHARED, 3, tmp_path)


def test_with_one_thread_each_the_number_of_processes_does_not_change_a_torch_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by a bit, on a machine where each process could have several threads."""
    torch = pytest.importorskip("torch")
    from tiny_vectors import tiny_characters  # needs torch

    monkeypatch.setenv("REJOINDER_THREADS", "6")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    dot = rejoinder.load(f"t2v-dot(encoder='{tiny_characters()}', against=context)")
    metrics = {"dot": dot, "threads of torch": TorchThreads()}
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # as in a process that starts with OMP_NUM_THREADS=1
    try:
        assert files_of(metrics, 1, tmp_path) == files_of(metrics, 2, tmp_path)
    finally:
        torch.set_num_threads(before)


def files_of(metrics: Mapping[str, Metric] | list[str], jobs: int, home: Path) -> dict[str, bytes]:
    """What a run with so many processes writes: name -> content."""
    folder = home / str(jobs)
    folder.mkdir()
    make_run(metrics, jobs).score(folder / "scores.jsonl")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "verb",
    ["compare", *(pytest.param(verb, marks=pytest.mark.slow) for verb in ("trust", "history", "compare --baseline"))],
)
def test_every_command_that_scores_has_jobs(
    verb: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with the same results for every number of processes, which are started."""
    started: list[int] = []
    original = Processes.__init__

    def counted(self: Processes, scorer: Scorer, count: int) -> None:
        started.append(count)
        original(self, scorer, count)

    monkeypatch.setattr(Processes, "__init__", counted)
    replies = written(tmp_path / "replies.jsonl", systems="AB" if verb in ("compare", "trust") else "A")
    options = ("-m", "cider", "-m", "bleu-2", "--resamples", 20, "--json")
    found = []
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        if verb == "history":
            run("history", folder, "--add", replies, "--name", "old", *options, "--jobs", jobs)
            found.append((folder / "old.jsonl").read_text())
        elif verb == "compare --baseline":
            run("history", folder, "--add", replies, "--name", "old", *options, "--jobs", 1)
            found.append(run("compare", replies, "--baseline", folder, *options, "--jobs", jobs).out)
        else:
            found.append(run(verb, replies, *options, "--jobs", jobs).out)
    assert found[0] == found[1]
    assert started == [2]


def written(path: Path, systems: str) -> Path:
    """Judged replies of some systems."""
    rows = []
    for number, example in enumerate(EXAMPLES):
        record = {"id": example.id, "context": [f"turn {number // len(systems)}"], "response": example.response}
        rows.append(
            {**record, "references": ["some words"], "system": systems[number % len(systems)], "scores": number % 5}
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_time_is_estimated_before_several_processes_score() -> None:
    """This process scores some replies as well, to measure: also by a metric that must know the corpus."""
    examples = [replace(EXAMPLES[number % 70], id=str(number)) for number in range(600)]
    assert len(replace(make_run(["cider", "length"], 2, examples), quiet=False).score()) == 600


@pytest.mark.slow
def test_an_evaluator_on_onnx_runtime_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "SLOW_BATCH", 6)
    examples = [Example(str(number), ("how are you?",), " ".join(WORDS[: number + 1])) for number in range(12)]
    one, two = (rejoinder.score(examples, "default", jobs=jobs)["default"] for jobs in (1, 2))
    assert_same_scores(two, one)


def test_a_process_that_dies_is_one_line_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    examples = [*EXAMPLES[:40], Example("x", (), "die", system="A"), *EXAMPLES[40:]]
    once = str(tmp_path / "died")
    run = make_run({"dying": DyingLength(once=once), "bleu": rejoinder.load("bleu-2")}, 2, examples)
    target = tmp_path / "scores.jsonl"
    with pytest.raises(
        WorkerError, match=r"^process \d+, one of those that score, was ended by the signal SIGKILL"
    ) as died:
        run.score(target)
    assert "\n" not in str(died.value)
    rows = (tmp_path / "scores.jsonl.part").read_text().splitlines()
    assert len(rows) in (0, 16, 32), "whole batches before the one that was not scored"
    table = run.score(target, resume=True)
    assert len(table) == 71
    assert not np.isnan(table["dying"]).any()


def test_an_error_in_a_process_is_that_of_one_process() -> None:
    examples = [*EXAMPLES, Example("x", (), "fail", system="A")]
    with pytest.raises(ValueError, match="the word fail"):
        make_run({"failing": FailingLength()}, 2, examples).score()


def test_metrics_that_cannot_be_shared() -> None:
    for metric in (PrivateCounter(), OneProcessLength()):
        with pytest.raises(CallError, match="expected jobs=1"):
            make_run({"odd": metric}, 2).score()
        assert len(make_run({"odd": metric}, None).score()) == len(EXAMPLES)


@pytest.mark.parametrize(("jobs", "metrics", "count", "expected"), [
    (None, "length", 1000, 1),
    (None, "length", sizes.FEWEST_FAST - 1, 1),
    (None, "length", sizes.FEWEST_FAST, usable_cores()),
    (None, "length bleu-2 distinct-1", sizes.FEWEST_FAST // 3, usable_cores()),
    (None, "length bleu-2 distinct-1", sizes.FEWEST_FAST // 3 - 1, 1),
    (None, "default-fast", 1000, 1),
    (None, "default", 5120, usable_cores()),
    (None, "default", 100, 1),
    (None, "default", 512 * usable_cores() + 1, 1),
    (8, "length", 1000, 2),
    (3, "length", 10_000, 3),
])  # fmt: skip
def test_how_many_processes_pay(jobs: int | None, metrics: str, count: int, expected: int) -> None:
    scorer = Scorer({metric: rejoinder.load(metric) for metric in metrics.split()}, ("A",))
    assert processes_for(jobs, scorer, count, 512) == expected


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_THREADS", "8")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    limits = thread_limits(2)
    assert (limits["POLARS_MAX_THREADS"], limits["OMP_NUM_THREADS"], limits["OPENBLAS_NUM_THREADS"]) == ("4", "1", "1")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    assert thread_limits(2)["MKL_NUM_THREADS"] == "1", "torch takes MKL's number"
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    assert thread_limits(2)["MKL_NUM_THREADS"] == "3"
    monkeypatch.setenv("MKL_NUM_THREADS", "8")
    assert thread_limits(2)["MKL_NUM_THREADS"] == "4"
    assert thread_limits(64)["REJOINDER_THREADS"] == "1"


SCRIPT = """
import sys
import rejoinder
from rejoinder.scoring import run as local
from odd_metrics import SlowLength

local.BATCH = 16
rows = [{"id": str(n), "response": "word " * (n % 9)} for n in range(400)]
table = rejoinder.score(rows, {"slow": SlowLength(pause=float(sys.argv[1]))}, jobs=2)
print(table["slow"].sum())
"""


def started(tmp_path: Path, pause: float) -> subprocess.Popen[str]:
    """A script without `if __name__ == "__main__"` that scores in two processes."""
    (tmp_path / "script.py").write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "script.py", str(pause)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in found.read_text().split()] if found.exists() else []


def is_running(pid: int) -> bool:
    """Whether a process runs: one that has ended may wait as a zombie for whoever started it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    out, err = started(tmp_path, 0.0).communicate()
    assert (float(out), err) == (sum(n % 9 for n in range(400)), "")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's list of child processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_no_process_is_left_behind(number: int, tmp_path: Path) -> None:
    process = started(tmp_path, 600.0)  # longer than a test may take
    while len(children := children_of(process.pid)) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    time.sleep(1.0)  # some are busy, some still start
    process.send_signal(number)
    process.communicate()
    until = time.monotonic() + 60
    while any(map(is_running, children)):
        assert time.monotonic() < until, "a process outlived the one that started it"
        time.sleep(0.05)


def test_the_command_line(run: Run, demo: Path) -> None:
    outputs = []
    for jobs in (1, 2):
        ran = run("score", demo, "-m", "bleu-2", "-m", "cider", "--jobs", jobs, "--json", "--quiet")
        assert ran.code == 0, ran.err
        outputs.append(json.loads(ran.out))
    assert outputs[0] == outputs[1]
    assert run("score", demo, "--jobs", 0).code == 2

"""A forked process either works or says at once why it cannot; it never waits for threads that it does not have."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rejoinder.threads import in_threads

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

REFUSED = "CallError: this process was forked after its parent had used polars, ONNX Runtime or torch"

START = """
import multiprocessing, sys, time
import rejoinder

ROWS = [{"response": f"hi there {n}", "references": ["hi you"], "context": ["hello"]} for n in range(5)]

def mean(metric):
    try:
        return f"{rejoinder.score(ROWS, [metric])[metric].mean():.2f}"
    except rejoinder.RejoinderError as error:
        return f"{type(error).__name__}: {error}"

def in_children(method, metric="length"):
    with multiprocessing.get_context(method).Pool(2) as pool:
        return pool.map(mean, [metric] * 2)
"""


def printed(script: str, tmp_path: Path) -> list[str]:
    """The lines that a script prints; a script that hangs fails."""
    path = tmp_path / "script.py"
    path.write_text(START + script, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", path],  # Python 3.12 warns of forks with threads
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        try:
            out, _ = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            raise
    assert process.returncode == 0
    return out.splitlines()


def test_children_forked_before_the_first_score_work_and_later_ones_refuse(tmp_path: Path) -> None:
    script = """
if __name__ == "__main__":
    print(*in_children("fork"), sep="\\n")
    print(mean("length"))
    print(*in_children("fork"), sep="\\n")
    print(*in_children("spawn"), sep="\\n")
    print(mean("length"))
"""
    lines = printed(script, tmp_path)
    assert lines[:3] == ["3.00"] * 3
    assert all(line.startswith(REFUSED) for line in lines[3:5])
    assert lines[5:] == ["3.00"] * 3


def test_the_callers_own_use_of_polars_counts(tmp_path: Path) -> None:
    script = """
import polars
print(*in_children("fork"), sep="\\n")
polars.DataFrame({"a": range(10_000)}).lazy().sort("a").collect()
time.sleep(1)  # new threads give themselves their names once they run
print(*in_children("fork"), sep="\\n")
"""
    if not Path("/proc/self/task").exists():
        pytest.skip("the system does not tell the names of threads")
    lines = printed(script, tmp_path)
    assert lines[:2] == ["3.00"] * 2
    assert all(line.startswith(REFUSED) for line in lines[2:])


@pytest.mark.slow
def test_a_data_loader_with_forked_workers_ends_with_the_reason(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = """
import torch

class Scored(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, number):
        return mean("length")

def loaded():
    loader = torch.utils.data.DataLoader(Scored(), batch_size=None, num_workers=1, multiprocessing_context="fork")
    return list(loader)

print(*loaded(), mean("length"), *loaded(), sep="\\n")
"""
    lines = printed(script, tmp_path)
    assert lines[:3] == ["3.00"] * 3
    assert all(line.startswith(REFUSED) for line in lines[3:])


def test_the_bundled_evaluator_refuses_as_well(tmp_path: Path) -> None:
    script = """
metric = rejoinder.load("default-fast")
metric.score([rejoinder.Example("a", ("hello",), "hi")])

def child(_):
    try:
        metric.score([rejoinder.Example("a", ("hello",), "hi")])
    except rejoinder.RejoinderError as error:
        return f"{type(error).__name__}: {error}"

with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.apply(child, [0]))
"""
    assert printed(script, tmp_path)[0].startswith(REFUSED)


def test_work_in_threads_keeps_its_order_and_raises_the_first_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_THREADS", "3")
    both = threading.Barrier(2, timeout=60)

    def work(item: int) -> int:
        if item < 2:
            both.wait()  # passes only if the first two run at the same time
        if item == 7:
            raise ValueError("seven")
        return item * item

    assert list(in_threads(work, range(6))) == [0, 1, 4, 9, 16, 25]
    with pytest.raises(ValueError, match="seven"):
        list(in_threads(work, range(9)))

"""Scoring on a cluster of two nodes, both on this machine and on loopback, one of which dies: `make test-slow`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import Any

import polars as pl
import pytest

from odd_metrics import SlowLength
from parts_runs import PART, rows, rows_of, runs, written
from rejoinder.scoring import ray
from rejoinder.scoring.parts import PartsFolder
from running import Run

if find_spec("ray") is None:
    pytest.skip("needs the extra scale", allow_module_level=True)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),  # Ray is slow to start on a loaded machine
    pytest.mark.filterwarnings("ignore"),  # those of Ray are not ours to mend
]

METRICS = {"slow": SlowLength(pause=0.5), "bleu": "bleu-2", "cider": "cider"}


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of two nodes with one CPU each, which RAY_ADDRESS names."""
    for name, value in (ray._QUIET | ray._ON_LOOPBACK | ray._OWN_PRIORITY).items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    settings: dict[str, Any] = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
    cluster: Any = Cluster(initialize_head=True, head_node_args=settings)
    try:
        cluster.add_node(**settings)
        cluster.wait_for_nodes()
        monkeypatch.setenv(ray.ADDRESS, cluster.address)
        yield cluster
    finally:
        cluster.shutdown()


def meanwhile(happens: Callable[[], bool], act: Callable[[], object]) -> tuple[Thread, Event]:
    """Acts once something has happened, beside the test; the event says that it has acted, or ends the waiting."""
    over = Event()

    def watch() -> None:
        while not over.is_set():
            if happens():
                act()
                over.set()
            time.sleep(0.02)

    thread = Thread(target=watch)
    thread.start()
    return thread, over


def test_a_node_that_dies_loses_and_doubles_nothing(
    nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.scoring.run.BATCH", PART)
    local, on_ray = runs(written(tmp_path, rows(240)), METRICS)
    folder = PartsFolder(tmp_path / "scores")
    removed: list[int] = []

    def both_nodes_score() -> bool:
        """Whether two parts are being scored, one on each node: a node has no room for two actors."""
        finished = folder.unfinished / "finished.jsonl"
        is_scoring = finished.exists() and len(finished.read_text().splitlines()) >= 2
        return is_scoring and len(list(folder.unfinished.glob("attempts-*"))) == 2

    def remove() -> None:
        removed.append(len(folder._recorded()))
        nodes.remove_node(next(iter(nodes.worker_nodes)), allow_graceful=False)

    watching, over = meanwhile(both_nodes_score, remove)
    try:
        found = on_ray.score(folder.path)
    finally:
        over.set()
        watching.join()
    assert 2 <= removed[0] < 12, "the node died in the middle"
    expected = local.score(tmp_path / "local.parquet")
    assert found.to_dict() == expected.to_dict()
    assert rows_of(folder.path).equals(pl.read_parquet(tmp_path / "local.parquet"))


def test_the_cluster_of_the_environment_scores(nodes: Any, tmp_path: Path, run: Run) -> None:
    written(tmp_path, name="replies.parquet")
    options = ("-m", "bleu-2", "-m", "cider", "--json", "--quiet", "--resamples", 50)
    on_ray = run("score", "replies.parquet", *options, "--engine", "ray", "-o", "scores")
    assert on_ray.code == 0, on_ray.err
    assert on_ray.json == run("score", "replies.parquet", *options).json

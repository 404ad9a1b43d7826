"""The service as a process: its access log, and what happens to requests when it is stopped."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx2

from scoring_server import PATIENT, serving

SECRET_TEXT = "xylophone"


def test_the_log_has_one_line_per_answer_and_no_texts(tmp_path: Path) -> None:
    with (
        serving(tmp_path, "-m", "length", token="t0ken") as server,
        httpx2.Client(base_url=server.address, timeout=PATIENT) as client,
    ):
        headers = {"Authorization": "bearer t0ken"}
        answer = client.post("/score", json={"response": f"a {SECRET_TEXT}"}, headers=headers)
        assert answer.json()["results"] == [{"id": "1", "scores": {"length": 2.0}, "reliability": {}}]
        client.post("/score", json={"response": SECRET_TEXT})
        client.post("/score", json={"response": [SECRET_TEXT]}, headers=headers)
        client.get(f"/{SECRET_TEXT}?{SECRET_TEXT}")
        assert server.stop() == 0
        said, *lines = server.log.read_text().splitlines()
    assert said == f"serving length at {server.address}"
    entries = [json.loads(line) for line in lines]
    assert [
        (entry["method"], entry["route"], entry["status"], entry["replies"])
        for entry in entries
        if entry["route"] != "/health"
    ] == [
        ("POST", "/score", 200, 1),
        ("POST", "/score", 401, 0),
        ("POST", "/score", 400, 0),
        ("GET", "other", 404, 0),
    ]
    assert SECRET_TEXT not in "".join(lines)
    assert "t0ken" not in "".join(lines)


def test_what_was_accepted_is_answered_after_the_signal_to_stop(tmp_path: Path) -> None:
    records = [{"id": str(n), "context": [f"How are you on day {n}?"], "response": f"Fine, {n}."} for n in range(60)]
    found: dict[str, Any] = {}
    with serving(tmp_path, "-m", "default", "--max-batch", "8", "--quiet") as server:

        def ask() -> None:
            found["answer"] = httpx2.post(f"{server.address}/score", json=records, timeout=PATIENT)

        asking = threading.Thread(target=ask)
        asking.start()
        while not httpx2.get(f"{server.address}/health", timeout=PATIENT).json()["waiting"]:
            assert asking.is_alive()
        assert server.stop() == 0
        asking.join()
    assert found["answer"].status_code == 200
    assert [row["id"] for row in found["answer"].json()["results"]] == [record["id"] for record in records]


def test_small_products_keep_one_core_busy() -> None:
    """A thread of numpy's that waits for its share of a product took a tenth of the processor time."""
    script = """
import uvicorn
from rejoinder.cli import main
from threadpoolctl import threadpool_info
def run(*_):
    import numpy
    print({each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"})
uvicorn.Server.run = run
main(["serve", "-m", "length", "--port", "0", "--quiet"])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert done.stdout == "{1}\n", done.stderr

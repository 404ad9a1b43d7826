"""How the HTTP service holds up under load: claimed is 90 % of the offline rate for `default` with 64 clients.

A server is started on loopback. Each client sends one reply after the other, waiting for each answer. Prints the
offline rate (the same replies in one call, before the server is started), the rate of the service, p50 and p99 of the
answer times, answers that were not 200, and the server's memory after the first and the last tenth of the requests.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2

import rejoinder
from rejoinder.text.grid import grid


def replies(count: int) -> list[dict[str, Any]]:
    """The example replies of the package over and over, each made different by a number."""
    bundled = list(rejoinder.read(Path(rejoinder.__file__).parent / "examples" / "demo.jsonl"))
    chosen = (bundled[n % len(bundled)] for n in range(count))
    return [
        {"id": str(n), "context": [f"{n}.", *example.context], "response": example.response}
        for n, example in enumerate(chosen)
    ]


def resident(process: int) -> float:
    """MB of memory that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def load(address: str, records: list[dict[str, Any]], clients: int, process: int) -> dict[str, Any]:
    """Send all records from several clients; times of answers, statuses and memory."""
    waiting, times, failed, memory = iter(records), [], 0, []
    limits = httpx2.Limits(max_connections=clients)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as http:

        async def client() -> None:
            nonlocal failed
            for record in waiting:
                start = time.perf_counter()
                answer = await http.post(f"{address}/score", json=record)
                times.append(time.perf_counter() - start)
                failed += answer.status_code != 200
                if len(times) in (len(records) // 10, len(records)):
                    memory.append(resident(process))

        start = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(clients)))
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "times": times, "failed": failed, "memory": memory}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=4000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--metric", default="default")
    given = parser.parse_args()
    records = replies(given.replies)
    metric, examples = rejoinder.load(given.metric), list(rejoinder.read(records))
    metric.score(examples[:64])
    start = time.perf_counter()
    metric.score(examples)
    offline = len(records) / (time.perf_counter() - start)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "rejoinder", "serve", "-m", given.metric, "--port", str(port), "--quiet"]
    with subprocess.Popen(command) as server:
        try:
            address = f"http://127.0.0.1:{port}"
            while True:
                try:
                    httpx2.post(f"{address}/score", json=records[:64], timeout=120)
                    break
                except httpx2.ConnectError:
                    time.sleep(0.1)
            found = asyncio.run(load(address, records, given.clients, server.pid))
        finally:
            server.terminate()
    rate, centiles = len(records) / found["seconds"], statistics.quantiles(found["times"], n=100)
    rows = [
        ["offline", f"{offline:.0f} replies/s"],
        ["service", f"{rate:.0f} replies/s ({rate / offline:.0%} of offline)"],
        ["p50, p99", f"{centiles[49] * 1000:.0f} ms, {centiles[98] * 1000:.0f} ms"],
        ["answers that were not 200", str(found["failed"])],
        ["memory after 10 %, 100 %", ", ".join(f"{size:.0f} MB" for size in found["memory"])],
    ]
    print(grid(["measured", f"{given.clients} clients, {len(records):,} replies, {given.metric}"], rows, left=2))


if __name__ == "__main__":
    main()

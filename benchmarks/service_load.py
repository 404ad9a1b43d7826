"""How the HTTP service holds up under load: claimed is 90 % of the offline rate for `default` with 64 clients.

A server is started on loopback. Each client sends one reply after the other on a connection of its own, and waits for
each answer. Rounds of the service alternate with rounds of the same replies scored in one call in this process, because
other work on the machine changes from minute to minute; the ratio is that of each round, and the table has its median.
The clients write and read bytes themselves: a client library would use more of the processor than the server does.

On a machine that is busy with other work, and because clients share the cores with the server, processor time is the
steadier measure: the table also has the processor time per reply of both, and their ratio.

With `--batches`, only the processor time per reply in batches of these sizes is printed, without a server: requests of
64 clients are scored in batches of at most 64.

With `--kills N`, the server is then killed (SIGKILL) N times under load and started again. A client whose connection
breaks sends the same reply again. In the end every reply has an answer, and every answer is the offline score.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the service; numpy reads it when it is imported

import numpy as np

import rejoinder
from rejoinder.metrics.batch import Batch
from rejoinder.show.text import grid
from rejoinder.types import Scores


def replies(count: int) -> list[dict[str, Any]]:
    """The example replies of the package over and over, each made different by a number."""
    bundled = list(rejoinder.read(Path(rejoinder.__file__).parent / "examples" / "demo.jsonl"))
    chosen = (bundled[n % len(bundled)] for n in range(count))
    return [
        {"id": str(n), "context": [f"{n}.", *example.context], "response": example.response}
        for n, example in enumerate(chosen)
    ]


@dataclass
class Server:
    """The service as a process, always on the same port."""

    metric: str
    port: int = field(init=False)
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "rejoinder", "serve", "-m", self.metric, "--port", str(self.port), "--quiet"]
        self.process = subprocess.Popen(command)
        while self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except ConnectionError:
                time.sleep(0.05)
            else:
                return
        raise SystemExit("the service could not be started")

    def processor_seconds(self) -> float:
        """Processor time of all its threads since it was started."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> float:
        """MB of memory that it holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@dataclass
class Load:
    """Clients that send all records, and what they got."""

    port: int
    metric: str
    records: list[dict[str, Any]]
    times: list[float] = field(default_factory=list)
    scores: dict[str, float] = field(default_factory=dict)
    failed: int = 0
    """Answers that were not 200."""
    broken: int = 0
    """Requests that were sent again because the connection broke."""

    async def run(self, clients: int) -> float:
        """Send everything; how many seconds that took."""
        waiting = iter(self.records)
        start = time.perf_counter()
        await asyncio.gather(*(self._client(waiting) for _ in range(clients)))
        return time.perf_counter() - start

    async def _client(self, waiting: Iterator[dict[str, Any]]) -> None:
        connection: Any = None
        for record in waiting:
            body = json.dumps(record).encode()
            head = f"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            start = time.perf_counter()
            while True:
                try:
                    connection = connection or await asyncio.open_connection("127.0.0.1", self.port)
                    answer = await _answer(connection, head + body)
                    break
                except (ConnectionError, asyncio.IncompleteReadError):
                    self.broken += connection is not None
                    connection = None
                    await asyncio.sleep(0.02)
            self.times.append(time.perf_counter() - start)
            if answer is None:
                self.failed += 1
            else:
                self.scores[record["id"]] = answer["results"][0]["scores"][self.metric]
        if connection:
            connection[1].close()


async def _answer(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: bytes) -> Any:
    """The JSON of the answer; None where its status is not 200."""
    reader, writer = connection
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
    body = await reader.readexactly(length)
    return json.loads(body) if head.startswith(b"http/1.1 200") else None


async def killed(server: Server, load: Load, clients: int, kills: int) -> None:
    """The load, while the server is killed and started again."""

    async def kill() -> None:
        for number in range(kills):
            while len(load.times) < len(load.records) * (number + 1) / (kills + 1):
                await asyncio.sleep(0.01)
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
            await asyncio.to_thread(server.start)

    await asyncio.gather(load.run(clients), kill())


def same(found: dict[str, float], expected: Scores) -> bool:
    """Whether all replies have the scores that they have offline."""
    return len(found) == len(expected) and np.allclose([found[str(n)] for n in range(len(found))], expected, atol=1e-4)


def in_batches(metric: Any, examples: list[rejoinder.Example], size: int) -> str:
    """Processor time per reply, scored in batches of this size."""
    used = time.process_time()
    for start in range(0, len(examples), size):
        metric.score_batch(Batch(examples[start : start + size]))
    return f"{1000 * (time.process_time() - used) / len(examples):.2f} ms"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=2000, help="replies of each round (default: 2000)")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--batches", type=int, nargs="+", metavar="SIZE")
    parser.add_argument("--metric", default="default")
    given = parser.parse_args()
    records = replies(given.replies)
    metric, examples = rejoinder.load(given.metric), list(rejoinder.read(records))
    metric.score(examples[:256])
    if given.batches:
        print(grid(["batches of", given.metric], [[str(n), in_batches(metric, examples, n)] for n in given.batches]))
        return
    server = Server(given.metric)
    server.start()
    try:
        ratios, rates, times, memory, failed = [], [], [], [], 0
        efforts: list[tuple[float, float]] = []
        for _ in range(given.rounds):
            start, used = time.perf_counter(), time.process_time()
            expected = metric.score(examples)
            offline, effort = len(records) / (time.perf_counter() - start), time.process_time() - used
            load, used = Load(server.port, given.metric, records), server.processor_seconds()
            rate = len(records) / asyncio.run(load.run(given.clients))
            efforts.append((effort / len(records), (server.processor_seconds() - used) / len(records)))
            if not same(load.scores, expected):
                raise SystemExit("the service's scores differ from the offline ones")
            ratios.append(rate / offline)
            rates.append((offline, rate))
            times += load.times
            failed += load.failed
            memory.append(server.resident())
        again = Load(server.port, given.metric, records)
        if given.kills:
            asyncio.run(killed(server, again, given.clients, given.kills))
    finally:
        server.process.terminate()
    centiles = statistics.quantiles(times, n=100)
    rows = [
        ["offline, replies/s in each round", ", ".join(f"{offline:.0f}" for offline, _ in rates)],
        ["service, replies/s in each round", ", ".join(f"{rate:.0f}" for _, rate in rates)],
        ["service / offline, median", f"{statistics.median(ratios):.0%} ({min(ratios):.0%} to {max(ratios):.0%})"],
        ["processor time per reply, offline", ", ".join(f"{1000 * effort:.2f} ms" for effort, _ in efforts)],
        ["processor time per reply, service", ", ".join(f"{1000 * effort:.2f} ms" for _, effort in efforts)],
        ["offline / service, median", f"{statistics.median(a / b for a, b in efforts):.0%}"],
        ["p50, p99", f"{centiles[49] * 1000:.0f} ms, {centiles[98] * 1000:.0f} ms"],
        ["answers that were not 200", str(failed)],
        ["memory after each round", ", ".join(f"{size:.0f} MB" for size in memory)],
    ]
    if given.kills:
        kept = "all answered, equal to the offline scores" if same(again.scores, expected) else "WRONG SCORES"
        rows.append([f"{given.kills} kills", f"{again.broken} requests sent again; {len(again.scores):,} {kept}"])
    print(grid(["measured", f"{given.clients} clients, {len(records):,} replies, {given.metric}"], rows, left=2))


if __name__ == "__main__":
    main()

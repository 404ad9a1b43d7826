"""Wall time and memory of a judge against a fake server on this machine: claimed are 1.3 times the ideal, flat memory.

    python benchmarks/judge_speed.py [--replies 1000] [--concurrency 32] [--delay 0.5]

The server waits --delay seconds before each answer, which has 20 log-probabilities for each of four tokens, as real
ones have. Ideal is the delay times the number of rounds, replies divided by concurrency. The server is a process of its
own, and every size is scored by fresh processes with empty caches, of which the fastest counts (--repeats); the peak
resident size is that of the scoring process. A second run, from the cache, is timed as well.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path

from rejoinder.show.text import grid
from timing import timed

TOKENS, ALTERNATIVES = 4, 20


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, nargs="+", default=[1000])
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--delay", type=float, default=0.5, help="seconds that the server takes per answer")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--score", nargs=3, metavar=("URL", "COUNT", "CACHE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.score:
        url, count, cache = arguments.score
        score(url, int(count), cache, arguments.concurrency)
        return
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, arguments.delay), daemon=True)
    server.start()
    url = ours.recv()
    rows = []
    for count in arguments.replies:
        runs = [both_runs(url, count, arguments.concurrency) for _ in range(arguments.repeats)]
        first, again = (min(side, key=lambda run: run["seconds"]) for side in zip(*runs, strict=True))
        # The first question is asked alone, to see what the endpoint can do.
        ideal = arguments.delay * (1 + math.ceil((count - 1) / arguments.concurrency))
        rows.append(
            [
                f"{count:,}",
                f"{ideal:.1f} s",
                f"{first['seconds']:.1f} s",
                f"{first['seconds'] / ideal:.2f}",
                f"{first['cpu']:.1f} s",
                f"{again['seconds']:.1f} s",
                f"{first['peak']:.0f} MB",
                f"{first['grown']:.0f} MB",
            ]
        )
    server.terminate()
    print(grid(["replies", "ideal", "measured", "ratio", "CPU", "from the cache", "peak", "while scoring"], rows))


def both_runs(url: str, count: int, concurrency: int) -> tuple[dict[str, float], dict[str, float]]:
    """A run that sends everything, and one that finds everything in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "answers.sqlite")
        return measured(url, count, cache, concurrency), measured(url, count, cache, concurrency)


def measured(url: str, count: int, cache: Path, concurrency: int) -> dict[str, float]:
    """Seconds and megabytes of a fresh process."""
    command = [sys.executable, __file__, "--score", url, str(count), str(cache), "--concurrency", str(concurrency)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def score(url: str, count: int, cache: str, concurrency: int) -> None:
    """Score made-up replies, and print seconds and memory."""
    import httpx2  # noqa: F401 - loading it is not what is measured

    from rejoinder.judge.judge import Judge
    from rejoinder.metrics.batch import Batch
    from rejoinder.types import Example

    judge = Judge(model="fake", url=url, concurrency=concurrency, cache=cache)
    batch = Batch([Example(str(n), ("How are you?",), f"Reply number {n}.") for n in range(count)])
    before = peak()
    taken = timed(lambda: judge.score_batch(batch))
    print(json.dumps({"seconds": taken.clock, "cpu": taken.cpu, "peak": peak(), "grown": peak() - before}))


def peak() -> float:
    """The largest resident size so far, in MB."""
    scale = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6


def serve(ready: Connection, delay: float) -> None:
    """Answer every request after the delay."""
    answer = json.dumps(_answer()).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # a short answer would wait for the client's acknowledgement

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(delay)
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(answer)}\r\n\r\n"
            self.wfile.write(head.encode() + answer)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on standard error."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Handler)
    ready.send(f"http://127.0.0.1:{server.server_port}/v1")
    server.serve_forever()


def _answer() -> dict[str, object]:
    top = [{"token": str(n), "bytes": [49], "logprob": -1.5 - n / 10} for n in range(ALTERNATIVES)]
    content = [{"token": "4", "bytes": [52], "logprob": -1.5, "top_logprobs": top} for _ in range(TOKENS)]
    choice = {"index": 0, "message": {"role": "assistant", "content": "4"}, "logprobs": {"content": content}}
    usage = {"prompt_tokens": 300, "completion_tokens": TOKENS}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


if __name__ == "__main__":
    main()

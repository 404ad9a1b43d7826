"""`rejoinder serve` as a process of its own, on a free port of this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

PATIENT = 120
"""Seconds that an answer may take on a machine that is busy with other work."""


@dataclass(frozen=True)
class Server:
    """A running service."""

    process: subprocess.Popen[str]
    address: str
    log: Path

    def stop(self) -> int:
        """Ask it to end, and wait; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENT)


@contextmanager
def serving(folder: Path, *options: str, token: str = "") -> Iterator[Server]:
    """The service with these options, ready for requests; what it prints is in a file of the folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "rejoinder", "serve", "--port", str(port), *options]
    log = folder / "serve.log"
    with (
        log.open("w") as output,
        subprocess.Popen(command, env={**os.environ, "REJOINDER_TOKEN": token}, stderr=output, text=True) as process,
    ):
        try:
            yield Server(process, _ready(process, f"http://127.0.0.1:{port}"), log)
        finally:
            process.kill()


def _ready(process: subprocess.Popen[str], address: str) -> str:
    while process.poll() is None:
        try:
            httpx2.get(f"{address}/health", timeout=PATIENT)
        except httpx2.ConnectError:
            time.sleep(0.1)
        else:
            return address
    raise AssertionError(f"the service ended with exit code {process.returncode}")

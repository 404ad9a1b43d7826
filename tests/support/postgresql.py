"""A PostgreSQL server of the test's own, in a temporary folder, reached by a socket there; never as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

OWNER = "postgres"


@dataclass(frozen=True)
class PostgresServer:
    """A cluster in a folder."""

    folder: Path
    programs: Path

    @property
    def url(self) -> str:
        """Where the store is."""
        return f"postgresql:///postgres?host={self.folder}&user={OWNER}"

    def start(self) -> None:
        """Start it, with the settings of durability that it has by default."""
        options = f"-k {self.folder} -c listen_addresses=''"
        self.run("pg_ctl", "start", "-w", "-D", self.folder / "data", "-l", self.folder / "log", "-o", options)

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; immediate: as after a crash."""
        self.run("pg_ctl", "stop", "-w", "-m", mode, "-D", self.folder / "data")

    def run(self, program: str, *arguments: object) -> None:
        """Run one of its programs, as an unprivileged user."""
        user = OWNER if os.geteuid() == 0 else None
        command = [str(self.programs / program), *map(str, arguments)]
        done = subprocess.run(command, user=user, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode:
            raise RuntimeError(done.stderr.decode())


@contextmanager
def postgresql() -> Iterator[PostgresServer]:
    """A running server; skips the test where PostgreSQL is not installed."""
    initdb = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)), shutil.which("initdb"))
    if initdb is None:
        pytest.skip("PostgreSQL is not installed")
    # The folder is short, because the path of a socket may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            shutil.chown(folder, OWNER)
        server = PostgresServer(folder, Path(initdb).parent)
        server.run("initdb", "-D", folder / "data", "-U", OWNER, "-A", "trust", "--no-sync", "-E", "UTF8")
        server.start()
        try:
            yield server
        finally:
            server.stop()

"""The command in a process of its own: stopped by a signal, resumed, watched on a terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

# `rejoinder` with small batches and a metric that takes its time over each.
SLOW = """
import os, sys, time
from dataclasses import dataclass
from typing import ClassVar

from rejoinder import registry
from rejoinder.scoring import run as local
from rejoinder.metrics.overlap import Length

@dataclass(frozen=True, kw_only=True)
class SlowLength(Length):
    name: ClassVar[str] = "slow-length"

    def score_batch(self, batch):
        time.sleep(float(os.environ["PAUSE"]))
        return super().score_batch(batch)

if __name__ == "__main__":
    local.BATCH = 16
    registry.METRICS["slow-length"] = "slow:SlowLength"
    from rejoinder.cli import main
    sys.exit(main())
"""

REPLIES = 400

pytestmark = pytest.mark.timeout(1200)  # up to eight processes per test, each slow to start on a loaded machine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(SLOW)
    rows = [{"id": str(n), "response": "word " * (n % 9), "references": ["word word"]} for n in range(REPLIES)]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def start(folder: Path, *more: str, pause: float = 0.0, stderr: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    command = [sys.executable, "slow.py", "score", "replies.jsonl", "-m", "slow-length", "-m", "bleu-2", *more]
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PAUSE": str(pause), "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=stderr,
    )


def stop_in_the_middle(folder: Path, number: int, output: str) -> tuple[int, str]:
    """Send a signal when some rows are on disk; exit code and standard error."""
    process = start(folder, "-o", output, pause=0.1)
    part = folder / f"{output}.part"
    while not part.exists() or part.stat().st_size < 2000:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(number)
    _, told = process.communicate()
    return process.returncode, told.decode()


def finish(folder: Path, *more: str) -> None:
    process = start(folder, *more)
    out, err = process.communicate()
    assert process.returncode == 0, (out, err)


def test_a_run_that_was_stopped_is_resumed_to_the_same_bytes(folder: Path) -> None:
    finish(folder, "-o", "whole.jsonl")
    expected = (folder / "whole.jsonl").read_bytes()
    for name, number, code in (("int", signal.SIGINT, 130), ("kill", signal.SIGKILL, -signal.SIGKILL)):
        output = f"{name}.jsonl"
        returned, told = stop_in_the_middle(folder, number, output)
        assert returned == code
        if number == signal.SIGINT:
            so_far = f"the rows scored so far are in {output}.part; --resume continues from there"
            assert told.splitlines() == [so_far, "rejoinder: interrupted"]
        assert not (folder / output).exists()
        rows = (folder / f"{output}.part").read_bytes().count(b"\n")
        assert 0 < rows < REPLIES
        finish(folder, "-o", output, "--resume")
        assert (folder / output).read_bytes() == expected
        meta, of_whole = (json.loads((folder / f"{stem}.meta.json").read_bytes()) for stem in (name, "whole"))
        assert (meta.pop("scores"), of_whole.pop("scores")) == (output, "whole.jsonl")
        assert meta == of_whole
        assert not list(folder.glob("*.part*"))


def on_a_terminal(folder: Path, *more: str) -> str:
    """What the command shows on standard error when that is a terminal."""
    parent, child = pty.openpty()
    termios.tcsetwinsize(child, (40, 120))
    process = start(folder, *more, pause=0.02, stderr=child)
    os.close(child)
    shown = b""
    while True:
        try:
            piece = os.read(parent, 4096)
        except OSError:  # the terminal's other end was closed
            break
        if not piece:
            break
        shown += piece
    process.communicate()
    os.close(parent)
    assert process.returncode == 0, shown
    return shown.decode()


def test_progress_is_shown_on_a_terminal_only(folder: Path) -> None:
    shown = on_a_terminal(folder)
    assert "reading" in shown
    assert "scoring: " in shown
    assert "replies/s" in shown, "a rate"
    assert "<00:" in shown, "time left"
    assert on_a_terminal(folder, "--quiet") == ""
    piped = start(folder).communicate()[1]
    assert piped == b"note: 45 replies are empty and scored the worst value of each metric\n"

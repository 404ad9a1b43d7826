"""One run at a time per output, whatever happens to the one that holds the lock."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from rejoinder.errors import CallError
from rejoinder.folders import outputs
from rejoinder.folders.outputs import locked

HOLD = """
import sys
from pathlib import Path
from rejoinder.folders.outputs import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def holder_of(target: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock until its standard input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, target], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    return process


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    with locked(tmp_path / "scores.jsonl"):
        assert [path.name for path in tmp_path.iterdir()] == [".scores.jsonl.lock"]
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="in the block"), locked(tmp_path / "scores.jsonl"):
        raise ValueError("in the block")
    assert not list(tmp_path.iterdir())


def test_another_process_is_named(tmp_path: Path) -> None:
    target = tmp_path / "scores.jsonl"
    process = holder_of(target)
    with pytest.raises(CallError) as caught, locked(target):
        pass
    told = str(caught.value)
    assert told.startswith(f"{target} is being written by another run (process {process.pid} on ")
    assert told.endswith("): wait for it, or choose another name")
    with locked(tmp_path / "other.jsonl"):
        pass
    process.communicate("")
    with locked(target):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    target = tmp_path / "scores.jsonl"
    process = holder_of(target)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (tmp_path / ".scores.jsonl.lock").exists()
    with locked(target):
        pass
    assert not list(tmp_path.iterdir())


def test_threads_of_one_process_wait_for_each_other_as_well(tmp_path: Path) -> None:
    target = tmp_path / "scores.jsonl"
    caught: list[CallError] = []

    def second() -> None:
        try:
            with locked(target):
                pass
        except CallError as error:
            caught.append(error)

    with locked(target):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        assert str(caught[0]) == f"{target} is being written by another call in this process: choose another name"
        process = subprocess.run(
            [sys.executable, "-c", HOLD, target], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        assert f"another run (process {os.getpid()} on " in process.stderr, "the attempt did not release the lock"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_neither_has_nor_releases_the_lock(tmp_path: Path) -> None:
    target = tmp_path / "scores.jsonl"
    with locked(target):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks with threads
            child = os.fork()
        if child == 0:  # pragma: no cover
            code = 1
            try:
                with locked(target):
                    pass
            except CallError as error:
                code = 0 if "another run (process" in str(error) else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert (tmp_path / ".scores.jsonl.lock").exists()
    assert not list(tmp_path.iterdir())


def test_another_programs_file_is_no_lock(tmp_path: Path) -> None:
    foreign = tmp_path / ".scores.jsonl.lock"
    foreign.write_text("mine")
    with pytest.raises(CallError, match="is not a lock file of this program"), locked(tmp_path / "scores.jsonl"):
        pass
    assert foreign.read_text() == "mine"
    foreign.unlink()
    (tmp_path / "precious").write_text("mine")
    foreign.symlink_to(tmp_path / "precious")
    with pytest.raises(CallError, match="cannot be used as a lock file"), locked(tmp_path / "scores.jsonl"):
        pass
    assert (tmp_path / "precious").read_text() == "mine"


def test_many_runs_at_once_never_overlap(tmp_path: Path) -> None:
    """Processes that take and release the same lock over and over: the file is deleted and made again all the time."""
    script = """
import sys
from pathlib import Path
from rejoinder.errors import CallError
from rejoinder.folders.outputs import locked
target, taken = Path(sys.argv[1]), 0
for _ in range(400):
    try:
        with locked(target):
            with target.open("x"):
                pass
            target.unlink()
            taken += 1
    except CallError:
        pass
print(taken)
"""
    command = [sys.executable, "-c", script, str(tmp_path / "shared")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    taken = [int(process.communicate()[0]) for process in processes]
    assert all(process.returncode == 0 for process in processes)
    assert sum(taken) > 0  # how many is a matter of timing
    assert not list(tmp_path.iterdir())


class Msvcrt:
    """Stands in for the module of that name: byte locks between handles, here within one process."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.locked: dict[int, int] = {}

    def locking(self, handle: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        assert os.lseek(handle, 0, os.SEEK_CUR) > 1000, "the text stays readable"
        inode = os.fstat(handle).st_ino
        if inode in self.locked and self.locked[inode] != handle:
            raise PermissionError(13, "Permission denied")
        self.locked[inode] = handle


def test_the_calls_for_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only that they are made as documented: nothing here shows that Windows does what it documents."""
    monkeypatch.setattr(outputs, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(outputs, "msvcrt", Msvcrt(), raising=False)
    target = tmp_path / "scores.jsonl"
    with locked(target):
        monkeypatch.setattr(outputs, "_held", set())  # as if it was another process
        with pytest.raises(CallError, match="is being written by another run"), locked(target):
            pass
        assert (tmp_path / ".scores.jsonl.lock").exists()
    assert not list(tmp_path.iterdir())


def test_a_file_system_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lockf(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(outputs, "fcntl", SimpleNamespace(lockf=lockf, LOCK_EX=2, LOCK_NB=4))
    with pytest.warns(UserWarning, match="has no file locks"), locked(tmp_path / "scores.jsonl"):
        pass
    assert not list(tmp_path.iterdir())

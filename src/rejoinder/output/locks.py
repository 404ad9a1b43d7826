"""One run at a time per output: a lock that the operating system releases when the process ends, however it ends.

The lock is on a hidden file next to the output, `.scores.jsonl.lock`, which names the process that holds it and is
deleted at the end. A killed process leaves the file behind without a lock, and the next run takes it over.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rejoinder.errors import CallError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_MARK = "rejoinder: "
_LONGEST = 400  # bytes of a lock file
_LOCKED_BYTE = 1 << 20
"""The byte that is locked on Windows, where a locked byte cannot be read: it is far behind the text."""
_TAKEN = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}
_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL}
"""Errors of file systems that have no locks."""

_held: set[tuple[int, int, int]] = set()
"""Process, device and inode of each lock. A POSIX lock does not keep other threads of the process out: this does."""
_guard = threading.Lock()


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Keep other runs from writing `target` during the block; CallError if another one is writing it."""
    path = target.with_name(f".{target.name}.lock")
    with _guard:
        handle = _acquired(path, target)
        held = _key(os.fstat(handle))
        _held.add(held)
    try:
        yield
    finally:
        if os.getpid() == held[0]:  # a forked child inherits the handle, but not the lock
            with _guard:
                _held.discard(held)
                _release(handle, path)


def _acquired(path: Path, target: Path) -> int:
    """The handle of the lock file, with the lock."""
    while True:
        if _is_held_here(path):
            raise CallError(f"{target} is being written by another call in this process: choose another name")
        handle = _opened(path)
        if not _lock(handle, path.parent):
            holder = _text(handle).removeprefix(_MARK).strip() or "unknown process"
            os.close(handle)
            raise CallError(f"{target} is being written by another run ({holder}): wait for it, or choose another name")
        if _is_at(path, handle):
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, f"{_MARK}process {os.getpid()} on {socket.gethostname()}\n".encode())
            return handle
        os.close(handle)  # the run that held the lock has just ended, and deleted the file


def _is_held_here(path: Path) -> bool:
    """Whether this process has the lock. The file is not opened for this: closing any handle of a file releases all
    POSIX locks of the process on it."""
    try:
        return _key(path.lstat()) in _held
    except OSError:  # there is no such file
        return False


def _opened(path: Path) -> int:
    """The lock file, created where there is none; CallError where that is not possible."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags, 0o666)
    except OSError as error:
        raise CallError(f"{path} cannot be used as a lock file ({error.strerror})") from None
    text = _text(handle)
    if text and not text.startswith(_MARK):
        os.close(handle)
        raise CallError(f"{path} is not a lock file of this program: expected no such file, or another output")
    return handle


def _text(handle: int) -> str:
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, _LONGEST).decode("utf-8", "replace")


def _lock(handle: int, folder: Path) -> bool:
    """Whether the lock could be taken."""
    try:
        if sys.platform == "win32":
            os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            # Unlike `flock`, it is not inherited by forked children, which may live longer than the run.
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _WITHOUT_LOCKS:
            warnings.warn(f"{folder} has no file locks: make sure that no other run writes there", stacklevel=5)
            return True
        if error.errno in _TAKEN:
            return False
        raise
    return True


def _is_at(path: Path, handle: int) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except OSError:  # gone, or its whole folder
        return False


def _release(handle: int, path: Path) -> None:
    """Delete the file and give up the lock."""
    if sys.platform == "win32":
        # An open file cannot be deleted there: if another run has opened it by now, it stays.
        os.close(handle)
        try:
            path.unlink(missing_ok=True)
        except PermissionError:
            return
    else:
        # Deleted first: whoever opened it meanwhile sees that it is gone, and tries again.
        if _is_at(path, handle):
            path.unlink()
        os.close(handle)


def _key(status: os.stat_result) -> tuple[int, int, int]:
    return os.getpid(), status.st_dev, status.st_ino

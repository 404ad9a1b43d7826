"""Thread pools do not survive a fork: a forked process refuses to use them, where it would wait for ever.

polars, ONNX Runtime and torch start threads when they are first used. A forked child has a copy of their state, but
none of the threads, and its first call waits for threads that do not exist. Nothing can start them again, so the child
has to be a new process: `spawn` or `forkserver`, not `fork`. A child that was forked before any of these libraries was
used starts threads of its own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rejoinder.errors import CallError

_is_used = False
"""Whether this process, or the one that it was forked from, has used a thread pool."""
_is_lost = False
"""Whether this process was forked after that."""


def use_thread_pools() -> None:
    """Call this before native code that runs on several threads; CallError where its threads were lost in a fork."""
    global _is_used
    if _is_lost:
        raise CallError(
            "this process was forked after its parent had used polars, ONNX Runtime or torch, whose threads do not "
            "survive a fork: start it by `spawn`, as in multiprocessing.get_context('spawn') or "
            "DataLoader(multiprocessing_context='spawn')"
        )
    _is_used = True


def _before_fork() -> None:
    global _is_used
    _is_used = _is_used or _polars_is_used()


def _after_fork() -> None:
    global _is_lost
    _is_lost = _is_used


def _polars_is_used() -> bool:
    """Whether the caller's own code has started polars' threads, as far as the system tells (Linux)."""
    if "polars" not in sys.modules:
        return False
    try:
        names = [(task / "comm").read_text(encoding="utf-8", errors="replace") for task in _TASKS.iterdir()]
    except OSError:  # another system, or a thread that has just ended
        return False
    return any(name.startswith("polars-0") for name in names)


_TASKS = Path("/proc/self/task")

if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)

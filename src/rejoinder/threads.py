"""Thread pools do not survive a fork: a forked process refuses to use them, where it would wait for ever.

polars, ONNX Runtime and torch start threads when they are first used. A forked child has a copy of their state, but
none of the threads, and its first call waits for threads that do not exist. Nothing can start them again, so the child
has to be a new process: `spawn` or `forkserver`, not `fork`. A child that was forked before any of these libraries was
used starts threads of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from rejoinder.errors import CallError, shortened
from rejoinder.progress import reported

T = TypeVar("T")
R = TypeVar("R")

THREADS = "REJOINDER_THREADS"
"""The variable that says how many threads this process may use; without it, as many as it has cores."""
_BLAS = "OPENBLAS_NUM_THREADS"
_OPENMP, _MKL = "OMP_NUM_THREADS", "MKL_NUM_THREADS"
_POLARS = "POLARS_MAX_THREADS"
_LIBRARIES = (_OPENMP, _MKL, _POLARS, "RAYON_NUM_THREADS", THREADS)

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


def check_polars_threads() -> None:
    """Call this before polars is used; CallError where its threads cannot run."""
    value = os.environ.get(_POLARS, "")
    if value.strip().lstrip("+").isdecimal() and int(value[:20]) == 0:
        raise CallError(f"{_POLARS} is {shortened(value)}: expected at least 1 thread, or no such variable")
    use_thread_pools()


def usable_cores() -> int:
    """Threads that this process may use: REJOINDER_THREADS, else the cores that it may run on."""
    given = os.environ.get(THREADS, "")
    if given.isdecimal() and int(given):
        return int(given)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # where the system does not say which cores this process may use


def thread_limits(processes: int) -> dict[str, str]:
    """Environment variables that give each of several processes its share of the cores; lower limits are kept.

    Products of numpy's matrices depend on the number of threads in the last bits, so they always run on one. torch has
    its share, because one process with a large encoder needs all cores; OMP_NUM_THREADS=1 gives it one thread in every
    number of processes, and the same scores to the last bit (docs/reference/determinism.md).
    """
    share = max(1, usable_cores() // processes)
    given = {name: os.environ.get(name, "") for name in _LIBRARIES}
    # torch takes MKL's number of threads where both are set, so a limit on OpenMP alone has to hold for MKL too.
    given[_MKL] = given[_MKL] or given[_OPENMP]
    limits = {name: text if text.isdecimal() and 0 < int(text) < share else f"{share}" for name, text in given.items()}
    return {**limits, _BLAS: "1"}


def in_threads(work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """The results of some work that releases Python's lock, in order, on all threads that this process may use."""
    threads = min(usable_cores(), len(items))
    if threads <= 1:
        yield from reported(map(work, items), len(items))
        return
    with ThreadPoolExecutor(threads) as pool:
        # Closing it, as an error does, cancels what has not begun.
        yield from reported(pool.map(work, items), len(items))


def multiply_on_one_thread() -> None:
    """Call this before numpy is imported, so that scores do not depend on the number of processes in the last bits."""
    os.environ.setdefault(_BLAS, "1")


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

"""The Ray cluster of RAY_ADDRESS, or a Ray on this machine that is started for the run: quietly, on loopback only."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rejoinder.errors import CallError, RejoinderError, WorkerError
from rejoinder.learning.extras import require_extra
from rejoinder.scoring.parts.writing import PartsJob
from rejoinder.threads import thread_limits, usable_cores

if TYPE_CHECKING:
    import ray

ADDRESS = "RAY_ADDRESS"
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # it warns of what Ray Data does with every pool of actors
}
_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray uses the loopback address where it cannot be part of a cluster; else it would listen on all addresses."""
_OWN_PRIORITY = {"RAY_worker_niceness": "0"}
"""The workers of a Ray that a run has started have its priority. By default theirs is so low (`nice` 15) that they
hardly run beside other programs."""
_NAMED = re.compile(r"[\w.]+(?:Error|Exception): ")
SHARE_OF_CPU = 0.9
"""The CPUs that Ray reserves for an actor that computes on one: whatever else Ray Data starts must find a place."""
_PATIENCE = 10.0
"""Seconds within which a cluster must accept a connection."""
OBJECT_STORE = 256 << 20
"""Bytes of shared memory of a Ray on this machine: only the metrics and the numbers of parts are kept there."""


@dataclass(frozen=True)
class Cluster:
    """A cluster that this process has joined."""

    workers: int

    @classmethod
    @contextmanager
    def joined(cls, workers: int | None) -> Iterator[Cluster]:
        """The cluster, during the block; `workers` is the number of actors, by default one per CPU."""
        require_extra("scale", "--engine ray")
        address = os.environ.get(ADDRESS)
        settings = _QUIET | (_ON_LOOPBACK if _is_on_loopback(address) else {}) | ({} if address else _OWN_PRIORITY)
        for name, value in settings.items():
            os.environ.setdefault(name, value)
        import ray

        if ray.is_initialized():  # by the caller, who also ends it
            yield cls(workers or _cpus())
            return
        folder = None
        try:
            with _native_messages_hidden():
                if address:
                    _connect(address)
                else:
                    folder = tempfile.mkdtemp(prefix="rejoinder-ray-")
                    _start(folder, workers)
            yield cls(workers or _cpus())
        finally:
            ray.shutdown()
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def parts_done(self, job: PartsJob, task: str, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Let the actors do a task for some parts; each part, when it is done, with what went wrong, or ""."""
        import ray

        if not numbers:
            return
        size = max(1, min(self.workers, len(numbers)))
        share = SHARE_OF_CPU * min(1.0, _cpus() / size)
        _quiet_data()
        parts = ray.data.from_items([{"part": number} for number in numbers], override_num_blocks=len(numbers))
        done = parts.map_batches(
            _Actor,
            batch_size=1,
            # One part each: an actor that is ready before the others would otherwise take parts that they could do.
            compute=ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=1),
            fn_constructor_args=(ray.put(job), task, sys.path),
            num_cpus=share,
            runtime_env={"env_vars": thread_limits(usable_cores())},
        )
        try:
            for row in done.iter_rows():
                yield int(row["part"]), str(row["problem"])
        except ray.exceptions.RayError as error:
            raise WorkerError(f"Ray gave up ({_reason(error)}); --resume continues") from None


class _Actor:
    """Does parts of a job, which is loaded once. Ray starts it again if it dies, and gives it the part again."""

    def __init__(self, job: ray.ObjectRef[PartsJob], task: str, path: list[str]) -> None:
        import ray

        # A metric of the user's may be in a folder that only the driver was told of.
        sys.path += [entry for entry in path if entry not in sys.path and os.path.isdir(entry)]
        self._job = ray.get(job)
        self._task = task

    def __call__(self, batch: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
        problems = [self._problem(int(number)) for number in batch["part"]]
        return {"part": batch["part"], "problem": np.array(problems, object)}

    def _problem(self, number: int) -> str:
        """Do one part; what went wrong, on one line."""
        try:
            self._job.check_attempts(number)
            getattr(self._job, self._task)(number)
        except RejoinderError as error:
            return str(error)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""


def _is_on_loopback(address: str | None) -> bool:
    """Whether Ray has to use the loopback address: for a Ray of our own, or a cluster that listens nowhere else.

    Where Ray could be part of a cluster, it replaces 127.0.0.1 by another address of the machine.
    """
    host, port = _host_and_port(address) if address else ("localhost", None)
    if host != "localhost" and not host.startswith("127."):
        return False
    return port is None or not _answers(_outer_address(), port)


def _outer_address() -> str:
    """The address that other machines see; the loopback address on a machine without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route, suppress(OSError):
        route.connect(("192.0.2.1", 9))  # finds the route, and sends nothing
        return str(route.getsockname()[0])
    return "127.0.0.1"


def _host_and_port(address: str) -> tuple[str, int | None]:
    """Those of "10.0.0.5:6379"; ("", None) for an address of another kind, such as "auto"."""
    found = re.fullmatch(r"([\w.-]+):(\d{1,5})", address)
    return (found[1], int(found[2])) if found else ("", None)


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), _PATIENCE).close()
    except (OSError, OverflowError):
        return False
    return True


def _connect(address: str) -> None:
    host, port = _host_and_port(address)
    if port is not None and not _answers(host, port):  # Ray itself would try for many minutes
        raise CallError(f"{ADDRESS} is {address}, but nothing answers there: expected the address of a Ray cluster")
    import ray

    try:
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        told = f"{ADDRESS} is {address}, but no Ray accepts this run there ({_reason(error)})"
        raise CallError(f"{told}; if the cluster asks for a token, Ray needs its RAY_AUTH_MODE") from None


def _start(folder: str, workers: int | None) -> None:
    import ray

    ray.init(
        address="local",
        num_cpus=max(1, workers or usable_cores()),
        include_dashboard=False,
        logging_level=logging.ERROR,
        log_to_driver=False,
        object_store_memory=OBJECT_STORE,
        _node_ip_address="127.0.0.1",
        _temp_dir=folder,
    )


@contextmanager
def _native_messages_hidden() -> Iterator[None]:
    """Discard what native code writes to standard error: Ray says there that it was told to be quiet."""
    try:
        kept = os.dup(2)
    except OSError:  # closed
        yield
        return
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _quiet_data() -> None:
    """No bars and messages of Ray Data: the run has its own."""
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)


def _cpus() -> int:
    import ray

    found: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(found.get("CPU", 1)))


def _reason(error: BaseException) -> str:
    """The last line that names an error, else the first line: Ray puts whole tracebacks into its messages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if _NAMED.match(line)]
    return (named[-1:] or lines[:1] or [type(error).__name__])[0]

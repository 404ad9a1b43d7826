"""Scores batches in several processes of this machine: the same scores as in one, in the same order.

Only evaluators on torch may differ in the last bits, because each process has fewer threads than one alone
(docs/reference/determinism.md).

The processes are started as new interpreters, never forked, each with its share of the cores as threads. Unlike those
of `multiprocessing` they do not run the caller's script again, so a script needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from os import environ
from pathlib import Path
from typing import IO, Any

from rejoinder.errors import WorkerError
from rejoinder.metrics.batch import Batch
from rejoinder.scoring.engines.channel import packed, received, send
from rejoinder.scoring.engines.worker import write_arrays
from rejoinder.scoring.scorer import Scorer
from rejoinder.threads import thread_limits
from rejoinder.types import Scores

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from rejoinder.scoring.engines.worker import main; main()"
)
_AHEAD = 2
"""Batches that each process has at a time: one that it scores, and the next."""
_TURN = 0.2
"""Seconds."""
_ENDED = object()
"""Stands for the answer of a process that has ended."""


class Processes:
    """Processes that score; `scorer` collects what they count."""

    def __init__(self, scorer: Scorer, count: int) -> None:
        self.scorer, self.count = scorer, count
        self._answers: queue.SimpleQueue[tuple[_Process, Any]] = queue.SimpleQueue()
        self._folder = tempfile.TemporaryDirectory(prefix="rejoinder-")
        self._processes: list[_Process] = []
        limits = thread_limits(count)
        try:
            for _ in range(count):
                self._processes.append(_Process.start(limits, self._answers))
            self._all("start", (scorer.metrics, scorer.system_names, scorer.intervals))
        except BaseException:
            self.close()
            raise

    def observe(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Each batch, after the metrics that must know the whole corpus have read it."""
        for batch, observed in self._done(("observe", batch) for batch in batches):
            self.scorer.merge_observed(observed)
            yield batch

    def finish_observing(self) -> None:
        """Make every metric ready to score, in all processes."""
        folder = Path(self._folder.name)
        write_arrays(folder, self.scorer.observed())
        self.scorer.finish_observing()
        self._all("finish observing", folder)

    def score(self, batches: Iterable[Batch], done: int = 0) -> Iterator[tuple[Batch, dict[str, Scores] | None]]:
        """Each batch with its columns; None for batches within the first `done` examples, which are only counted."""
        for batch, answer in self._done(_tasks(batches, done)):
            scores, state = answer if isinstance(answer, tuple) else (None, answer)
            self.scorer.merge(state)
            yield batch, scores

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        for process in self._processes:
            process.end()
        self._folder.cleanup()

    def _done(self, tasks: Iterable[tuple[str, Batch]]) -> Iterator[tuple[Batch, Any]]:
        """The batches of tasks with the answers, in order; few batches are in memory at a time."""
        tasks, waiting = iter(tasks), deque[_Task]()
        free = deque(process for _ in range(_AHEAD) for process in self._processes)
        given: dict[int, deque[_Task]] = {id(process): deque() for process in self._processes}
        while True:
            while free and len(waiting) < _AHEAD * len(self._processes):
                name, batch = next(tasks, (None, None))
                if name is None or batch is None:
                    break
                task, process = _Task(batch), free.popleft()
                process.send((name, packed(batch.examples)))
                given[id(process)].append(task)
                waiting.append(task)
            if not waiting:
                return
            while not waiting[0].answered:
                process, answer = self._next_answer()
                task = given[id(process)].popleft()
                task.answer, task.answered = answer, True
                free.append(process)
            first = waiting.popleft()
            yield first.batch, first.answer

    def _all(self, name: str, given: object) -> None:
        """Let every process do something, and wait until all have."""
        for process in self._processes:
            process.send((name, given))
        for _ in self._processes:
            self._next_answer()

    def _next_answer(self) -> tuple[_Process, Any]:
        process, answer = self._wait()
        if answer is _ENDED:
            raise process.died()
        if isinstance(answer, BaseException):
            raise answer
        return process, answer

    def _wait(self) -> tuple[_Process, Any]:
        """The next answer of any process, waited for in short turns: an interrupt does not end a longer wait."""
        while True:
            with suppress(queue.Empty):
                return self._answers.get(timeout=_TURN)


@dataclass
class _Task:
    batch: Batch
    answer: Any = None
    answered: bool = False


@dataclass(eq=False)
class _Process:
    """One process, with a thread that waits for its answers."""

    popen: subprocess.Popen[bytes]
    _thread: threading.Thread = field(init=False)

    @classmethod
    def start(cls, limits: dict[str, str], answers: queue.SimpleQueue[tuple[_Process, Any]]) -> _Process:
        """A new process, with these limits on threads."""
        popen = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**environ, **limits},
            # An interrupt at the keyboard is for the process that knows what to do about it.
            start_new_session=sys.platform != "win32",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        process = cls(popen)
        process._thread = threading.Thread(target=process._receive, args=(_pipe(popen.stdout), answers), daemon=True)
        process._thread.start()
        return process

    def send(self, message: object) -> None:
        """Give the process something to do; WorkerError if it has ended."""
        try:
            send(_pipe(self.popen.stdin), message)
        except (BrokenPipeError, ConnectionError):
            raise self.died() from None

    def died(self) -> WorkerError:
        """The error that says how it ended."""
        try:
            code = self.popen.wait(10)
        except subprocess.TimeoutExpired:
            code = None
        how = "stopped answering" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            name = signal.Signals(-code).name if -code in list(signal.Signals) else str(-code)
            how = f"was ended by the signal {name}{' (out of memory?)' if name == 'SIGKILL' else ''}"
        return WorkerError(f"process {self.popen.pid}, one of those that score, {how}; fewer --jobs need less memory")

    def end(self) -> None:
        """Stop it, and wait until it is gone."""
        self.popen.kill()
        self.popen.wait()
        self._thread.join()
        for pipe in (self.popen.stdin, self.popen.stdout):
            if pipe is not None:
                with suppress(OSError):  # part of a message that was never read
                    pipe.close()

    def _receive(self, stream: IO[bytes], answers: queue.SimpleQueue[tuple[_Process, Any]]) -> None:
        while True:
            try:
                answer = received(stream)
            except EOFError:
                answers.put((self, _ENDED))
                return
            except BaseException as error:  # an answer that cannot be read here
                answer = error
            answers.put((self, answer))


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("the process was started without pipes")
    return pipe


def _tasks(batches: Iterable[Batch], done: int) -> Iterator[tuple[str, Batch]]:
    """What is to be done with each batch: the first `done` examples have their scores already."""
    stop = 0
    for batch in batches:
        stop += len(batch)
        yield ("count" if stop <= done else "score"), batch

"""Batches in several processes of this machine: the same scores as in one, in the same order."""

from __future__ import annotations

import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from os import environ
from pathlib import Path
from typing import IO, Any

from rejoinder.errors import WorkerError
from rejoinder.folders.foreign import mapped_array
from rejoinder.metrics.base import State
from rejoinder.metrics.batch import Batch
from rejoinder.scoring.scorer import Scorer
from rejoinder.threads import thread_limits
from rejoinder.types import Example, Scores

# Scores batches in several processes of this machine: the same scores as in one, in the same order.
#
# Only evaluators on torch may differ in the last bits, because each process has fewer threads than one alone
# (docs/reference/determinism.md).
#
# The processes are started as new interpreters, never forked, each with its share of the cores as threads. Unlike those
# of `multiprocessing` they do not run the caller's script again, so a script needs no `if __name__ == "__main__"`.


_START = """import json, sys; sys.path[:] = json.loads(sys.argv[1])
from rejoinder.scoring.processes import worker_main; worker_main()"""
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
        share_arrays(folder, self.scorer.observed())
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
                process.send((name, packed_examples(batch.examples)))
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


# A process that scores batches for the one that started it.
#
# It gets the metrics first, then one task after the other, and answers each. It ends when the pipe is closed: at
# once, in the middle of a batch, also where the process that started it was killed.


@dataclass
class BatchWorker:
    """Does the tasks of a run, each with the scores of one batch and what was counted in it."""

    scorer: Scorer

    def observe(self, batch: Batch) -> State:
        """What the metrics that must know the whole corpus read in a batch."""
        fresh = self.scorer.restarted()
        fresh.observe(batch)
        return fresh.observed()

    def count(self, batch: Batch) -> State:
        """What is counted in a batch that has its scores already."""
        fresh = self.scorer.restarted()
        fresh.count(batch)
        return fresh.state()

    def score(self, batch: Batch) -> tuple[dict[str, Scores], State]:
        """The columns of a batch, and what was counted in it."""
        fresh = self.scorer.restarted()
        scores = fresh.score(batch)
        return scores, fresh.state()

    def finish_observing(self, folder: Path) -> None:
        """Take over what was observed in the whole corpus, as `share_arrays` wrote it."""
        self.scorer.merge_observed(shared_arrays(folder))
        self.scorer.finish_observing()


def share_arrays(folder: Path, arrays: State) -> None:
    """Write arrays into a folder, one file each: processes that read them share the memory."""
    import numpy as np

    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def shared_arrays(folder: Path) -> State:
    """The arrays of a folder, mapped into memory."""
    return {path.name.removesuffix(".npy"): mapped_array(path) for path in sorted(folder.glob("*.npy"))}


def worker_main() -> None:
    """Answer tasks until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one gets it too, and ends this one
    tasks, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get between the answers
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(tasks, waiting), daemon=True).start()
    worker: BatchWorker | None = None
    while True:
        task, given = waiting.get()
        try:
            if isinstance(given, BaseException):
                raise given
            if task == "start":
                worker, answer = BatchWorker(Scorer(*given)), None
            elif worker is None:
                raise RuntimeError("a task came before the metrics")
            elif task == "finish observing":
                answer = worker.finish_observing(given)  # type: ignore[func-returns-value]
            else:
                answer = getattr(worker, task)(Batch(unpacked_examples(given)))
        except Exception as error:
            answer = error
        _answer(answers, answer)


def _receive(tasks: IO[bytes], waiting: queue.SimpleQueue[Any]) -> None:
    """Read tasks while a batch is scored, and end the process when there is nobody to answer."""
    while True:
        try:
            waiting.put(received(tasks))
        except EOFError:
            os._exit(0)
        except BaseException as error:  # a metric that cannot be imported here
            waiting.put(("failed", error))


def _answer(answers: IO[bytes], answer: object) -> None:
    try:
        send(answers, answer)
    except (TypeError, AttributeError, ValueError):  # an error with something in it that cannot be sent
        send(answers, RuntimeError(f"{type(answer).__name__}: {answer}"))


if __name__ == "__main__":
    worker_main()


# Messages between this process and one that it started, over the other's standard input and output.
#
# Messages are pickled: they come from a process that runs this same program, started by this one or the one that
# started it, over a pipe that no other process can open. Nothing else is unpickled anywhere.


_FIELDS = tuple(Example.__dataclass_fields__)
_values = attrgetter(*_FIELDS)


def send(stream: IO[bytes], message: object) -> None:
    """Write one message."""
    pickle.dump(message, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


def received(stream: IO[bytes]) -> Any:
    """The next message; EOFError if the other process has ended."""
    try:
        return pickle.load(stream)
    except pickle.UnpicklingError:  # cut off in the middle
        raise EOFError from None


def packed_examples(examples: Sequence[Example]) -> list[tuple[Any, ...]]:
    """Examples as tuples, which are faster to send."""
    return list(map(_values, examples))


def unpacked_examples(rows: Sequence[tuple[Any, ...]]) -> list[Example]:
    """The examples of such tuples."""
    return [Example(*row) for row in rows]

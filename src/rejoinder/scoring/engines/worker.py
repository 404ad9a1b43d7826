"""A process that scores batches for the one that started it.

It gets the metrics first, then one task after the other, and answers each. It ends when the pipe is closed: at once, in
the middle of a batch, also where the process that started it was killed.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rejoinder.loading.foreign import mapped_array
from rejoinder.metrics.base import State
from rejoinder.metrics.batch import Batch
from rejoinder.scoring.engines.channel import received, send, unpacked
from rejoinder.scoring.scorer import Scorer
from rejoinder.types import Scores


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
        """Take over what was observed in the whole corpus, as `write_arrays` wrote it."""
        self.scorer.merge_observed(read_arrays(folder))
        self.scorer.finish_observing()


def write_arrays(folder: Path, arrays: State) -> None:
    """Write arrays into a folder, one file each: processes that read them share the memory."""
    import numpy as np

    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def read_arrays(folder: Path) -> State:
    """The arrays of a folder, mapped into memory."""
    return {path.name.removesuffix(".npy"): mapped_array(path) for path in sorted(folder.glob("*.npy"))}


def main() -> None:
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
                answer = getattr(worker, task)(Batch(unpacked(given)))
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
    main()

"""The rows of an unfinished run, on disk so that an interrupted run can be resumed.

`scores.jsonl.part` holds the rows. `scores.jsonl.part.json` says which run they belong to, and proves that both files
were written by this program: it is written first and deleted last, so rows without it belong to somebody else. Such
files are neither read nor overwritten.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rejoinder.errors import CallError, WorkerError
from rejoinder.output.writing import write_text

_MARK = {"rejoinder": "unfinished run"}


@dataclass(frozen=True)
class UnfinishedRows:
    """The rows of a run that go into `target` when it is finished."""

    target: Path

    @property
    def rows(self) -> Path:
        """The file of rows."""
        return self.target.with_name(f"{self.target.name}.part")

    @property
    def state(self) -> Path:
        """The file about the run."""
        return self.target.with_name(f"{self.target.name}.part.json")

    def exist(self) -> bool:
        """Whether there are rows of an interrupted run; CallError if somebody else's files have these names."""
        self.check()
        return self.rows.exists()

    def check(self) -> None:
        """Raise a CallError if somebody else's files have the names of these."""
        is_ours = self.read_state() is not None
        for path in (self.state, self.rows):
            if os.path.lexists(path) and not (is_ours and path.is_file() and not path.is_symlink()):
                raise CallError(
                    f"{path} is not from an interrupted run, and a run into {self.target} would overwrite it: "
                    "move it away, or choose another output"
                )

    def read_state(self) -> dict[str, Any] | None:
        """What was written about the interrupted run; None if there is none."""
        try:
            state = json.loads(self.state.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(state, dict) or not _MARK.items() <= state.items():
            return None
        return {key: value for key, value in state.items() if key not in _MARK}

    def write_state(self, state: Mapping[str, Any]) -> None:
        """Say which run the rows belong to."""
        write_text(self.state, json.dumps({**_MARK, **state}))

    def start(self, state: Mapping[str, Any]) -> None:
        """Begin without any row; those of an interrupted run are deleted."""
        self.check()
        self.rows.unlink(missing_ok=True)
        self.write_state(state)
        self.rows.touch(exist_ok=False)

    def appending(self) -> IO[str]:
        """The file of rows, open for appending."""
        return self.rows.open("a", encoding="utf-8", newline="\n")

    @contextmanager
    def kept_only_for_resuming(self) -> Iterator[None]:
        """Delete both files if the block fails for a reason that resuming would not help with.

        They are kept when the run is interrupted, a process of it ends, the disk is full, or memory runs out.
        """
        try:
            yield
        except (OSError, MemoryError, WorkerError):
            raise
        except Exception:
            self.discard()
            raise

    def discard(self) -> None:
        """Delete both files."""
        self.rows.unlink(missing_ok=True)
        self.state.unlink(missing_ok=True)

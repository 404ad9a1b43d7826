"""What `--resume` goes by: the rows of an unfinished run on disk, and whether an output is of the run that resumes it.

`scores.jsonl.part` holds the rows. `scores.jsonl.part.json` says which run they belong to, and proves that both files
were written by this program: it is written first and deleted last, so rows without it belong to somebody else. Such
files are neither read nor overwritten.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from rejoinder.errors import CallError, DataError, WorkerError, cut
from rejoinder.output.writing import write_text

_MARK = {"rejoinder": "unfinished run"}
START_OVER = "choose another output, or start over without --resume"
_DIGESTS = {
    "digest": "other data",
    "slices": "other values of the fields of --by",
    "files": "other files behind the parameters",
}
"""Key of a digest -> what it means if it differs."""
_LONGEST_SHOWN = 60  # characters


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


def content_digest(path: Path) -> str:
    """A hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=16)).hexdigest()


def check_same_run(found: Mapping[str, Any], run: Mapping[str, Any], place: Path) -> None:
    """Raise a CallError that says what differs if an output, finished or not, is of another run than this one.

    `found` is what the output records of the run that wrote it, `run` what this run would record: everything that the
    output depends on.
    """
    now = json.loads(json.dumps(run))
    if found != now:
        told = ", ".join(_differences(found, now)) or "other settings"
        raise CallError(f"{place} belongs to another run ({told}): {START_OVER}")


def check_finished(target: Path, about: Mapping[str, Any], run: Mapping[str, Any], lacking: str = "") -> None:
    """Raise an error unless a finished file is of this run, and as it was written.

    `about` is what was recorded about it: the `run`, and the digest of its `content`. `lacking` says why something may
    be missing there.
    """
    found = about.get("run")
    if not isinstance(found, Mapping):
        reason = lacking or "its metadata do not record the run"
        raise CallError(f"{target} cannot be compared with this run ({reason}): {START_OVER}")
    check_same_run(found, run, target)
    # The metadata of a Parquet file are at its end, which is not there if it was cut off.
    if target.suffix != ".parquet" and about.get("content") != content_digest(target):
        raise DataError(
            f"is not the file that its metadata describe, or was changed or cut off: {START_OVER}", file=str(target)
        )


def _differences(found: Mapping[str, Any], run: Mapping[str, Any]) -> Iterator[str]:
    """What differs, with the old and the new value where these say something."""
    for key in dict.fromkeys((*run, *found)):
        old, new = found.get(key), run.get(key)
        if key not in found:
            yield f"{key} is not recorded"
        elif key in _DIGESTS and old != new:
            yield _DIGESTS[key]
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            for label in dict.fromkeys((*new, *old)):
                if label not in old or label not in new:
                    yield f"{cut(label, _LONGEST_SHOWN)} {'added' if label in new else 'left out'}"
                elif old[label] != new[label]:
                    yield f"{cut(label, _LONGEST_SHOWN)}: {_changed(old[label], new[label])}"
        elif old != new:
            yield f"{key}: {_changed(old, new)}"


def _changed(old: Any, new: Any) -> str:
    """An old and a new value; of signatures only the parts that differ."""
    if isinstance(old, str) and isinstance(new, str) and "|" in old and "|" in new:
        before, after = old.split("|"), new.split("|")
        old, new = ([part for part in one if part not in other] for one, other in ((before, after), (after, before)))
    return f"{_shown(old)}, now {_shown(new)}"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        value = " ".join(map(str, value)) or "none"
    return cut(value if isinstance(value, str) else json.dumps(value), _LONGEST_SHOWN)

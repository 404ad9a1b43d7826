"""Outputs: which files a run writes, one run at a time, written beside and moved into place, and what was left
unfinished.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import socket
import sys
import threading
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from rejoinder.errors import CallError, DataError, WorkerError, cut, shortened
from rejoinder.folders.schema import CONFIG

# Outputs: which files a run writes, one run at a time, written beside and moved into place, and what was left
# unfinished.


# One run at a time per output: a lock that the operating system releases when the process ends, however it ends.
#
# The lock is on a hidden file next to the output, `.scores.jsonl.lock`, which names the process that holds it and is
# deleted at the end. A killed process leaves the file behind without a lock, and the next run takes it over.


if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOCK_MARK = "rejoinder: "
_LONGEST_LOCK = 400  # bytes of a lock file
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
            holder = _text(handle).removeprefix(_LOCK_MARK).strip() or "unknown process"
            os.close(handle)
            raise CallError(f"{target} is being written by another run ({holder}): wait for it, or choose another name")
        if _is_at(path, handle):
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, f"{_LOCK_MARK}process {os.getpid()} on {socket.gethostname()}\n".encode())
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
    if text and not text.startswith(_LOCK_MARK):
        os.close(handle)
        raise CallError(f"{path} is not a lock file of this program: expected no such file, or another output")
    return handle


def _text(handle: int) -> str:
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, _LONGEST_LOCK).decode("utf-8", "replace")


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


# The files that options and parameters name: a run must not write over anything that it reads.


_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_SEPARATORS = re.compile(r"[=,()\[\]{}<>@'\"]")
_LONGEST_SEARCHED = 10_000  # characters of a text that is searched for names of files


def paths_of(data: Any) -> list[Path]:
    """The paths among data that a function was given; none where the data are in memory."""
    several = data if isinstance(data, list | tuple) else [data]
    return [Path(item) for item in several if isinstance(item, str | Path)]


def named_files(*values: Any) -> list[Path]:
    """The files that parameters name, and the files of the model folders that they name.

    A parameter may be a path, a metric such as 'ensemble(members=[a, b])', a system such as 'NAME=FOLDER@greedy', or
    lists and mappings of these. What a TOML file names counts as well.
    """
    return list(dict.fromkeys(path for value in values for path in _files(value)))


def _files(value: Any) -> Iterator[Path]:
    if isinstance(value, str | Path):
        for name in _names_in(str(value)):
            yield from _files_at(Path(name))
    elif isinstance(value, Mapping):
        yield from named_files(*value, *value.values())
    elif isinstance(value, list | tuple):
        yield from named_files(*value)


def _names_in(text: str) -> list[str]:
    """The text itself, and whatever in it may be the name of a file."""
    if len(text) > _LONGEST_SEARCHED:
        return []
    quoted = [first or second for first, second in _QUOTED.findall(text)]
    after_name = text.partition("=")[2]
    return [name for name in (text, after_name, *quoted, *map(str.strip, _SEPARATORS.split(text))) if name]


def _files_at(path: Path) -> Iterator[Path]:
    try:
        if path.is_file():
            yield path
            if path.suffix == ".toml":
                yield from _files(tomllib.loads(path.read_text(encoding="utf-8")))
        elif (path / CONFIG).is_file():
            yield from (file for file in path.rglob("*") if file.is_file())
    except (OSError, ValueError, RecursionError):  # not a file's name; a bad TOML file is reported where it is used
        return


# Every output of every command is checked here before any work: it can be written, no input is lost, and no other
# run is writing it.
#
# A run may write more files than the one that was named, such as metadata and unfinished rows. All of them are
# compared with all files that the run reads, by identity, so that links and different spellings of a path make no
# difference.


STANDARD_INPUT = "-"


def _nothing() -> None:
    """Check nothing."""


@dataclass(frozen=True)
class Output:
    """A file or folder that a run writes, with the other files that come with it."""

    target: Path
    suffixes: tuple[str, ...] = ()
    """Those that a file may have; () for any."""
    beside: tuple[Path, ...] = ()
    """Further files that the run writes."""
    shared: tuple[Path, ...] = ()
    """Further files that the outputs of two runs may have in common, so that they are locked as well."""
    check: Callable[[], None] = _nothing
    """Raises an error if files are in the way that are not the output of an earlier run."""
    is_folder: bool = False

    @property
    def files(self) -> tuple[Path, ...]:
        """Everything that may be written."""
        return (self.target, *self.beside, *self.shared)


def output_path(name: str | Path) -> Path:
    """The path of an output; a CallError for an empty name, and for one that the file system does not accept."""
    path = Path(name)
    if not path.name:
        raise CallError(f"cannot write to {str(name)!r}: expected the name of a new file or folder")
    try:
        os.lstat(path.with_name(f"{path.name}.part.json"))  # the longest name that is made from it
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            return path
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CallError(f"cannot write to {shortened(str(path))} ({reason}): expected another name") from None
    return path


@contextmanager
def reserved(*outputs: Output, reads: Iterable[str | Path] = ()) -> Iterator[None]:
    """Check all outputs of a run before it does any work, and reserve them for it during the block.

    CallError if one cannot be written, if it is also read, or if another run is writing it. Which files are `reads`
    matters only where there is an output.
    """
    for output in outputs:
        _check_place(output)
    if outputs:
        _check_apart(outputs)
        _check_inputs(outputs, list(reads))
    with ExitStack() as stack:
        for output in outputs:
            for path in (output.target, *output.shared):
                stack.enter_context(locked(path))
        for output in outputs:
            output.check()
        yield


@contextmanager
def reserved_file(
    output: str | Path | None, suffixes: tuple[str, ...], reads: Iterable[str | Path] = ()
) -> Iterator[Path | None]:
    """`reserved` for a single file; None where nothing is written."""
    if output is None:
        yield None
        return
    path = output_path(output)
    with reserved(Output(path, suffixes), reads=reads):
        yield path


def _check_place(output: Output) -> None:
    path = output.target
    output_path(path)
    if output.suffixes and path.suffix not in output.suffixes:
        expected = ", ".join(output.suffixes)
        raise CallError(f"{path}: cannot write {path.suffix or 'a file without a suffix'}; expected {expected}")
    if path.is_dir() and not output.is_folder:
        raise CallError(f"{path} is a folder: expected the name of a file")
    if output.is_folder and path.exists() and not path.is_dir():
        raise CallError(f"{path} is a file: expected a folder")
    wanted = f"expected a folder to {f'make {path.name} in' if output.is_folder else f'write {path.name} into'}"
    if not path.parent.is_dir():
        raise CallError(f"{path.parent} does not exist: {wanted}")
    if not os.access(path.parent, os.W_OK):
        raise CallError(f"{path.parent} is not writable: {wanted}")


def _check_apart(outputs: Sequence[Output]) -> None:
    seen: set[str] = set()
    for output in outputs:
        for path in output.files:
            place = os.path.normcase(path.parent.resolve() / path.name)
            if place in seen:
                raise CallError(f"{path} would be written twice: expected different names")
            seen.add(place)


def _check_inputs(outputs: Sequence[Output], reads: Sequence[str | Path]) -> None:
    inputs = [place for read in reads for place in _places(read)]
    for output in outputs:
        for path in output.files:
            found = _status(path)
            if found is not None and any(os.path.samestat(found, place) for place in inputs):
                what, other = ("holds", "folder") if path.is_dir() else ("is", "file")
                why = "" if path == output.target else f", and a run into {output.target} would write it"
                raise CallError(f"{path} {what} an input{why}: expected another {other} to write to")


def _places(read: str | Path) -> Iterator[os.stat_result]:
    """The identities of a file that is read and of the folders above it, none of which may be replaced."""
    found = _status(read)
    if found is not None:
        yield found
    if str(read) != STANDARD_INPUT and found is not None:
        yield from (place for folder in Path(read).resolve().parents if (place := _status(folder)) is not None)


def _status(path: str | Path) -> os.stat_result | None:
    """The identity of a file, behind links; None if there is none."""
    try:
        return os.fstat(sys.stdin.fileno()) if str(path) == STANDARD_INPUT else os.stat(path)
    except (OSError, ValueError, AttributeError):  # no file; standard input that is closed or no file
        return None


# Atomic writing: into a temporary file first, then moved into place, so that no reader sees half a file.


_SHOWN = 40  # characters of the target's name in the name of its temporary file


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """A text file that replaces `path` when the block succeeds, and leaves no trace when it fails."""
    with replacing_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        yield file


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """An empty file that replaces `path` when the block succeeds, and is deleted when it fails."""
    with temporary_beside(path) as temporary:
        yield temporary
        temporary.replace(path)


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """An empty file in the folder of `path`, deleted after the block if it is still there.

    Nobody can guess its name, and it is created exclusively: neither another file nor the target of a link is
    overwritten.
    """
    temporary = path.with_name(f".{path.name[:_SHOWN]}-{secrets.token_hex(8)}.tmp")
    temporary.touch(exist_ok=False)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text to a file, completely or not at all."""
    with replacing(path) as file:
        file.write(text)


# What `--resume` goes by: the rows of an unfinished run on disk, and whether an output is of the run that resumes
# it.
#
# `scores.jsonl.part` holds the rows. `scores.jsonl.part.json` says which run they belong to, and proves that both files
# were written by this program: it is written first and deleted last, so rows without it belong to somebody else. Such
# files are neither read nor overwritten.


_RUN_MARK = {"rejoinder": "unfinished run"}
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
        if not isinstance(state, dict) or not _RUN_MARK.items() <= state.items():
            return None
        return {key: value for key, value in state.items() if key not in _RUN_MARK}

    def write_state(self, state: Mapping[str, Any]) -> None:
        """Say which run the rows belong to."""
        write_text(self.state, json.dumps({**_RUN_MARK, **state}))

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

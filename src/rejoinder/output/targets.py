"""Every output of every command is checked here before any work: it can be written, no input is lost, and no other run
is writing it.

A run may write more files than the one that was named, such as meta data and unfinished rows. All of them are compared
with all files that the run reads, by identity, so that links and different spellings of a path make no difference.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rejoinder.errors import CallError, shortened
from rejoinder.output.locks import locked

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

    CallError if one cannot be written, if it is also read, or if another run is writing it.
    """
    for output in outputs:
        _check_place(output)
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

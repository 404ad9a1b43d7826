"""The folder of releases: one score file with meta data for each, in the order in which they were recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rejoinder.errors import CallError, DataError, UnknownNameError, shortened
from rejoinder.meta.history.release import Release, is_release, read_release
from rejoinder.output.targets import Output
from rejoinder.scoring.score_output import score_output

SUFFIX = ".jsonl"
_NAME = re.compile(r"[\w+][\w.+-]{0,99}")


def release_path(folder: Path, name: str) -> Path:
    """The file of a release; a CallError for a name that no file should have."""
    if not _NAME.fullmatch(name):
        expected = "expected up to 100 letters, digits, dots, hyphens and plus signs, such as 1.5.0"
        raise CallError(f"a release cannot be named {shortened(name)}: {expected}")
    return folder / f"{name}{SUFFIX}"


def release_output(path: Path) -> Output:
    """A new file for a release: what was recorded once is not changed."""
    if path.exists():
        raise CallError(f"{path} exists: a recorded release is not changed; expected another name")
    return score_output(path)


@contextmanager
def new_in(folder: Path) -> Iterator[None]:
    """The folder, which is created where it is not there, and deleted again if the block fails."""
    if folder.exists() and not folder.is_dir():
        raise CallError(f"{folder} is a file: expected a folder of releases")
    if not folder.parent.is_dir():
        raise CallError(f"{folder.parent} does not exist: expected a folder to make {folder.name} in")
    created = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        yield
    except BaseException:
        if created:
            with suppress(OSError):  # another run has written into it
                folder.rmdir()
        raise


def releases_in(folder: Path) -> list[Release]:
    """All releases, the oldest first; other score files are left out."""
    if not folder.is_dir():
        raise DataError("no such folder: expected one that `rejoinder history --add` wrote", file=str(folder))
    found = [read_release(path) for path in sorted(folder.glob(f"*{SUFFIX}")) if is_release(path)]
    return sorted(found, key=lambda release: (release.recorded, release.name))


def baseline_of(place: Path) -> Release:
    """The release at a path: the last one of a folder, or that of a file."""
    if place.is_file():
        return read_release(place)
    if not place.is_dir() and place.parent.is_dir():
        known = [path.name for path in place.parent.glob(f"*{SUFFIX}") if is_release(path)]
        if known:
            raise UnknownNameError(f"release in {place.parent}:", place.name, known)
    found = releases_in(place)
    if not found:
        raise DataError("has no release: `rejoinder history --add` records one", file=str(place))
    return found[-1]

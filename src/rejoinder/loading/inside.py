"""Names of files and folders that must lie within a model folder."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

from rejoinder.errors import DataError, shortened


def plain_name(name: object, file: str, field: str = "") -> str:
    """The name of a file in the same folder; DataError if it leads anywhere else."""
    if not isinstance(name, str) or not name or name in {".", ".."} or _parts(name) != (name,):
        raise DataError(f"must be the name of a file within the folder, not {shortened(name)}", file=file, field=field)
    return name


def looks_like_path(text: str) -> bool:
    """Whether a text has more than one part, as a path has on any system."""
    return len(_parts(text)) > 1 or text.startswith(("~", "."))


def _parts(name: str) -> tuple[str, ...]:
    posix, windows = PurePosixPath(name).parts, PureWindowsPath(name).parts
    return posix if len(posix) > len(windows) else windows


def refuse_links(folder: Path) -> None:
    """DataError if something in a saved folder is a link that leaves the folder."""
    home = folder.resolve()
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not _resolved(path).is_relative_to(home):
            raise DataError("is a link to a place outside the model folder: expected a file", file=str(path))


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a link to itself
        return Path(path.anchor)

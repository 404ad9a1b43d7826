"""Reading single files of a model folder."""

from __future__ import annotations

from pathlib import Path

from rejoinder.data.formats.opening import unreadable
from rejoinder.errors import DataError


def read_text(path: Path) -> str:
    """The text of a file in a model folder; DataError if it is missing or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DataError("is missing: expected a file of the model", file=str(path)) from error
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 text ({error})", file=str(path)) from error
    except OSError as error:
        raise unreadable(error, str(path)) from None


def changed_at(path: str | Path) -> int:
    """When a file, or any file directly in a folder, was last changed, in nanoseconds; 0 where there is none."""
    place = Path(path)
    files = [place, *place.iterdir()] if place.is_dir() else [place]
    return max((each.stat().st_mtime_ns for each in files if each.exists()), default=0)

"""Where examples come from: something that can be read through more than once, and is never held in memory whole."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from rejoinder.data.record import FieldError, FieldMap, data_error, example_of
from rejoinder.data.rows import Row, rows_of_file
from rejoinder.errors import CallError, DataError
from rejoinder.types import Example

OnError = Literal["raise", "skip"]


class Source:
    """Examples of a file, of standard input ("-"), of a frame, a data set, or any collection of records.

    Iterating gives the examples in order and may be repeated. With `on_error="skip"` what cannot be read is passed
    over and noted in `skipped` (line number -> error).
    """

    def __init__(self, origin: Any, fields: FieldMap | None = None, on_error: OnError = "raise") -> None:
        self.fields = fields or FieldMap()
        self.on_error = on_error
        self.skipped: dict[int, DataError] = {}
        self._spilled: tempfile.TemporaryDirectory[str] | None = None
        self._origin = origin
        if isinstance(origin, str | Path):
            self.name = str(origin)
            if str(origin) == "-":
                self.name = "standard input"
                self._origin = self._spill()
            elif not Path(origin).exists():
                raise DataError("no such file", file=self.name)
        else:
            self.name = f"<{type(origin).__module__.partition('.')[0]} {type(origin).__name__}>"
            if isinstance(origin, Iterator):  # can be read only once, and we read twice
                self._origin = list(origin)

    def __iter__(self) -> Iterator[Example]:
        return (example for _, example in self.numbered())

    def numbered(self) -> Iterator[tuple[int, Example]]:
        """Examples with their line numbers."""
        for number, record in self._rows():
            if number in self.skipped:
                continue
            try:
                if isinstance(record, DataError):
                    raise record
                if isinstance(record, Example):
                    yield number, record
                    continue
                yield number, example_of(record, number, self.fields)
            except FieldError as error:
                self.refuse(number, data_error(error, self.name, number))
            except DataError as error:
                self.refuse(number, error)

    def refuse(self, number: int, error: DataError) -> None:
        """Stop at this line, or note it and go on, as `on_error` says."""
        if self.on_error == "raise":
            raise error
        self.skipped[number] = error

    def close(self) -> None:
        """Remove what standard input was kept in."""
        if self._spilled:
            self._spilled.cleanup()

    def _rows(self) -> Iterator[Row]:
        if isinstance(self._origin, str | Path):
            return rows_of_file(Path(self._origin), self.name)
        return enumerate(_rows_of(self._origin), start=1)

    def _spill(self) -> Path:
        """Standard input as a file: it can be read only once, and we read twice."""
        self._spilled = tempfile.TemporaryDirectory(prefix="rejoinder-")
        path = Path(self._spilled.name) / "standard-input.jsonl"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return path


def read(
    origin: Any, *, fields: FieldMap | dict[str, str] | None = None, on_error: OnError = "raise"
) -> Iterator[Example]:
    """The examples of a file, standard input ("-"), frame or data set, one after the other.

    `fields` says what the data call our fields: {"context": "history"}.
    """
    mapping = FieldMap(fields) if isinstance(fields, dict) else fields
    with contextlib.closing(Source(origin, mapping, on_error)) as source:
        yield from source


def _rows_of(origin: Any) -> Iterable[Any]:
    """Records of something in memory, a few at a time where it is a frame."""
    module = type(origin).__module__.partition(".")[0]
    if module == "polars":
        frame = origin.collect() if hasattr(origin, "collect") else origin
        return _Repeatable(lambda: frame.iter_rows(named=True))
    if module == "pandas":
        return _Repeatable(lambda: _pandas_rows(origin))
    if isinstance(origin, dict | str | bytes) or not hasattr(origin, "__iter__"):
        raise CallError(f"cannot read examples from a {type(origin).__name__}: expected a path, a frame or a list")
    return origin  # type: ignore[no-any-return]


class _Repeatable:
    """An iterable that starts anew each time."""

    def __init__(self, start: Any) -> None:
        self._start = start

    def __iter__(self) -> Iterator[Any]:
        return iter(self._start())


def _pandas_rows(frame: Any) -> Iterator[dict[str, Any]]:
    step = 4096
    for start in range(0, len(frame), step):
        yield from frame.iloc[start : start + step].to_dict("records")

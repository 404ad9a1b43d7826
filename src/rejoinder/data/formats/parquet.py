"""Parquet files and lazy frames, read by polars in batches; its native code may panic on a damaged file."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.errors import CallError, DataError, shortened
from rejoinder.threads import use_thread_pools

if TYPE_CHECKING:
    import polars as pl

_ROWS = 4096
_THREADS = "POLARS_MAX_THREADS"


def parquet_records(path: Path, name: str, skipped: int = 0) -> Iterator[dict[str, Any]]:
    """The records of a file, in order, without the first `skipped`; DataError if it is damaged."""
    check_polars_threads()
    import polars as pl

    with polars_failures(name, "is not a readable Parquet file"):
        scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        expected = scan.select(pl.len()).collect().item()
    number = skipped
    for record in frame_records(scan.slice(skipped), name, "is not a readable Parquet file"):
        number += 1
        yield record
    if number != expected:  # a damaged file may end early without an error
        raise DataError(f"is damaged: {number} rows could be read, expected {expected}", file=name)


def frame_records(frame: pl.LazyFrame, name: str, problem: str = "cannot be collected") -> Iterator[dict[str, Any]]:
    """The rows of a lazy frame, collected in batches."""
    check_polars_threads()
    with polars_failures(name, problem):
        batches = frame.collect_batches(chunk_size=_ROWS, maintain_order=True)
    while True:
        with polars_failures(name, problem):
            batch = next(batches, None)
            records = None if batch is None else batch.rows(named=True)
        if records is None:
            return
        yield from records


def check_polars_threads() -> None:
    """Call this before polars is used; CallError where its threads cannot run."""
    value = os.environ.get(_THREADS, "")
    if value.strip().lstrip("+").isdecimal() and int(value[:20]) == 0:
        raise CallError(f"{_THREADS} is {shortened(value)}: expected at least 1 thread, or no such variable")
    use_thread_pools()


@contextmanager
def polars_failures(name: str, problem: str) -> Iterator[None]:
    """Turn an error or a panic of polars into a DataError."""
    import polars as pl

    try:
        with _panic_messages_hidden():
            yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError, UnicodeDecodeError) as error:
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise DataError(f"{problem} ({reason})", file=name) from None


@contextmanager
def _panic_messages_hidden() -> Iterator[None]:
    """Discard what native code writes to standard error when it panics; anything else is written afterwards.

    The file descriptor belongs to the whole process, so only the main thread redirects it.
    """
    import polars as pl

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        kept = os.dup(2)
    except OSError:  # closed
        yield
        return
    with tempfile.TemporaryFile() as written:
        _flush()
        os.dup2(written.fileno(), 2)
        try:
            yield
        except pl.exceptions.PanicException:
            written.truncate(0)
            raise
        finally:
            _flush()
            os.dup2(kept, 2)
            os.close(kept)
            written.seek(0)
            with os.fdopen(os.dup(2), "wb") as standard_error:
                shutil.copyfileobj(written, standard_error)


def _flush() -> None:
    if sys.stderr is not None:
        sys.stderr.flush()

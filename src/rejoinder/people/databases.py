"""The databases of a store: a SQLite file or a PostgreSQL server, which run the same few statements.

Each has three connections: one for transactions, of which one runs at a time, and two that read what is committed, one
for the event loop and one for threads. A page that only reads therefore waits neither for the disk nor for a thread
that reads all answers.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

from rejoinder.errors import CallError
from rejoinder.folders.sources import require_extra

_ADVISORY_LOCK = 7236014
"""A number that only this program uses on a PostgreSQL server."""


class Database(Protocol):
    """The interface of both databases."""

    serial: str

    def run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement, whose values are marked by question marks."""

    def run_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement once per row, within a transaction."""

    def transaction(self, *, on_disk: bool) -> Any:
        """A transaction; only one runs at a time. With `on_disk`, it is on disk after the block."""

    def close(self) -> None:
        """Close the connections."""


def _in_event_loop() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class SqliteDatabase:
    """A file, with a write-ahead log."""

    serial = "INTEGER PRIMARY KEY AUTOINCREMENT"

    def __init__(self, path: Path) -> None:
        self._write_lock, self._read_locks = threading.RLock(), (threading.Lock(), threading.Lock())
        self._writing = 0
        """The thread that is within a transaction."""
        try:
            self._writer, *self._readers = (_sqlite(path) for _ in range(3))
            self._writer.execute("PRAGMA journal_mode=WAL")
        except sqlite3.Error as error:
            raise CallError(f"{path} cannot be used as a store of answers ({error})") from error

    def run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement."""
        if self._writing == threading.get_ident():
            return self._writer.execute(statement, tuple(values)).fetchall()
        if not statement.startswith("SELECT"):
            with self._write_lock:
                return self._writer.execute(statement, tuple(values)).fetchall()
        which = int(_in_event_loop())
        with self._read_locks[which]:
            return self._readers[which].execute(statement, tuple(values)).fetchall()

    def run_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement once per row, within a transaction."""
        self._writer.executemany(statement, [tuple(row) for row in rows])

    @contextmanager
    def transaction(self, *, on_disk: bool) -> Iterator[None]:
        """A transaction."""
        with self._write_lock:
            self._writer.execute(f"PRAGMA synchronous={'FULL' if on_disk else 'NORMAL'}")
            self._writer.execute("BEGIN IMMEDIATE")
            self._writing = threading.get_ident()
            try:
                yield
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise
            else:
                self._writer.execute("COMMIT")
            finally:
                self._writing = 0

    def close(self) -> None:
        """Close the file."""
        for reader, lock in zip(self._readers, self._read_locks, strict=True):
            with lock:
                reader.close()
        with self._write_lock:
            self._writer.close()


def _sqlite(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, check_same_thread=False, timeout=60, isolation_level=None)


class PostgresDatabase:
    """A server. A connection that was lost is opened again for the next request."""

    serial = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"

    def __init__(self, url: str) -> None:
        require_extra("postgresql", "a PostgreSQL store")
        self._writer, *self._readers = (_PostgresConnection(url) for _ in range(3))
        self._writing = 0
        """The thread that is within a transaction."""

    def run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement."""
        reads = statement.startswith("SELECT") and self._writing != threading.get_ident()
        connection = self._readers[_in_event_loop()] if reads else self._writer
        with connection.lock:
            cursor = connection.open().execute(statement.replace("?", "%s"), tuple(values))
            return cursor.fetchall() if cursor.description else []

    def run_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement once per row, within a transaction."""
        with self._writer.open().cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), rows)

    @contextmanager
    def transaction(self, *, on_disk: bool) -> Iterator[None]:
        """A transaction; other servers on the same database wait."""
        with self._writer.lock, self._writer.open().transaction():
            self._writing = threading.get_ident()
            try:
                self.run(f"SET LOCAL synchronous_commit = {'on' if on_disk else 'off'}")
                self.run(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
                yield
            finally:
                self._writing = 0

    def close(self) -> None:
        """Close the connections."""
        for connection in (*self._readers, self._writer):
            with connection.lock:
                connection.close()


class _PostgresConnection:
    """One connection; `open` gives it anew where it was lost."""

    def __init__(self, url: str) -> None:
        self._url, self.lock = url, threading.RLock()
        self._opened = self._connected()

    def open(self) -> Any:
        if self._opened.closed:
            self._opened = self._connected()
        return self._opened

    def close(self) -> None:
        self._opened.close()

    def _connected(self) -> Any:
        import psycopg

        try:
            return psycopg.connect(self._url, autocommit=True)
        except psycopg.Error as error:
            problem = _without_password(" ".join(str(error).split()), self._url)
            raise CallError(f"the PostgreSQL server cannot be used ({problem})") from None


def _without_password(problem: str, url: str) -> str:
    """An error of the driver, which quotes a password or parts of it where it cannot make sense of the URL, without it.

    A password with / or @ in it, for example, is read as a part of the host.
    """
    given = [part for parts in re.findall(r"//[^:]*:(.*)@|password=([^&]*)", url) for part in parts if part]
    pieces = {piece for part in given for piece in (part, unquote(part), *re.split("[/@:?#]", part)) if piece}
    for piece in sorted(pieces, key=len, reverse=True):
        problem = re.sub(rf"(?<!\w){re.escape(piece)}(?!\w)", "[password]", problem)
    if any(re.search("[/@:?#]|%(?![0-9a-fA-F]{2})", part) for part in given):
        problem += "; special characters of a password must be percent-encoded in the URL, such as %40 for @"
    return problem

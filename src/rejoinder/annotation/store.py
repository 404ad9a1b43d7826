"""Answers in SQLite or PostgreSQL: appended and never changed, on disk before they are acknowledged.

`open_store("study.db")` is a file; `open_store("postgresql://...")` a server. Both run the same few statements.

Both databases write a log in the order of the commits. Answers wait until the log is on disk, and with it everything
that was committed before. Raters who join and items that are handed out do not wait: a crash of the machine may lose
them only where no answer followed, and a crash of the server loses nothing.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rejoinder.errors import CallError
from rejoinder.learning.extras import require_extra

_TABLES = (
    """CREATE TABLE IF NOT EXISTS raters (
        id TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE, source TEXT NOT NULL, joined DOUBLE PRECISION NOT NULL,
        consented DOUBLE PRECISION, seen DOUBLE PRECISION NOT NULL, outcome TEXT NOT NULL DEFAULT '')""",
    "CREATE UNIQUE INDEX IF NOT EXISTS raters_source ON raters (source) WHERE source <> ''",
    """CREATE TABLE IF NOT EXISTS assignments (
        rater TEXT NOT NULL, item TEXT NOT NULL, place INTEGER NOT NULL, handed DOUBLE PRECISION NOT NULL,
        probability DOUBLE PRECISION NOT NULL DEFAULT 1, PRIMARY KEY (rater, item))""",
    """CREATE TABLE IF NOT EXISTS answers (
        number {serial}, rater TEXT NOT NULL, item TEXT NOT NULL, question TEXT NOT NULL, value TEXT NOT NULL,
        seconds DOUBLE PRECISION NOT NULL, given DOUBLE PRECISION NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS answers_rater ON answers (rater, item)",
)

_ADVISORY_LOCK = 7236014
"""A number that only this program uses on a PostgreSQL server."""


@dataclass(frozen=True)
class Rater:
    """Someone who answers."""

    id: str
    source: str
    """The identity on a crowd-sourcing platform, or the name of a personal link."""
    joined: float
    consented: float | None
    seen: float
    """When the rater was last active."""
    outcome: str


@dataclass(frozen=True)
class Answer:
    """One answer to one question about one item."""

    rater: str
    item: str
    question: str
    value: str
    seconds: float
    """From when the page was shown until the answer arrived."""
    given: float
    """Seconds since 1970."""


@dataclass(frozen=True)
class Assigned:
    """An item that a rater was given."""

    rater: str
    item: str
    place: int
    handed: float


class Database(Protocol):
    """The interface of both databases."""

    serial: str

    def run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement, whose values are marked by question marks."""

    def transaction(self, *, on_disk: bool) -> Any:
        """A transaction; only one runs at a time. With `on_disk`, it is on disk after the block."""

    def close(self) -> None:
        """Close the connection."""


class SqliteDatabase:
    """A file, with a write-ahead log."""

    serial = "INTEGER PRIMARY KEY AUTOINCREMENT"

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        try:
            self._connection = sqlite3.connect(path, check_same_thread=False, timeout=60, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.Error as error:
            raise CallError(f"{path} cannot be used as a store of answers ({error})") from error

    def run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement."""
        with self._lock:
            return self._connection.execute(statement, tuple(values)).fetchall()

    @contextmanager
    def transaction(self, *, on_disk: bool) -> Iterator[None]:
        """A transaction."""
        with self._lock:
            self._connection.execute(f"PRAGMA synchronous={'FULL' if on_disk else 'NORMAL'}")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


class PostgresDatabase:
    """A server. A connection that was lost is opened again for the next request."""

    serial = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"

    def __init__(self, url: str) -> None:
        require_extra("postgresql", "a PostgreSQL store")
        self._url, self._lock = url, threading.RLock()
        self._opened = self._connected()

    def run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement."""
        with self._lock:
            cursor = self._connection().execute(statement.replace("?", "%s"), tuple(values))
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def transaction(self, *, on_disk: bool) -> Iterator[None]:
        """A transaction; other servers on the same database wait."""
        with self._lock, self._connection().transaction():
            self.run(f"SET LOCAL synchronous_commit = {'on' if on_disk else 'off'}")
            self.run(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
            yield

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._opened.close()

    def _connection(self) -> Any:
        if self._opened.closed:
            self._opened = self._connected()
        return self._opened

    def _connected(self) -> Any:
        import psycopg

        try:
            return psycopg.connect(self._url, autocommit=True)
        except psycopg.Error as error:
            raise CallError(f"the PostgreSQL server cannot be used ({' '.join(str(error).split())})") from None


class Store:
    """Raters, their items and their answers."""

    def __init__(self, database: Database) -> None:
        self.database = database
        with database.transaction(on_disk=True):
            for statement in _TABLES:
                database.run(statement.replace("{serial}", database.serial))

    def transaction(self, *, on_disk: bool = False) -> Any:
        """A transaction; only one runs at a time. With `on_disk`, it is on disk after the block."""
        return self.database.transaction(on_disk=on_disk)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def add_rater(self, rater: str, token: str, source: str) -> None:
        """Someone new; `token` is the hash of the secret in the personal link."""
        now = time.time()
        self.database.run(
            "INSERT INTO raters (id, token, source, joined, seen) VALUES (?, ?, ?, ?, ?)",
            (rater, token, source, now, now),
        )

    def rater_by(self, field: str, value: str) -> Rater | None:
        """The rater with this id, token or source."""
        if field not in {"id", "token", "source"}:
            raise ValueError(field)
        found = self.database.run(
            f"SELECT id, source, joined, consented, seen, outcome FROM raters WHERE {field} = ?", (value,)
        )
        return Rater(*found[0]) if found else None

    def raters(self) -> list[Rater]:
        """Everyone, in the order of joining."""
        found = self.database.run("SELECT id, source, joined, consented, seen, outcome FROM raters ORDER BY joined, id")
        return [Rater(*row) for row in found]

    def mark(self, rater: str, *, consented: bool = False, outcome: str | None = None) -> None:
        """Record that a rater is active, has consented, or has finished."""
        now = time.time()
        with self.transaction():
            self.database.run("UPDATE raters SET seen = ? WHERE id = ?", (now, rater))
            if consented:
                self.database.run("UPDATE raters SET consented = ? WHERE id = ? AND consented IS NULL", (now, rater))
            if outcome is not None:
                self.database.run("UPDATE raters SET outcome = ? WHERE id = ?", (outcome, rater))

    def assign(self, rater: str, items: Sequence[str], start: int) -> None:
        """Give items to a rater, in this order."""
        now = time.time()
        for place, item in enumerate(items, start):
            self.database.run(
                "INSERT INTO assignments (rater, item, place, handed) VALUES (?, ?, ?, ?)", (rater, item, place, now)
            )

    def assigned(self, rater: str | None = None) -> list[Assigned]:
        """The items of one rater, or of all, in order."""
        where, values = ("", ()) if rater is None else (" WHERE rater = ?", (rater,))
        found = self.database.run(
            f"SELECT rater, item, place, handed FROM assignments{where} ORDER BY rater, place", values
        )
        return [Assigned(*row) for row in found]

    def add_answers(self, answers: Sequence[Answer]) -> None:
        """Append answers; they are on disk when this returns."""
        with self.transaction(on_disk=True):
            for one in answers:
                self.database.run(
                    "INSERT INTO answers (rater, item, question, value, seconds, given) VALUES (?, ?, ?, ?, ?, ?)",
                    (one.rater, one.item, one.question, one.value, one.seconds, one.given),
                )
            for rater in {one.rater for one in answers}:
                self.database.run("UPDATE raters SET seen = ? WHERE id = ?", (time.time(), rater))

    def answers(self, rater: str | None = None) -> list[Answer]:
        """The answers of one rater, or of all, oldest first; a question may have several."""
        where, values = ("", ()) if rater is None else (" WHERE rater = ?", (rater,))
        found = self.database.run(
            f"SELECT rater, item, question, value, seconds, given FROM answers{where} ORDER BY number", values
        )
        return [Answer(*row) for row in found]


def latest(answers: Sequence[Answer]) -> dict[tuple[str, str, str], Answer]:
    """Rater, item and question -> the last answer, which is the valid one."""
    return {(one.rater, one.item, one.question): one for one in answers}


def open_store(where: str | Path) -> Store:
    """A store in a file, or on a PostgreSQL server by its URL."""
    text = str(where)
    if text.startswith(("postgresql://", "postgres://")):
        return Store(PostgresDatabase(text))
    return Store(SqliteDatabase(Path(text)))

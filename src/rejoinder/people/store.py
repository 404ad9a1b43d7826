"""Raters, their items and their answers: appended and never changed, on disk before they are acknowledged.

`open_store("study.db")` is a file; `open_store("postgresql://...")` a server.

Both databases write a log in the order of the commits. Answers wait until the log is on disk, and with it everything
that was committed before; answers that arrive while others are being written wait together and are written at once.
Raters who join and items that are handed out do not wait: a crash of the machine may lose them only where no answer
followed, and a crash of the server loses nothing.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rejoinder.errors import CallError
from rejoinder.people.databases import Database, PostgresDatabase, SqliteDatabase

UNDERSTOOD, MISUNDERSTOOD, PASTED = "understood", "misunderstood", "pasted"
"""Kinds of observations: the questions about the instructions were answered, rightly or not; a text was pasted."""

_TABLES = (
    """CREATE TABLE IF NOT EXISTS raters (
        id TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE, source TEXT NOT NULL, joined DOUBLE PRECISION NOT NULL,
        consented DOUBLE PRECISION, seen DOUBLE PRECISION NOT NULL, outcome TEXT NOT NULL DEFAULT '')""",
    "CREATE UNIQUE INDEX IF NOT EXISTS raters_source ON raters (source) WHERE source <> ''",
    """CREATE TABLE IF NOT EXISTS assignments (
        rater TEXT NOT NULL, item TEXT NOT NULL, place INTEGER NOT NULL, handed DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (rater, item))""",
    """CREATE TABLE IF NOT EXISTS answers (
        number {serial}, rater TEXT NOT NULL, item TEXT NOT NULL, question TEXT NOT NULL, value TEXT NOT NULL,
        seconds DOUBLE PRECISION NOT NULL, given DOUBLE PRECISION NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS answers_rater ON answers (rater, item)",
    """CREATE TABLE IF NOT EXISTS observations (
        number {serial}, rater TEXT NOT NULL, item TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL,
        noted DOUBLE PRECISION NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS observations_rater ON observations (rater)",
    """CREATE TABLE IF NOT EXISTS drawn (
        item TEXT PRIMARY KEY, wave INTEGER NOT NULL, probability DOUBLE PRECISION NOT NULL,
        moment DOUBLE PRECISION NOT NULL)""",
)


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
class RaterAnswer:
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
class Observation:
    """Something that was noticed about a rater besides the answers, such as a text that was pasted."""

    rater: str
    item: str
    kind: str
    value: str


@dataclass(frozen=True)
class AssignedItem:
    """An item that a rater was given."""

    rater: str
    item: str
    place: int
    handed: float


@dataclass(frozen=True)
class DrawnItem:
    """An item that was chosen to be rated, with the probability that it had of being chosen."""

    item: str
    wave: int
    probability: float


@dataclass
class _Waiting:
    """Answers that wait to be written; whoever writes next writes them too."""

    answers: Sequence[RaterAnswer]
    written: bool = False
    error: BaseException | None = None


@dataclass
class _Queue:
    waiting: list[_Waiting] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held for a moment only, to add to the list or to empty it."""
    writing: threading.Lock = field(default_factory=threading.Lock)


class Store:
    """Raters, their items and their answers."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._queue = _Queue()
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
        """Give items to a rater, in this order; within a transaction."""
        now = time.time()
        self.database.run_many(
            "INSERT INTO assignments (rater, item, place, handed) VALUES (?, ?, ?, ?)",
            [(rater, item, place, now) for place, item in enumerate(items, start)],
        )

    def assigned(self, rater: str | None = None) -> list[AssignedItem]:
        """The items of one rater, or of all, in order."""
        where, values = _of(rater)
        found = self.database.run(
            f"SELECT rater, item, place, handed FROM assignments{where} ORDER BY rater, place", values
        )
        return [AssignedItem(*row) for row in found]

    def raters_by_item(self, idle_since: float) -> Mapping[str, int]:
        """How many raters have answered each item, or may still do so because they were active since a moment."""
        found = self.database.run(
            """SELECT a.item, COUNT(*) FROM assignments a JOIN raters r ON r.id = a.rater
            WHERE (r.seen >= ? AND r.outcome <> 'declined')
            OR EXISTS (SELECT 1 FROM answers x WHERE x.rater = a.rater AND x.item = a.item) GROUP BY a.item""",
            (idle_since,),
        )
        return dict(found)

    def draw(self, items: Sequence[DrawnItem]) -> None:
        """Record that items were chosen to be rated; within a transaction."""
        now = time.time()
        self.database.run_many(
            "INSERT INTO drawn (item, wave, probability, moment) VALUES (?, ?, ?, ?)",
            [(one.item, one.wave, one.probability, now) for one in items],
        )

    def drawn(self) -> list[DrawnItem]:
        """The items that were chosen to be rated, where the study has a queue."""
        return [DrawnItem(*row) for row in self.database.run("SELECT item, wave, probability FROM drawn ORDER BY wave")]

    def observe(self, observations: Sequence[Observation]) -> None:
        """Append what was noticed."""
        now = time.time()
        with self.transaction():
            self.database.run_many(
                "INSERT INTO observations (rater, item, kind, value, noted) VALUES (?, ?, ?, ?, ?)",
                [(one.rater, one.item, one.kind, one.value, now) for one in observations],
            )

    def observations(self, rater: str | None = None) -> list[Observation]:
        """What was noticed about one rater, or about all, oldest first."""
        where, values = _of(rater)
        found = self.database.run(f"SELECT rater, item, kind, value FROM observations{where} ORDER BY number", values)
        return [Observation(*row) for row in found]

    def add_answers(self, answers: Sequence[RaterAnswer]) -> None:
        """Append answers; they are on disk when this returns."""
        own = _Waiting(answers)
        with self._queue.lock:
            self._queue.waiting.append(own)
        with self._queue.writing:
            if not own.written:  # else whoever was writing before has written these too
                with self._queue.lock:
                    together, self._queue.waiting = self._queue.waiting, []
                self._write_together(together)
        if own.error is not None:
            raise own.error

    def _write_together(self, waiting: Sequence[_Waiting]) -> None:
        """Write the answers of several raters in one transaction; each in one of its own where that fails."""
        try:
            self._write([answer for one in waiting for answer in one.answers])
        except Exception:
            for one in waiting:
                try:
                    self._write(one.answers)
                except Exception as error:
                    one.error = error
        finally:
            for one in waiting:
                one.written = True

    def _write(self, answers: Sequence[RaterAnswer]) -> None:
        now = time.time()
        with self.transaction(on_disk=True):
            self.database.run_many(
                "INSERT INTO answers (rater, item, question, value, seconds, given) VALUES (?, ?, ?, ?, ?, ?)",
                [(one.rater, one.item, one.question, one.value, one.seconds, one.given) for one in answers],
            )
            self.database.run_many(
                "UPDATE raters SET seen = ? WHERE id = ?", [(now, rater) for rater in {one.rater for one in answers}]
            )

    def answers(self, rater: str | None = None) -> list[RaterAnswer]:
        """The answers of one rater, or of all, oldest first; a question may have several."""
        where, values = _of(rater)
        found = self.database.run(
            f"SELECT rater, item, question, value, seconds, given FROM answers{where} ORDER BY number", values
        )
        return [RaterAnswer(*row) for row in found]

    def answered(self, rater: str) -> set[tuple[str, str]]:
        """Item and question of everything that a rater has answered."""
        return set(self.database.run("SELECT item, question FROM answers WHERE rater = ?", (rater,)))


def _of(rater: str | None) -> tuple[str, tuple[str, ...]]:
    """The condition of a statement about one rater, or about all."""
    return ("", ()) if rater is None else (" WHERE rater = ?", (rater,))


def latest(answers: Sequence[RaterAnswer]) -> dict[tuple[str, str, str], RaterAnswer]:
    """Rater, item and question -> the last answer, which is the valid one."""
    return {(one.rater, one.item, one.question): one for one in answers}


def open_store(where: str | Path) -> Store:
    """A store in a file, or on a PostgreSQL server by its URL."""
    text = str(where)
    if text.startswith(("postgresql://", "postgres://")):
        return Store(PostgresDatabase(text))
    if re.match(r"[\w+.-]{2,}:/", text):  # not as the name of a file, which messages show: it may hold a password
        raise CallError("a store is a SQLite file or the URL of a PostgreSQL server, postgresql://...")
    return Store(SqliteDatabase(Path(text)))

"""Every answer of a judge, kept in SQLite: a second run costs nothing, and an interrupted one resumes.

An answer is found by a hash of the address, the whole request and the number of the sample. Neither the request nor
the key of the endpoint is stored: answers arrive without it (`key`), and those that an earlier version stored are read
without it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rejoinder.errors import CallError
from rejoinder.evaluators.judge.answers import Usage

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, response TEXT NOT NULL, read INTEGER NOT NULL, written INTEGER NOT NULL,
    made TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE IF NOT EXISTS endpoints (url TEXT, model TEXT, abilities TEXT NOT NULL, PRIMARY KEY (url, model));
"""


def default_path() -> Path:
    """The default location of answers: the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return Path(base or Path.home() / ".cache") / "rejoinder" / "judge.sqlite"


class AnswerCache:
    """Answers by request; may be used from several threads, and by several processes at once."""

    def __init__(self, path: Path, parse: Callable[[str], Any] = json.loads) -> None:
        self.path, self._parse = path, parse
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, check_same_thread=False, timeout=60, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise CallError(f"{path} cannot hold a judge's answers ({error})") from error

    def find(self, key: str) -> dict[str, Any] | None:
        """The stored response to a request."""
        row = self._run("SELECT response FROM answers WHERE key = ?", key)
        if row is None:
            return None
        try:
            found = self._parse(row[0])
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def keep(self, key: str, model: str, response: Mapping[str, Any], usage: Usage) -> None:
        """Store a response; it is on disk when this returns."""
        self._run(
            "INSERT OR REPLACE INTO answers (key, model, response, read, written) VALUES (?, ?, ?, ?, ?)",
            key,
            model,
            json.dumps(response),
            usage.read,
            usage.written,
        )

    def abilities(self, url: str, model: str) -> dict[str, Any] | None:
        """The stored capabilities of an endpoint."""
        row = self._run("SELECT abilities FROM endpoints WHERE url = ? AND model = ?", url, model)
        return None if row is None else json.loads(row[0])

    def learn(self, url: str, model: str, abilities: Mapping[str, Any]) -> None:
        """Store the capabilities of an endpoint."""
        self._run("INSERT OR REPLACE INTO endpoints VALUES (?, ?, ?)", url, model, json.dumps(abilities))

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._database.close()

    def _run(self, statement: str, *values: object) -> Any:
        with self._lock:
            try:
                return self._database.execute(statement, values).fetchone()
            except sqlite3.Error as error:
                raise CallError(f"{self.path} cannot hold a judge's answers ({error})") from error


def request_key(url: str, body: Mapping[str, Any], sample: int) -> str:
    """The hash that an answer is stored under."""
    text = json.dumps([url, body, sample], sort_keys=True, ensure_ascii=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()

"""A server of a study in a process of its own, and raters that use it over HTTP as a browser does.

Used by `annotation_load.py`, `annotation_kills.py`, `simulated_crowd.py` and by the tests.
"""

from __future__ import annotations

import html
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlencode

PATIENCE = 60.0
"""Seconds in which a server must start."""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@dataclass
class StudyServer:
    """`rejoinder annotate serve` in a process of its own, which can be killed and started again."""

    study: Path
    port: int = field(default_factory=free_port)
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server; returns when it answers."""
        command = [sys.executable, "-m", "rejoinder", "annotate", "serve", str(self.study), "--quiet"]
        self.process = subprocess.Popen([*command, "--port", str(self.port), *self.options], env=dict(os.environ))
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with exit code {self.process.returncode}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("the server did not start")

    def cpu_seconds(self) -> float:
        """The processor time that the server has used so far (Linux)."""
        if self.process is None:
            raise RuntimeError("the server is not running")
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the server: in order, or by SIGKILL at once."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(PATIENCE)
            self.process = None


@contextmanager
def served(study: Path, *options: str) -> Iterator[StudyServer]:
    """A running server, ended after the block."""
    server = StudyServer(study, options=options)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@dataclass(frozen=True)
class Page:
    """What a rater sees."""

    status: int
    text: str

    @property
    def hidden(self) -> dict[str, str]:
        """The hidden fields of the form."""
        found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', self.text)
        return {name: html.unescape(value) for name, value in found}

    @property
    def item(self) -> str:
        """The item that is shown; "" on other pages."""
        return self.hidden.get("item", "")

    @property
    def reply(self) -> str:
        """The reply to judge; "" where there is none, or two."""
        found = re.findall(r'<p class="reply">(.*?)</p>', self.text, re.DOTALL)
        return html.unescape(found[0]) if len(found) == 1 else ""

    @property
    def questions(self) -> list[str]:
        """The names of the questions, in order."""
        return list(dict.fromkeys(re.findall(r'(?:type="radio"|<textarea [^>]*) name="([^"]+)"', self.text)))


@dataclass
class Visitor:
    """A rater's browser: one connection, and the cookie of the session."""

    port: int
    cookie: str = ""
    times: list[tuple[str, float]] = field(default_factory=list)
    """Method and seconds of each request."""
    _connection: HTTPConnection | None = None

    def get(self, path: str) -> Page:
        """A page; redirections are followed."""
        return self._asked("GET", path, None)

    def post(self, path: str, values: dict[str, str]) -> Page:
        """The page after a form was sent."""
        return self._asked("POST", path, urlencode(values))

    def send(self, path: str, values: dict[str, str]) -> int:
        """The status of the answer to a form; no redirection is followed."""
        return self._once("POST", path, urlencode(values))[0]

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _asked(self, method: str, path: str, body: str | None) -> Page:
        for _ in range(5):
            status, target, text = self._once(method, path, body)
            if status not in {302, 303, 307}:
                return Page(status, text)
            method, path, body = "GET", target, None
        raise RuntimeError(f"too many redirections to {path}")

    def _once(self, method: str, path: str, body: str | None) -> tuple[int, str, str]:
        if self._connection is None:
            self._connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Cookie": self.cookie} if self.cookie else {}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        begun = time.perf_counter()
        try:
            self._connection.request(method, path, body, headers)
            answered = self._connection.getresponse()
            text = answered.read().decode()
        except (OSError, HTTPException):
            self.close()
            raise
        self.times.append((method, time.perf_counter() - begun))
        if given := answered.getheader("Set-Cookie"):
            self.cookie = given.split(";")[0]
        return answered.status, answered.getheader("Location") or "", text


Answers = Callable[[Page], dict[str, str]]
"""From a page to the answer to each of its questions."""


def begin(visitor: Visitor, path: str) -> Page:
    """The first item after a link was opened, with consent where it is asked for."""
    page = visitor.get(path)
    if "agree" in page.text and not page.item:
        page = visitor.post("/consent", {"form": page.hidden["form"], "agree": "yes"})
    return page


def answer(visitor: Visitor, page: Page, answers: Answers) -> Page:
    """The page after the questions of this one were answered."""
    return visitor.post("/answer", {**page.hidden, **answers(page)})

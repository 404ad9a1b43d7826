"""The verb: a server that scores replies over HTTP until a signal says to stop."""

from __future__ import annotations

import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

from rejoinder.errors import CallError
from rejoinder.folders.sources import require_extra
from rejoinder.options import METRICS_OPTION, Option, Quiet, text, verb, whole
from rejoinder.scoring.score import MetricChoice, Metrics, choose_metrics

TOKEN = "REJOINDER_TOKEN"
"""The environment variable with the bearer token that requests need."""
_LIMITS = "limits"
_COUNT = whole(1, 1_000_000_000)


@verb
def serve(
    *,
    metrics: Annotated[Metrics | MetricChoice | None, METRICS_OPTION] = None,
    host: Annotated[
        str, Option("the address to listen on (default: this machine only)", text, metavar="HOST")
    ] = "127.0.0.1",
    port: Annotated[int, Option("the port to listen on", whole(0, 65535), metavar="PORT")] = 8000,
    max_body: Annotated[
        int, Option("largest size of a request, in bytes", _COUNT, metavar="N", group=_LIMITS)
    ] = 8_388_608,
    max_examples: Annotated[int, Option("most replies in one request", _COUNT, metavar="N", group=_LIMITS)] = 1000,
    max_waiting: Annotated[
        int, Option("most replies that may wait for their scores", _COUNT, metavar="N", group=_LIMITS)
    ] = 10_000,
    max_batch: Annotated[
        int, Option("most replies that are scored together", _COUNT, metavar="N", group=_LIMITS)
    ] = 256,
    max_seconds: Annotated[
        int,
        Option(
            "seconds that a request may take to arrive, and then its scores may take",
            _COUNT,
            metavar="N",
            group=_LIMITS,
        ),
    ] = 60,
    say: Annotated[Callable[[str], object], Option("called with the address", shown=False)] = print,
    quiet: Quiet = True,
) -> None:
    """Score replies over HTTP by these metrics (`default` without any) until a signal says to stop.

    What was accepted is finished. Requests need the token of the environment variable REJOINDER_TOKEN, where it is
    set. Unless `quiet`, there is one line of JSON per answer on standard error.
    """
    require_extra("serve", "the HTTP service")
    import uvicorn

    from rejoinder.service.app import scoring_app
    from rejoinder.service.limits import Limits

    limits = Limits(max_body, max_examples, max_waiting, max_batch, max_seconds)
    chosen = choose_metrics(["default"] if metrics is None else metrics).metrics
    app = scoring_app(chosen, limits, os.environ.get(TOKEN) or None, None if quiet else _log)
    with _listening(host, port) as listening, _stopping_is_no_error():
        shown = f"[{host}]" if ":" in host else host
        say(f"serving {', '.join(chosen)} at http://{shown}:{listening.getsockname()[1]}")
        # At a signal, requests that were accepted are answered first: each ends within these seconds.
        last = 2 * math.ceil(limits.seconds) + 1
        settings = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=last
        )
        uvicorn.Server(settings).run([listening])


@contextmanager
def _stopping_is_no_error() -> Iterator[None]:
    """While this holds, signals do nothing by themselves: uvicorn ends at SIGTERM and SIGINT, and then sends the signal
    again, which would make an error of a regular end."""
    before = {kind: signal.signal(kind, lambda *_: None) for kind in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _log(line: str) -> None:
    """One line of the access log, on standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _listening(host: str, port: int) -> socket.socket:
    """The socket to serve on; a CallError where the address cannot be used."""
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024
        )
    except (OSError, UnicodeError) as error:
        raise CallError(f"{host}:{port} cannot be used ({getattr(error, 'strerror', None) or error})") from None

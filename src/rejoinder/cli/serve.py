"""`rejoinder serve -m default`."""

from __future__ import annotations

import argparse
import math
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rejoinder.cli.options import add_metrics, chosen_metrics, option, positive, say
from rejoinder.threads import multiply_on_one_thread

TOKEN = "REJOINDER_TOKEN"


LIMITS = {
    "body": "largest size of a request, in bytes",
    "examples": "most replies in one request",
    "waiting": "most replies that may wait for their scores",
    "batch": "most replies that are scored together",
    "seconds": "seconds that a request may take to arrive, and then its scores",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    from rejoinder.options import whole
    from rejoinder.service.limits import Limits

    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: this machine only)")
    parser.add_argument(
        "--port", type=option("port", whole(0, 65535)), default=8000, help="the port to listen on (default: 8000)"
    )
    parser.add_argument("--quiet", action="store_true", help="no notes and no access log")
    group = parser.add_argument_group("limits")
    for name, meaning in LIMITS.items():
        default, said = int(getattr(Limits(), name)), f"{meaning} (default: %(default)s)"
        group.add_argument(f"--max-{name}", type=positive, default=default, metavar="N", help=said)
    add_metrics(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal says to stop; what was accepted is finished."""
    multiply_on_one_thread()  # a thread that waits for its share of a small product keeps a core busy
    from rejoinder.folders.sources import require_extra
    from rejoinder.scoring.score import choose

    require_extra("serve", "the HTTP service")
    import uvicorn

    from rejoinder.service.app import make_app
    from rejoinder.service.limits import Limits

    limits = Limits(**{name: getattr(arguments, f"max_{name}") for name in LIMITS})
    metrics = choose(chosen_metrics(arguments) or ["default"]).metrics
    app = make_app(metrics, limits, os.environ.get(TOKEN) or None, None if arguments.quiet else _log)
    with _listening(arguments.host, arguments.port) as listening, _stopping_is_no_error():
        port = listening.getsockname()[1]
        host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
        say(f"serving {', '.join(metrics)} at http://{host}:{port}", arguments)
        # At a signal, requests that were accepted are answered first: each ends within these seconds.
        last = 2 * math.ceil(limits.seconds) + 1
        settings = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=last
        )
        uvicorn.Server(settings).run([listening])
    return 0


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
    from rejoinder.errors import CallError

    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024
        )
    except (OSError, UnicodeError) as error:
        raise CallError(f"{host}:{port} cannot be used ({getattr(error, 'strerror', None) or error})") from None

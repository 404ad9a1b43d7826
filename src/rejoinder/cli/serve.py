"""`rejoinder serve -m default`."""

from __future__ import annotations

import argparse
import os
import socket

from rejoinder.cli.options import add_metrics, chosen_metrics, option, say

TOKEN = "REJOINDER_TOKEN"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    from rejoinder.arguments import whole

    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: this machine only)")
    parser.add_argument("--port", type=option("port", whole(0, 65535)), default=8000, help="(default: 8000)")
    parser.add_argument("--quiet", action="store_true", help="no notes")
    add_metrics(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted; what was accepted is finished."""
    from rejoinder.learning.extras import require_extra
    from rejoinder.scoring.choosing import choose

    require_extra("serve", "the HTTP service")
    import uvicorn

    from rejoinder.service.app import make_app

    metrics = choose(chosen_metrics(arguments) or ["default"]).metrics
    app = make_app(metrics, token=os.environ.get(TOKEN) or None)
    with _listening(arguments.host, arguments.port) as listening:
        port = listening.getsockname()[1]
        say(f"serving {', '.join(metrics)} at http://{arguments.host}:{port}", arguments)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run([listening])
    return 0


def _listening(host: str, port: int) -> socket.socket:
    """The socket to serve on; a CallError where the address cannot be used."""
    from rejoinder.errors import CallError

    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise CallError(f"{host}:{port} cannot be used ({error.strerror or error})") from None

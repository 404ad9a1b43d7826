"""`rejoinder serve -m default`."""

from __future__ import annotations

import argparse
import os

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
    say(f"serving {', '.join(metrics)} at http://{arguments.host}:{arguments.port}", arguments)
    uvicorn.run(app, host=arguments.host, port=arguments.port, log_level="warning", access_log=False)
    return 0

"""`rejoinder annotate new|links|serve|export`: collect human scores of replies in a browser."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import positive, put, say

if TYPE_CHECKING:
    from rejoinder.annotation.store import Store
    from rejoinder.annotation.study import Study


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    steps = parser.add_subparsers(dest="step", metavar="STEP", required=True)
    new = steps.add_parser("new", help="write a template of a study, to be edited by hand")
    new.add_argument("replies", help="the replies to judge, as `rejoinder score` reads them")
    new.add_argument("-o", "--output", default="study.toml", metavar="FILE", help="the study (default: study.toml)")
    links = steps.add_parser("links", help="make personal links for raters")
    links.add_argument("--count", type=positive, default=1, help="how many (default: 1)")
    links.add_argument("--address", default="http://localhost:8000", help="where the server can be reached")
    serve = steps.add_parser("serve", help="run the web server of a study")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=positive, default=8000, help="the port to listen on (default: 8000)")
    serve.add_argument("--open", action="store_true", help="let anyone join at /join, without a personal link")
    serve.add_argument("--https", action="store_true", help="the server is behind TLS: send cookies over HTTPS only")
    export = steps.add_parser("export", help="write the ratings as a file of judged replies")
    export.add_argument("-o", "--output", required=True, metavar="FILE.jsonl", help="the file of judged replies")
    export.add_argument(
        "--without", action="append", default=[], metavar="RATER", help="leave out a rater; may be repeated"
    )
    for step in (links, serve, export):
        step.add_argument("study", help="the study's TOML file")
        step.add_argument(
            "--store",
            metavar="FILE_OR_URL",
            help="where answers are kept: a SQLite file or postgresql://... "
            "(default: next to the study, with the suffix .db)",
        )
    for step in (new, links, serve, export):
        step.add_argument("--quiet", action="store_true", help="show no remarks")


def run(arguments: argparse.Namespace) -> int:
    """Run one step."""
    steps = {"new": _new, "links": _links, "serve": _serve, "export": _export}
    steps[arguments.step](arguments)
    return 0


def _new(arguments: argparse.Namespace) -> None:
    import os

    from rejoinder.annotation.template import study_text
    from rejoinder.data.source import read
    from rejoinder.errors import CallError
    from rejoinder.output.targets import Output, output_path, reserved
    from rejoinder.output.writing import write_text

    target = output_path(arguments.output)
    with reserved(Output(target, (".toml",)), reads=[arguments.replies]):
        if os.path.lexists(target):
            raise CallError(f"{target} exists: expected a new name, so that no study is lost")
        count = sum(1 for _ in read(arguments.replies))
        write_text(target, study_text(Path(os.path.relpath(arguments.replies, target.parent)), count))
    say(f"study: {target}: change its questions, then run: rejoinder annotate serve {target}", arguments)


def _links(arguments: argparse.Namespace) -> None:
    from contextlib import closing

    from rejoinder.annotation.security import new_token, token_hash
    from rejoinder.text.terminal import one_line

    _, store = _opened(arguments)
    with closing(store):
        for _ in range(arguments.count):
            token = new_token()
            with store.transaction(on_disk=True):
                store.add_rater(new_token()[:16], token_hash(token), "")
            put(one_line(f"{arguments.address.rstrip('/')}/r/{token}"))


def _serve(arguments: argparse.Namespace) -> None:
    from contextlib import closing

    from rejoinder.annotation.server import Secrets, make_app
    from rejoinder.learning.extras import require_extra

    require_extra("annotate", "collecting ratings")
    import uvicorn

    study, store = _opened(arguments)
    with closing(store):
        known = Secrets.beside(Path(arguments.study))
        app = make_app(study, store, known, open_to_all=arguments.open, https=arguments.https)
        say(f"organisers: http://{arguments.host}:{arguments.port}/admin/{known.admin}", arguments)
        say("raters join by links that `rejoinder annotate links` makes, or by a platform's link to /join", arguments)
        # Access logs would hold the secrets of personal links.
        uvicorn.run(app, host=arguments.host, port=arguments.port, log_level="warning", access_log=False)


def _export(arguments: argparse.Namespace) -> None:
    from contextlib import closing

    from rejoinder.annotation.assignment import Assigner
    from rejoinder.annotation.export import exported
    from rejoinder.output.targets import Output, output_path, reserved
    from rejoinder.output.writing import write_text

    target = output_path(arguments.output)
    study, store = _opened(arguments)
    reads = [arguments.study, study.home / study.examples, *([arguments.store] if arguments.store else [])]
    with closing(store), reserved(Output(target, (".jsonl",)), reads=reads):
        lines = list(exported(study, store, Assigner(study, store).items, without=arguments.without))
        write_text(target, "".join(lines))
    say(f"{len(lines)} records: {target}", arguments)


def _opened(arguments: argparse.Namespace) -> tuple[Study, Store]:
    from rejoinder.annotation.store import open_store
    from rejoinder.annotation.study import read_study

    path = Path(arguments.study)
    study = read_study(path)
    where: Any = arguments.store or path.with_suffix(".db")
    return study, open_store(where)

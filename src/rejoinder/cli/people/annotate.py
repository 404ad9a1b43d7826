"""`rejoinder annotate new|links|serve|export|import|datasheet`: collect human scores of replies in a browser."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import positive, put, say

if TYPE_CHECKING:
    from rejoinder.people.store import Store
    from rejoinder.people.study import Study

TOOLS = ("label-studio", "potato", "batch")
"""Other tools that a study can be given to."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    steps = parser.add_subparsers(dest="step", metavar="STEP", required=True)
    new = steps.add_parser("new", help="write a template of a study, to be edited by hand")
    new.add_argument("replies", help="the replies to judge, as `rejoinder score` reads them")
    new.add_argument("-o", "--output", default="study.toml", metavar="FILE", help="the study (default: study.toml)")
    planned = new.add_argument_group("as many contexts and raters as `rejoinder plan` asks for")
    planned.add_argument(
        "--difference", type=float, metavar="D", help="the smallest difference between two systems that would matter"
    )
    planned.add_argument("--pilot", metavar="FILE", help="judged replies, from which the spread of ratings is taken")
    planned.add_argument("--sd", type=float, help="without a pilot: standard deviation of the true differences")
    planned.add_argument("--icc", type=float, help="without a pilot: intraclass correlation of single ratings")
    links = steps.add_parser("links", help="make personal links for raters")
    links.add_argument("--count", type=positive, default=1, help="how many links to make (default: 1)")
    links.add_argument("--address", default="http://localhost:8000", help="where the server can be reached")
    serve = steps.add_parser("serve", help="run the web server of a study")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=positive, default=8000, help="the port to listen on (default: 8000)")
    serve.add_argument("--open", action="store_true", help="let anyone join at /join, without a personal link")
    serve.add_argument("--https", action="store_true", help="the server is behind TLS: send cookies over HTTPS only")
    export = steps.add_parser(
        "export", help="write the ratings as a file of judged replies, or the study for another tool"
    )
    export.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    export.add_argument(
        "--to",
        choices=("judged", *TOOLS),
        default="judged",
        help="judged replies (.jsonl); tasks and answers for Label Studio (.json, with a .xml configuration); items "
        "for Potato (.jsonl, with a .yaml configuration); a batch for Mechanical Turk or a form (.csv) "
        "(default: judged)",
    )
    export.add_argument(
        "--without", action="append", default=[], metavar="RATER", help="leave out a rater; may be repeated"
    )
    importing = steps.add_parser("import", help="add answers that were given in another tool")
    importing.add_argument("--from", dest="tool", choices=TOOLS, required=True, help="the tool that wrote the results")
    datasheet = steps.add_parser("datasheet", help="write a datasheet of the study, with the numbers of HEDS 3.0")
    datasheet.add_argument("-o", "--output", required=True, metavar="FILE.md", help="the datasheet")
    for step in (links, serve, export, importing, datasheet):
        step.add_argument("study", help="the study's TOML file")
        step.add_argument(
            "--store",
            metavar="FILE_OR_URL",
            help="where answers are kept: a SQLite file or postgresql://... "
            "(default: next to the study, with the suffix .db)",
        )
    importing.add_argument(
        "results", help="the export of Label Studio, the output folder of Potato, or a results table"
    )
    for step in (new, links, serve, export, importing, datasheet):
        step.add_argument("--quiet", action="store_true", help="show no remarks")


def run(arguments: argparse.Namespace) -> int:
    """Run one step."""
    steps = {
        "new": _new,
        "links": _links,
        "serve": _serve,
        "export": _export,
        "import": _import,
        "datasheet": _datasheet,
    }
    steps[arguments.step](arguments)
    return 0


def _new(arguments: argparse.Namespace) -> None:
    import os

    from rejoinder.data.source import read
    from rejoinder.errors import CallError
    from rejoinder.folders.outputs import Output, output_path, reserved, write_text
    from rejoinder.people.items import context_groups
    from rejoinder.people.study import study_text

    target = output_path(arguments.output)
    reads = [arguments.replies, *([arguments.pilot] if arguments.pilot else [])]
    with reserved(Output(target, (".toml",)), reads=reads):
        if os.path.lexists(target):
            raise CallError(f"{target} exists: expected a new name, so that no study is lost")
        examples = list(read(arguments.replies))
        systems, contexts = len({example.system for example in examples}), len(context_groups(examples))
        wanted, raters = _planned(arguments, systems, contexts)
        path = Path(os.path.relpath(arguments.replies, target.parent))
        write_text(target, study_text(path, len(examples), contexts=wanted, raters_per_item=raters))
    say(f"study: {target}: change its questions, then run: rejoinder annotate serve {target}", arguments)


def _planned(arguments: argparse.Namespace, systems: int, contexts: int) -> tuple[int, int]:
    """How many contexts (0: all) and raters per item a study needs; three raters where nothing is said."""
    from rejoinder.errors import CallError
    from rejoinder.people.plan import plan

    if arguments.difference is None:
        if arguments.pilot or arguments.sd is not None or arguments.icc is not None:
            raise CallError("--pilot, --sd and --icc need --difference, the difference that would matter")
        return 0, 3
    found = plan(
        *([arguments.pilot] if arguments.pilot else []),
        difference=arguments.difference,
        sd=arguments.sd,
        icc=arguments.icc,
        systems=max(2, systems),
        contexts=max(2, contexts),
    )
    say(found.recommendation(), arguments)
    raters = found.recommended
    return (0, found.raters[-1]) if raters is None else (int(found.needed(raters)), raters)


def _links(arguments: argparse.Namespace) -> None:
    from contextlib import closing

    from rejoinder.people.server import new_token, token_hash
    from rejoinder.show.text import one_line

    _, store = _opened(arguments)
    with closing(store):
        for _ in range(arguments.count):
            token = new_token()
            with store.transaction(on_disk=True):
                store.add_rater(new_token()[:16], token_hash(token), "")
            put(one_line(f"{arguments.address.rstrip('/')}/r/{token}"))


def _serve(arguments: argparse.Namespace) -> None:
    from contextlib import closing

    from rejoinder.folders.sources import require_extra
    from rejoinder.people.server import Secrets, make_app

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

    from rejoinder.folders.outputs import Output, output_path, reserved, write_text
    from rejoinder.people.export import (
        batch,
        exported,
        label_studio_configuration,
        label_studio_tasks,
        potato_configuration,
        potato_records,
    )
    from rejoinder.people.queue import Assigner
    from rejoinder.people.store import latest

    target = output_path(arguments.output)
    study, store = _opened(arguments)
    suffix, beside = {
        "judged": (".jsonl", ()),
        "label-studio": (".json", (target.with_suffix(".xml"),)),
        "potato": (".jsonl", (target.with_suffix(".yaml"),)),
        "batch": (".csv", ()),
    }[arguments.to]
    reads = [arguments.study, study.home / study.examples, *([arguments.store] if arguments.store else [])]
    with closing(store), reserved(Output(target, (suffix,), beside), reads=reads):
        items = Assigner(study, store).items
        if arguments.to == "judged":
            lines = list(exported(study, store, items, without=arguments.without))
            write_text(target, "".join(lines))
            say(f"{len(lines)} records: {target}", arguments)
            return
        answers = [one for one in latest(store.answers()).values() if one.rater not in set(arguments.without)]
        if arguments.to == "label-studio":
            write_text(target, _json(label_studio_tasks(study, items, answers), indent=1) + "\n")
            write_text(beside[0], label_studio_configuration(study))
        elif arguments.to == "potato":
            write_text(target, "".join(_json(record) + "\n" for record in potato_records(study, items)))
            write_text(beside[0], potato_configuration(study, target.name))
        else:
            write_text(target, batch(study, items))
    say(f"for {arguments.to}: {', '.join(str(path) for path in (target, *beside))}", arguments)


def _import(arguments: argparse.Namespace) -> None:
    from contextlib import closing

    from rejoinder.errors import CallError
    from rejoinder.people.export import (
        add_results,
        batch_results,
        label_studio_results,
        potato_results,
    )
    from rejoinder.people.queue import Assigner

    path = Path(arguments.results)
    if not path.exists():
        raise CallError(f"{path} does not exist: expected results of {arguments.tool}")
    study, store = _opened(arguments)
    read = {"label-studio": label_studio_results, "potato": potato_results, "batch": batch_results}[arguments.tool]
    with closing(store):
        answers = list(read(study, path))
        count = add_results(study, store, Assigner(study, store).items, answers, arguments.tool, str(path))
    say(f"{count} new answers of {len(answers)}", arguments)


def _datasheet(arguments: argparse.Namespace) -> None:
    from contextlib import closing

    from rejoinder.folders.outputs import Output, output_path, reserved, write_text
    from rejoinder.people.datasheet import datasheet
    from rejoinder.people.progress import state_of
    from rejoinder.people.queue import Assigner

    target = output_path(arguments.output)
    study, store = _opened(arguments)
    with closing(store), reserved(Output(target, (".md",)), reads=[arguments.study, study.home / study.examples]):
        assigner = Assigner(study, store)
        write_text(target, datasheet(study, assigner.items, state_of(study, store, assigner)))
    say(f"datasheet: {target}: fill in what is marked with TO FILL IN", arguments)


def _json(value: Any, indent: int | None = None) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=indent)


def _opened(arguments: argparse.Namespace) -> tuple[Study, Store]:
    from rejoinder.people.store import open_store
    from rejoinder.people.study import read_study

    path = Path(arguments.study)
    study = read_study(path)
    where: Any = arguments.store or path.with_suffix(".db")
    return study, open_store(where)

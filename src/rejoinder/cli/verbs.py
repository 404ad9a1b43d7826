"""The verbs: which public function each one calls, and what only the command line has."""

from __future__ import annotations

import argparse
import string
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.cli.output import (
    check_failed,
    files_read,
    print_json,
    put,
    report_outputs,
    say,
    say_notes,
    say_skipped,
    terminal_width,
)
from rejoinder.cli.parameters import add_parameters, arguments_of, located
from rejoinder.errors import CallError
from rejoinder.options import described


@dataclass(frozen=True)
class Verb:
    """What a verb is for, the function that it calls, and what it does besides."""

    purpose: str
    place: str = ""
    """The public function, as `folder.file:function`."""
    forms: str = "json"
    """Forms of the result: json, latex, details, report, and texts where a report may show some."""
    told: str = ""
    """Said at the end, with values of options in braces, if they were given."""
    kept: Callable[[argparse.Namespace], str] | None = None
    """Says what is kept when the verb is interrupted; "" where nothing is."""
    page: str = ""
    """The place of the function that makes the HTML report of the result."""
    module: str = ""
    """The module of this folder that does all this, where a verb is more than the call of a function."""
    extra: Callable[[argparse.ArgumentParser], None] | None = None
    """Adds options that only a terminal has."""
    end: Callable[[Any, argparse.Namespace], int] | None = None
    """Checks of the result; gives the exit code."""
    start: Callable[[argparse.Namespace], None] | None = None
    """Checks of the options that only a terminal has; raises a CallError."""
    was_finished: Callable[[Any], bool] | None = None
    """Whether an earlier run had finished the same output, which is then all that is said."""
    prints: bool = True
    """Whether the result is printed; a model is not."""
    tells_readings: bool = True
    """Whether notes say how files were read."""


def add_options(parser: argparse.ArgumentParser, verb: Verb) -> None:
    """The options of a verb: the parameters of its function, and how its result is shown."""
    add_parameters(parser, described(verb.place))
    forms = verb.forms.split()
    if verb.prints:
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="print one JSON object instead of text")
        if "latex" in forms:
            form.add_argument("--latex", action="store_true", help="print a LaTeX table")
    if "details" in forms:
        parser.add_argument("--details", action="store_true", help="print all that was computed")
    if "report" in forms:
        parser.add_argument("--report", metavar="FILE.html", help="write a report as one HTML file")
    if "texts" in forms:
        parser.add_argument("--no-texts", action="store_true", help="leave all texts out of the report")
    if verb.extra is not None:
        verb.extra(parser)
    parser.add_argument("--quiet", action="store_true", help="show neither progress nor notes")
    parser.set_defaults(tell_readings=verb.tells_readings)


def run(verb: Verb, arguments: argparse.Namespace) -> int:
    """Call the function of a verb, and show its result; the exit code."""
    from rejoinder.folders.outputs import reserved
    from rejoinder.threads import multiply_on_one_thread

    multiply_on_one_thread()
    report: str | None = getattr(arguments, "report", None)
    if verb.start is not None:
        verb.start(arguments)
    with ExitStack() as stack:
        if report is not None:
            stack.enter_context(reserved(*report_outputs(report), reads=files_read(arguments)))
        try:
            result = called(verb.place, arguments)
        except KeyboardInterrupt:
            if verb.kept is not None and (kept := verb.kept(arguments)):
                say(kept, arguments)
            raise
        if report is not None:
            _write_report(verb, result, report)
    if verb.was_finished is not None and verb.was_finished(result):
        say(f"{arguments.output} is finished: there is nothing left to do", arguments)
        if not arguments.json:
            return 0
    if verb.prints:
        _show(result, arguments)
    if verb.told and all(getattr(arguments, name) for _, name, _, _ in string.Formatter().parse(verb.told) if name):
        say(verb.told.format_map(vars(arguments)), arguments)
    if report is not None:
        say(f"report: {report}", arguments)
    return 0 if verb.end is None else verb.end(result, arguments)


def called(place: str, arguments: argparse.Namespace) -> Any:
    """What the function at a place returns for the options."""
    parameters = described(place)
    positional, named = arguments_of(parameters, arguments)
    if any(each.name == "quiet" for each in parameters):
        named["quiet"] = arguments.quiet
    return located(place)(*positional, **named)


def _write_report(verb: Verb, result: Any, path: str) -> None:
    from rejoinder.folders.outputs import write_text

    write_text(Path(path), located(verb.page)(result))


def _show(result: Any, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json(result.to_dict())
    elif getattr(arguments, "latex", False):
        put(result.to_latex())
    else:
        put(result.text(terminal_width()) if hasattr(result, "text") else result)
    if hasattr(result, "notes"):
        say_notes(result, arguments)
    say_skipped(getattr(result, "skipped", ()), arguments)


# What single verbs check and say.


def _check_plan(arguments: argparse.Namespace) -> None:
    if arguments.report and (arguments.agreement is not None or arguments.correlation is not None):
        raise CallError("--report is for a comparison of systems, not for --agreement or --correlation")


def _check_agree(arguments: argparse.Namespace) -> None:
    if arguments.aggregation and not arguments.output:
        raise CallError("--aggregation needs -o, the file to write the scores to")


def _unfinished_replies(arguments: argparse.Namespace) -> str:
    from rejoinder.folders.outputs import UnfinishedRows

    unfinished = UnfinishedRows(Path(arguments.output)).rows
    return (
        f"replies so far are in {unfinished}: run the same command with --resume to continue"
        if unfinished.exists()
        else ""
    )


VERB_GROUPS: dict[str, dict[str, Verb]] = {
    "Judge replies": {
        "demo": Verb(
            "compare four invented systems, check the metrics against ratings, and write both reports", module="demo"
        ),
        "check": Verb(
            "show what was understood of a file of replies, what it contains and what is missing",
            "scoring.check:check",
            tells_readings=False,  # the result contains them
        ),
        "score": Verb("score replies with metrics and evaluators", module="score"),
        "compare": Verb("test whether one system's replies are better than another's", module="compare"),
        "history": Verb(
            "record the scores of each release, and show how they change from release to release",
            module="releases.history",
        ),
        "meta": Verb("measure which metrics agree with people, on judged replies", module="meta"),
        "metrics": Verb("list metrics, evaluators and reply models, or explain one of them", "scoring.cards:describe"),
        "report": Verb("turn a file of scores into report.html", module="report"),
        "convert": Verb(
            "write chat logs and exports of other tools in rejoinder's own format; sample them, drop duplicates",
            "data.convert:convert",
        ),
    },
    "Ask people": {
        "plan": Verb(
            "say how many contexts, raters and labels an evaluation needs, before they are collected",
            "people.plan:plan",
            forms="json latex report",
            page="people.plan:render_plan",
            start=_check_plan,
        ),
        "sample": Verb(
            "choose the replies that people should label, each with a known probability",
            "people.sample:sample",
            told="replies: {output} (keep `probability` with the labels, for `rejoinder compare --labels`)",
        ),
        "annotate": Verb("collect human scores of replies in a browser", module="people.annotate"),
        "agree": Verb(
            "measure how well raters agree, and turn their ratings into one score per reply",
            "people.agreement:agree",
            told="judged replies: {output} (rejoinder meta {output})",
            start=_check_agree,
        ),
        "prefer": Verb(
            "rank systems by pairwise preferences: which of two replies is better",
            "comparing.pairwise:prefer",
            forms="json latex",
        ),
    },
    "Train": {
        "train": Verb("train an evaluator, a sentence encoder or a reply model", module="train"),
        "calibrate": Verb(
            "put a trained evaluator's scores on the human scale, with an interval for each reply",
            "training.calibrate:calibrate",
            told="model: {output} (rejoinder score REPLIES -m {output} --intervals -o scores.jsonl)",
        ),
        "distill": Verb("train a small evaluator to predict the scores of larger ones", module="models.distill"),
        "generate": Verb(
            "reply to contexts with one trained reply model, or with a pool of them for judging",
            "replies.pool:generate",
            told="replies: {output}",
            kept=_unfinished_replies,
            was_finished=lambda replies: bool(replies.summary.was_finished),
        ),
        "experiment": Verb(
            "train an evaluator many times, to test it on new contexts, systems and corpora", module="experiment"
        ),
        "reproduce": Verb(
            "print the command that makes a table or figure of the papers again, in a checkout", module="reproduce"
        ),
    },
    "Run": {
        "serve": Verb("score replies over HTTP", module="serve"),
        "setup": Verb(
            "set up an evaluator that needs models which do not come with the package",
            "training.train:setup",
            prints=False,
            told="model: {output} (rejoinder score REPLIES -m {output})",
        ),
        "doctor": Verb(
            "show what is installed, which extras are missing, and whether the evaluators in the package work",
            "scoring.doctor:doctor",
            end=lambda found, _: check_failed(found.problems),
        ),
        "completion": Verb("print a script that lets the shell complete verbs and options", module="completion"),
    },
}
"""Heading -> verb, in the order of `rejoinder --help`."""

"""The command line: one thin module per verb.

Exit codes: 0 done, 1 the program failed, 2 the input or the call was wrong, 3 a check failed, 4 a check could not be
decided because its metric cannot judge the replies (and none failed), 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import io
import logging
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from rejoinder._version import __version__
from rejoinder.cli.lazy_parser import LazyParser, sentence
from rejoinder.errors import RejoinderError, without_secrets

VERB_GROUPS: dict[str, dict[str, str]] = {
    "Judge replies": {
        "demo": "compare two versions of an assistant, or (demo metrics) check which metrics can be trusted",
        "check": "show how a file of replies is read, what it contains and what is missing",
        "score": "score replies with metrics and evaluators",
        "compare": "test whether one system's replies are better than another's",
        "history": "record the scores of each release, and show how they change from release to release",
        "meta": "measure which metrics agree with people, on judged replies",
        "metrics": "list metrics, evaluators and reply models, or explain one of them",
        "report": "turn a file of scores into report.html",
        "convert": "write chat logs and exports of other tools in rejoinder's own format; sample them, drop duplicates",
    },
    "Ask people": {
        "plan": "say how many contexts, raters and labels an evaluation needs, before they are collected",
        "sample": "choose the replies that people should label, each with a known probability",
        "annotate": "collect human scores of replies in a browser",
        "agree": "measure how well raters agree, and turn their ratings into one score per reply",
        "prefer": "rank systems by pairwise preferences: which of two replies is better",
    },
    "Train": {
        "train": "train an evaluator, a sentence encoder or a reply model",
        "calibrate": "put a trained evaluator's scores on the human scale, with an interval for each reply",
        "distill": "train a small evaluator to predict the scores of larger ones",
        "generate": "reply to contexts with one trained reply model, or with a pool of them for judging",
        "experiment": "train an evaluator many times, to test it on new contexts, systems and corpora",
        "reproduce": "print the command that makes a table or figure of the papers again, in a checkout",
    },
    "Run": {
        "serve": "score replies over HTTP",
        "setup": "set up an evaluator that needs models which do not come with the package",
        "doctor": "show what is installed, which extras are missing, and whether the evaluators in the package work",
        "completion": "print a script that lets the shell complete verbs and options",
    },
}
"""Heading -> verb -> what it is for, in the order of `rejoinder --help`."""
# A verb's module is imported only when it is called, and heavy libraries only when it runs.
VERBS = {verb: purpose for verbs in VERB_GROUPS.values() for verb, purpose in verbs.items()}
START = """\
To begin:
  rejoinder demo                          a comparison of two versions of an assistant
  rejoinder check replies.csv             how a file of yours is read
  rejoinder compare old.jsonl new.jsonl   which version is better"""


class MainParser(LazyParser):
    """The parser of the whole command line, whose help lists the verbs in groups."""

    def format_help(self) -> str:
        """What rejoinder is for, how to begin, and all verbs."""
        width = min(shutil.get_terminal_size((80, 24)).columns, 100) - 2
        parts = [self.format_usage().rstrip(), textwrap.fill(str(self.description), width), START]
        for heading, verbs in VERB_GROUPS.items():
            lines = [
                textwrap.fill(purpose, max(width, 40), initial_indent=f"  {verb:<12}", subsequent_indent=" " * 14)
                for verb, purpose in verbs.items()
            ]
            parts.append("\n".join([f"{heading}:", *lines]))
        parts.append("`rejoinder VERB --help` explains one of them; `rejoinder --version` prints the version.")
        return "\n\n".join(parts) + "\n"


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = MainParser(
        prog="rejoinder",
        description="Measures how good a chatbot's replies are, and whether the new version is better.",
    )
    parser.add_argument("--version", action="version", version=f"rejoinder {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=LazyParser)
    for verb, purpose in VERBS.items():
        verbs.add_parser(verb, help=purpose, description=sentence(purpose), fill=partial(_fill, verb))
    return parser


GROUPS = {
    "people": tuple(VERB_GROUPS["Ask people"]),
    "models": ("generate", "calibrate", "distill", "setup"),
    "releases": ("history",),
}
"""Folder -> the verbs whose modules are in it; all others are in this one."""


def _fill(verb: str, parser: argparse.ArgumentParser) -> None:
    folder = next((f"{group}." for group, verbs in GROUPS.items() if verb in verbs), "")
    module = importlib.import_module(f"rejoinder.cli.{folder}{verb}")
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)


def main(arguments: Sequence[str] | None = None, *, interrupted: Callable[[], bool] = lambda: False) -> int:
    """Run one command, and return the exit code; `interrupted` says whether an error may be due to an interrupt."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code("rejoinder", partial(_run, given), interrupted)


def _run(given: Sequence[str]) -> int:
    parser = build_parser()
    if not given:
        parser.print_help()
        return 0
    namespace = parser.parse_args(given)
    with notes_of_readers(namespace):
        code: int = namespace.run(namespace)
    return code


def exit_code(program: str, command: Callable[[], int], interrupted: Callable[[], bool]) -> int:
    """The exit code of a command of a program; errors and warnings are one line each on standard error."""
    fail = partial(_fail, program)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a character still gets its table
    try:
        with _warnings_on_one_line(program):
            code = command()
            sys.stdout.flush()
            return code
    except RejoinderError as error:
        return fail(str(error), error.exit_code) if not interrupted() else fail("interrupted", 130)
    except KeyboardInterrupt:
        return fail("interrupted", 130)
    except BrokenPipeError:
        # The reader of our output is gone (`| head`); without this, Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # no space left, a folder that vanished: no bug, and the message says it all
        return fail(str(error), 1)
    except BaseException as error:  # polars' PanicException is no Exception
        if isinstance(error, SystemExit | GeneratorExit) or os.environ.get("REJOINDER_DEBUG"):
            raise
        if interrupted():
            return fail("interrupted", 130)
        hint = "set REJOINDER_DEBUG=1 to see where"
        return fail(f"this should not have happened: {type(error).__name__}: {without_secrets(str(error))} ({hint})", 1)


@contextmanager
def notes_of_readers(namespace: argparse.Namespace) -> Iterator[None]:
    """Print what the readers log, such as how they understood a file, on standard error, unless quiet."""
    from rejoinder.cli.options import put
    from rejoinder.progress import beside_bars

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with beside_bars():
                put(f"note: {record.getMessage()}", file=sys.stderr)

    logger, handler = logging.getLogger("rejoinder.data"), Notes()
    if getattr(namespace, "quiet", False) or not getattr(namespace, "tell_readings", True):
        handler.setLevel(logging.CRITICAL)
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


def _fail(program: str, message: str, code: int) -> int:
    from rejoinder.show.text import one_line

    print(f"{program}: {one_line(message)}", file=sys.stderr)
    return code


@contextmanager
def _warnings_on_one_line(program: str) -> Iterator[None]:
    """Show warnings as this command shows errors: what they quote may come from outside."""
    from rejoinder.show.text import one_line

    def shown(message: Warning | str, *_: object, **__: object) -> str:
        return f"{program}: warning: {one_line(str(message))}\n"

    before, warnings.formatwarning = warnings.formatwarning, shown
    try:
        yield
    finally:
        warnings.formatwarning = before

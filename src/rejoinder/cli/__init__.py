"""The command line: one thin module per verb.

Exit codes: 0 done, 1 the program failed, 2 the input or the call was wrong, 3 a check failed, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from rejoinder._version import __version__
from rejoinder.cli.lazy_parser import LazyParser, sentence
from rejoinder.errors import RejoinderError

# Verb -> what it is for. The verb's module is imported only when it is called, and heavy libraries only when it runs.
VERBS = {
    "demo": "compare four invented systems, check the metrics against ratings, and write both reports",
    "plan": "say how many contexts, raters and labels an evaluation needs, before they are collected",
    "score": "score replies with metrics and evaluators",
    "compare": "test whether one system's replies are better than another's",
    "history": "record the scores of each release, and show how they change from release to release",
    "prefer": "rank systems by pairwise preferences: which of two replies is better",
    "meta": "measure which metrics agree with people, on judged replies",
    "check": "show what was understood of a file of replies, what it contains and what is missing",
    "convert": "write chat logs and exports of other tools in rejoinder's own format; sample them, drop duplicates",
    "report": "turn a file of scores into report.html",
    "train": "train an evaluator, a sentence encoder or a reply model",
    "generate": "reply to contexts with one trained reply model, or with a pool of them for judging",
    "calibrate": "put a trained evaluator's scores on the human scale, with an interval for each reply",
    "distill": "train a small evaluator to predict the scores of larger ones",
    "sample": "choose the replies that people should label, each with a known probability",
    "setup": "set up an evaluator that needs models which do not come with the package",
    "annotate": "collect human scores of replies in a browser",
    "agree": "measure how well raters agree, and turn their ratings into one score per reply",
    "serve": "score replies over HTTP",
    "experiment": "train an evaluator many times, to test it on new contexts, systems and corpora",
    "reproduce": "make a table or figure of the papers again, with our results next to theirs",
    "metrics": "list metrics, evaluators and reply models, or explain one of them",
    "doctor": "show what is installed, which extras are missing, and whether the evaluators in the package work",
    "completion": "print a script that lets the shell complete verbs and options",
}


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = LazyParser(
        prog="rejoinder",
        description="Measures how good a chatbot's replies are, and whether the new version is better.",
    )
    parser.add_argument("--version", action="version", version=f"rejoinder {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=LazyParser)
    for verb, purpose in VERBS.items():
        verbs.add_parser(verb, help=purpose, description=sentence(purpose), fill=partial(_fill, verb))
    return parser


GROUPS = {
    "people": ("plan", "prefer", "sample", "annotate", "agree"),
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
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a character still gets its table
    try:
        with _warnings_on_one_line():
            namespace = build_parser().parse_args(given)
            with _notes_of_readers(namespace):
                code: int = namespace.run(namespace)
            sys.stdout.flush()
            return code
    except RejoinderError as error:
        return _fail(str(error), error.exit_code) if not interrupted() else _fail("interrupted", 130)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        # The reader of our output is gone (`| head`); without this, Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # no space left, a folder that vanished: no bug, and the message says it all
        return _fail(str(error), 1)
    except BaseException as error:  # polars' PanicException is no Exception
        if isinstance(error, SystemExit | GeneratorExit) or os.environ.get("REJOINDER_DEBUG"):
            raise
        if interrupted():
            return _fail("interrupted", 130)
        hint = "set REJOINDER_DEBUG=1 to see where"
        return _fail(f"this should not have happened: {type(error).__name__}: {error} ({hint})", 1)


@contextmanager
def _notes_of_readers(namespace: argparse.Namespace) -> Iterator[None]:
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


def _fail(message: str, code: int) -> int:
    from rejoinder.text.terminal import one_line

    print(f"rejoinder: {one_line(message)}", file=sys.stderr)
    return code


@contextmanager
def _warnings_on_one_line() -> Iterator[None]:
    """Show warnings as this command shows errors: what they quote may come from outside."""
    from rejoinder.text.terminal import one_line

    def shown(message: Warning | str, *_: object, **__: object) -> str:
        return f"rejoinder: warning: {one_line(str(message))}\n"

    before, warnings.formatwarning = warnings.formatwarning, shown
    try:
        yield
    finally:
        warnings.formatwarning = before

"""The command line: verbs are calls of the public functions, with options made from their parameters.

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
from rejoinder.cli.lazy_parser import LazyParser
from rejoinder.cli.running import Verb, add_options, run_verb
from rejoinder.cli.verbs import VERB_GROUPS
from rejoinder.errors import RejoinderError, without_secrets

VERBS = {name: verb.purpose for verbs in VERB_GROUPS.values() for name, verb in verbs.items()}
"""Verb -> what it is for."""
# A verb's options are made when it is called, and heavy libraries are imported only when it runs.
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
                textwrap.fill(verb.purpose, max(width, 40), initial_indent=f"  {name:<12}", subsequent_indent=" " * 14)
                for name, verb in verbs.items()
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
    for group in VERB_GROUPS.values():
        for name, verb in group.items():
            verbs.add_parser(name, help=verb.purpose, description=verb.purpose, fill=partial(_fill, verb))
    return parser


def _fill(verb: Verb, parser: argparse.ArgumentParser) -> None:
    if verb.module:
        module = importlib.import_module(f"rejoinder.cli.{verb.module}")
        module.add_arguments(parser)
        parser.set_defaults(run=module.run)
    else:
        add_options(parser, verb)
        parser.set_defaults(run=partial(run_verb, verb))


def main(arguments: Sequence[str] | None = None, *, interrupted: Callable[[], bool] = lambda: False) -> int:
    """Run one command, and return the exit code; `interrupted` says whether an error may be due to an interrupt."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code("rejoinder", partial(_run, given), interrupted)


FORMER_VERBS = {"distill": "distil", "meta": "trust"}
"""Former name of a verb -> the present one. The former ones go with version 0.3."""


def _run(given: Sequence[str]) -> int:
    parser = build_parser()
    if given and (present := FORMER_VERBS.get(given[0])):
        text = f"rejoinder {given[0]} is now rejoinder {present}; the old name goes with version 0.3"
        warnings.warn(text, FutureWarning, stacklevel=2)
        given = [present, *given[1:]]
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
    from rejoinder.cli.output import put
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

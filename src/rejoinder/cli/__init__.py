"""The command line: one thin module per verb.

Exit codes: 0 done, 1 the program failed, 2 the input or the call was wrong, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from functools import partial

from rejoinder._version import __version__
from rejoinder.cli.lazy_parser import LazyParser, sentence
from rejoinder.errors import RejoinderError

# Verb -> what it is for. The verb's module is imported only when it is called, and heavy libraries only when it runs.
VERBS = {
    "score": "score replies with metrics and evaluators",
    "compare": "test whether one system's replies are better than another's",
    "meta": "measure which metrics agree with people, on judged replies",
    "report": "turn a file of scores into report.html",
    "train": "train an evaluator, a sentence encoder or a reply model",
    "generate": "reply to contexts with one trained reply model, or with a pool of them for judging",
    "calibrate": "put a trained evaluator's scores on the human scale, with an interval for each reply",
    "distill": "train a small evaluator to predict the scores of larger ones",
    "setup": "set up an evaluator that needs models which do not come with the package",
    "annotate": "collect human scores of replies in a browser",
    "metrics": "list the metrics, what each needs and what it measures",
}


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="rejoinder",
        description="Measures how good a chatbot's replies are, and whether the new version is better.",
    )
    parser.add_argument("--version", action="version", version=f"rejoinder {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=LazyParser)
    for verb, purpose in VERBS.items():
        verbs.add_parser(verb, help=purpose, description=sentence(purpose), fill=partial(_fill, verb))
    return parser


def _fill(verb: str, parser: argparse.ArgumentParser) -> None:
    module = importlib.import_module(f"rejoinder.cli.{verb}")
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a character still gets its table
    try:
        namespace = build_parser().parse_args(given)
        code: int = namespace.run(namespace)
        sys.stdout.flush()
        return code
    except RejoinderError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        # The reader of our output is gone (`| head`); without this, Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # no space left, a folder that vanished: no bug, and the message says it all
        return _fail(str(error), 1)
    except Exception as error:
        if os.environ.get("REJOINDER_DEBUG"):
            raise
        hint = "set REJOINDER_DEBUG=1 to see where"
        return _fail(f"this should not have happened: {type(error).__name__}: {error} ({hint})", 1)


def _fail(message: str, code: int) -> int:
    from rejoinder.text.terminal import terminal_safe

    print(f"rejoinder: {terminal_safe(' '.join(message.splitlines()))}", file=sys.stderr)
    return code

"""The command line: one thin file a verb.

Exit codes: 0 done, 1 the program failed, 2 the input or the call was wrong, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence

from rejoinder._version import __version__
from rejoinder.errors import RejoinderError

# Verb -> what it is for. The verb's module is imported only when it is called, and heavy libraries only when it runs.
VERBS = {
    "score": "score replies by metrics and evaluators",
    "compare": "tell whether one system's replies are better than another's",
    "meta": "tell which metric agrees with people, on judged replies",
    "report": "turn a file of scores into report.html",
    "train": "train an evaluator on dialogues and on judged replies, or a reply model on dialogues",
    "generate": "reply to contexts by trained models, one or a pool of them for judging",
    "calibrate": "put a trained evaluator's scores on the scale of people, with an interval a reply",
    "distill": "train a small evaluator to say what others say",
    "metrics": "list the metrics, what each needs and measures",
}


def build_parser(verbs: Sequence[str] = tuple(VERBS)) -> argparse.ArgumentParser:
    """The parser of the whole command line, with the arguments of the given verbs."""
    parser = argparse.ArgumentParser(
        prog="rejoinder",
        description="Tells how good a chatbot's replies are, and whether the new version is better.",
    )
    parser.add_argument("--version", action="version", version=f"rejoinder {__version__}")
    subparsers = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, purpose in VERBS.items():
        subparser = subparsers.add_parser(verb, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        if verb in verbs:
            module = importlib.import_module(f"rejoinder.cli.{verb}")
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter still gets its table
    try:
        namespace = build_parser([verb for verb in VERBS if verb in given]).parse_args(given)
        code: int = namespace.run(namespace)
        sys.stdout.flush()
        return code
    except RejoinderError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain once more on closing it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # no space left, a folder that vanished: not ours, and no riddle
        return _fail(str(error), 1)
    except Exception as error:
        if os.environ.get("REJOINDER_DEBUG"):
            raise
        hint = "set REJOINDER_DEBUG=1 to see where"
        return _fail(f"this should not have happened: {type(error).__name__}: {error} ({hint})", 1)


def _fail(message: str, code: int) -> int:
    print(f"rejoinder: {' '.join(message.splitlines())}", file=sys.stderr)
    return code

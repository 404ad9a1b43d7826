"""Options shared by several verbs, and messages to the user."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rejoinder.errors import shortened
from rejoinder.options import RESAMPLES, SHARED, Check, whole

if TYPE_CHECKING:
    from rejoinder.data.records import FieldMap
    from rejoinder.data.source import Source
    from rejoinder.folders.outputs import Output
    from rejoinder.scoring.score import Choice
    from rejoinder.show.document import Result

CHECK_FAILED = 3
"""The exit code where the work was done, and a check that was asked for failed."""
NOT_DECIDED = 4
"""The exit code where no check failed, but one could not be decided: its metric cannot judge the replies."""

_MOST_LISTED = 20
_MOST_DIGITS = 100  # Python refuses to read numbers of thousands of digits


def add_replies(parser: argparse.ArgumentParser) -> None:
    """The files with the replies."""
    parser.add_argument(
        "replies",
        nargs="+",
        help="the replies: .jsonl, .json, .csv, .tsv, .parquet or .xlsx files, a folder, a pattern such as "
        "'logs/*.json', or - for JSON lines on standard input; chat logs and exports of other tools are recognised",
    )


def origin_of(replies: Sequence[str]) -> str | list[Path]:
    """What to read: one file, or several as one set of replies."""
    return replies[0] if len(replies) == 1 else [Path(path) for path in replies]


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How the input is read."""
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--field",
        action="append",
        default=[],
        metavar="OURS=THEIRS",
        help="the data's own name for a field: --field context=history, or a path inside a field: --field "
        "response=output.content (id, context, response, references, system, speakers, context_id, dialogue_id, "
        "messages); may be repeated",
    )
    group.add_argument(
        "--separator",
        default="\n",
        help="where to split a context that is one string (default: at line breaks)",
    )
    add_on_error(group)


def add_unit(parser: argparse.ArgumentParser) -> None:
    """What is scored of a conversation."""
    unit = parser.add_mutually_exclusive_group()
    unit.add_argument(
        "--unit",
        choices=("reply", "turn"),
        default="reply",
        help="what is scored of a conversation: its last reply (default), or each assistant turn in its place",
    )
    unit.add_argument("--every-turn", dest="unit", action="store_const", const="turn", help="the same as --unit turn")


def add_on_error(group: Any) -> None:
    """The option for input that cannot be read."""
    group.add_argument(
        "--on-error",
        choices=("raise", "skip"),
        default="raise",
        help="stop at input that cannot be read (default), or skip it and report it",
    )


def add_scale(group: Any) -> None:
    """The scale of the human scores."""
    group.add_argument(
        "--scale",
        nargs=2,
        type=float,
        metavar=("LOWEST", "HIGHEST"),
        help="the ends of the rating scale (default: the lowest and highest rating in the data)",
    )


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """Which metrics run."""
    group = parser.add_argument_group("metrics")
    group.add_argument(
        "-m",
        "--metric",
        action="append",
        default=[],
        metavar="NAME",
        help="a metric, with optional parameters: -m 'bleu(n=2)', or the folder of a trained evaluator; "
        "may be repeated; 'all': every metric that needs no training (default: a sensible set for the data)",
    )
    group.add_argument("--config", metavar="FILE.toml", help="take metrics and their parameters from a TOML file")


def add_scoring(parser: argparse.ArgumentParser, *, latex: bool = False) -> None:
    """Options shared by all scoring verbs; `latex` as in `add_running`."""
    add_metrics(parser)
    add_reading(parser)
    add_jobs(parser)
    add_running(parser, latex=latex)


def add_running(parser: argparse.ArgumentParser, *, latex: bool = False) -> None:
    """How the work is done and what is shown; with `latex`, also as a LaTeX table."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    if latex:
        form.add_argument("--latex", action="store_true", help="print a LaTeX table")
    add_seed(parser)
    parser.add_argument(
        "--resamples",
        type=option("resamples"),
        default=RESAMPLES,
        help="number of bootstrap resamples for each interval (default: %(default)s)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no notes")


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """The number of processes."""
    parser.add_argument(
        "--jobs",
        type=option("jobs"),
        metavar="N",
        help="processes that score; scores stay the same, but for the last digits of evaluators in torch (default: as "
        "many as there are cores for evaluators, and for fast metrics where there are many replies, else one)",
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """The random seed."""
    parser.add_argument("--seed", type=option("seed"), default=0, help="random seed (default: 0)")


def option(name: str, check: Check | None = None) -> Callable[[str], int]:
    """How argparse reads a whole number: with the check that the Python functions have for this argument."""

    def read(text: str) -> int:
        try:
            number: int = (check or SHARED[name])(int(text) if text.isdecimal() and len(text) < _MOST_DIGITS else text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"must be {error}, not {shortened(text)}") from None
        return number

    return read


positive = option("a count", whole(1))
"""A whole number above 0, or argparse's error."""


def run_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of reading and running as keyword arguments of the Python functions."""
    settings = {name: getattr(arguments, name) for name in ("on_error", "seed", "resamples", "jobs", "quiet")}
    return {"fields": field_map(arguments), **settings}


def open_source(origin: str | list[Path], arguments: argparse.Namespace) -> Source:
    """The examples of a file, read as the options say."""
    from rejoinder.data.source import Source

    return Source(origin, field_map(arguments), arguments.on_error, unit=getattr(arguments, "unit", "reply"))


def field_map(arguments: argparse.Namespace) -> FieldMap:
    """The data's own names for our fields."""
    from rejoinder.data.records import FieldMap

    # A shell passes backslash-n as two characters.
    fields = FieldMap.parse(arguments.field, arguments.separator.replace("\\n", "\n").replace("\\t", "\t"))
    return replace(fields, by=tuple(getattr(arguments, "by", ())))


def chosen_metrics(arguments: argparse.Namespace) -> Choice | None:
    """The metrics that -m and --config name; None where they name none."""
    from rejoinder.registry import metrics_of_file
    from rejoinder.scoring.score import Choice, choose

    chosen = choose(arguments.metric) if arguments.metric else None
    if arguments.config:
        configured = choose(metrics_of_file(arguments.config))
        return (chosen or Choice({})).adding(configured.metrics)
    return chosen


def check_failed(reasons: Sequence[str], undecided: Sequence[str] = ()) -> int:
    """The exit code of checks; why each failed or is not decided is printed, also where notes are not wanted."""
    from rejoinder.show.text import one_line

    for told, sentences in (("check failed", reasons), ("check not decided", undecided)):
        for sentence in sentences:
            print(f"rejoinder: {told}: {one_line(sentence)}", file=sys.stderr)
    return CHECK_FAILED if reasons else NOT_DECIDED if undecided else 0


_WRITTEN = {"output", "report", "write_arpa"}
"""Options that name files to write."""


def files_read(arguments: argparse.Namespace) -> list[Any]:
    """All files that the options name, except those to write."""
    from rejoinder.data.opening import files_of
    from rejoinder.folders.outputs import named_files

    given = [value for name, value in vars(arguments).items() if name not in _WRITTEN]
    texts = [text for value in given for text in _as_list(value) if isinstance(text, str)]
    replies = _as_list(getattr(arguments, "replies", None) or [])  # may be folders and patterns
    return [*texts, *(file for name in replies for file in files_of(name, name) or []), *named_files(*given)]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def add_by(parser: argparse.ArgumentParser) -> None:
    """The fields by which results are shown separately."""
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="FIELD",
        help="also show the results for each value of this field of the data (or: length, turns); may be repeated",
    )


def add_report(parser: argparse.ArgumentParser) -> None:
    """The HTML report."""
    parser.add_argument("--report", metavar="FILE.html", help="write a report as one HTML file")
    parser.add_argument("--no-texts", action="store_true", help="leave all texts out of the report")


def write_report(arguments: argparse.Namespace, result: Result, title: str = "") -> None:
    """Write a result's report to the file that --report names, which is reserved."""
    from rejoinder.folders.outputs import write_text

    texts = not getattr(arguments, "no_texts", False)
    write_text(Path(arguments.report), result.page(texts=texts, title=title))


def report_outputs(path: str | None) -> list[Output]:
    """The report as an output to reserve, where one was asked for."""
    from rejoinder.folders.outputs import Output, output_path

    return [] if path is None else [Output(output_path(path), (".html",))]


def say(message: str, arguments: argparse.Namespace) -> None:
    """Print a note on standard error, unless quiet."""
    from rejoinder.show.text import one_line

    if not arguments.quiet:
        put(one_line(message), file=sys.stderr)


def put(result: object, file: TextIO | None = None) -> None:
    """Print a result or a note; control characters that came with the data are shown as escapes."""
    from rejoinder.show.text import terminal_safe

    print(terminal_safe(str(result), newlines=True), file=file)


def terminal_width() -> int:
    """The width of the terminal, which tables and sentences fit into; 80 where the output goes elsewhere."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80


def print_json(values: Mapping[str, Any]) -> None:
    """Print one object on standard output."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    put(json.dumps(values, indent=2, ensure_ascii=not utf8, allow_nan=False))


def show(result: Result, arguments: argparse.Namespace) -> None:
    """Print a result on standard output, as text or as JSON, and its notes on standard error."""
    if arguments.json:
        print_json(result.to_dict())
    else:
        put(result.text(terminal_width()))
    say_notes(result, arguments)


def say_notes(result: Result, arguments: argparse.Namespace) -> None:
    """Print the notes of a result on standard error."""
    for note in result.notes:
        say(f"note: {note}", arguments)


def say_skipped(skipped: Sequence[str], arguments: argparse.Namespace) -> None:
    """Print how many examples were left out, and the first of them."""
    if not skipped:
        return
    say(f"left out {len(skipped)} unreadable {'example' if len(skipped) == 1 else 'examples'}:", arguments)
    for error in skipped[:_MOST_LISTED]:
        say(f"  {error}", arguments)
    if len(skipped) > _MOST_LISTED:
        say(f"  ... and {len(skipped) - _MOST_LISTED} more", arguments)

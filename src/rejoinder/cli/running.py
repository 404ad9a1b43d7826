"""What a verb is, and how one runs: parse, call the public function, show its result."""

from __future__ import annotations

import argparse
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.output import (
    check_failed,
    files_read,
    print_json,
    put,
    report_outputs,
    say,
    say_skipped,
    terminal_width,
)
from rejoinder.cli.parameters import add_parameters, arguments_of, is_positional, located, option_names
from rejoinder.errors import CallError
from rejoinder.options import Parameter, described

if TYPE_CHECKING:
    from rejoinder.judge.cost import CostPlan
    from rejoinder.show.document import Result


@dataclass(frozen=True)
class GateChecks:
    """What checks for continuous integration found."""

    failed: Sequence[str] = ()
    undecided: Sequence[str] = ()
    shown: dict[str, Any] = field(default_factory=dict)
    """What the JSON form says of them."""


@dataclass(frozen=True)
class Verb:
    """What a verb is for, the function that it calls, and what it does besides."""

    purpose: str
    place: str = ""
    """The public function, as `folder.file:function`."""
    module: str = ""
    """The module of this folder that makes options and runs, where a verb is more than the call of a function."""
    forms: str = ""
    """Forms of the result besides text and JSON: latex, details, report, and texts where a report may show some."""
    told: str = ""
    """Said at the end, with values of options in braces, if they were given."""
    extra: Callable[[argparse.ArgumentParser], None] | None = None
    """Adds options that only a terminal has."""
    start: Callable[[argparse.Namespace], None] | None = None
    """Checks of these options; raises a CallError."""
    instead: Callable[[argparse.Namespace], int | None] | None = None
    """Runs in place of the call, and gives the exit code; None where the function is to be called."""
    costs: Callable[[argparse.Namespace], CostPlan] | None = None
    """What judges would be sent, for --dry-run."""
    kept: Callable[[argparse.Namespace], str] | None = None
    """Says what is kept when the verb is interrupted; "" where nothing is."""
    title: Callable[[argparse.Namespace], str] = lambda _: ""
    """The title of the report; the result's own without it."""
    was_finished: Callable[[Any], bool] | None = None
    """Whether an earlier run had finished the same output, which is then all that is said."""
    checks: Callable[[Any, argparse.Namespace], GateChecks] | None = None
    prints: bool = True
    """Whether the result is printed; a model is not."""
    tells_readings: bool = True
    """Whether notes say how files were read."""


def add_options(parser: argparse.ArgumentParser, verb: Verb) -> None:
    """The options of a verb: the parameters of its function, and how its result is shown."""
    add_parameters(parser, described(verb.place))
    if verb.costs is not None:
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="print how many requests the judges would send, how many are in the cache, tokens and cost; send "
            "nothing",
        )
    if verb.extra is not None:
        verb.extra(parser)
    add_showing(parser, verb.forms.split(), prints=verb.prints)
    parser.set_defaults(tell_readings=verb.tells_readings)


def add_showing(parser: argparse.ArgumentParser, forms: Sequence[str] = (), *, prints: bool = True) -> None:
    """How a result is shown."""
    if prints:
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
    parser.add_argument("--quiet", action="store_true", help="show neither progress nor notes")


def run_verb(verb: Verb, arguments: argparse.Namespace) -> int:
    """Call the function of a verb, and show its result; the exit code."""
    from rejoinder.folders.outputs import reserved, write_text
    from rejoinder.threads import multiply_on_one_thread

    multiply_on_one_thread()
    if verb.start is not None:
        verb.start(arguments)
    if verb.instead is not None and (code := verb.instead(arguments)) is not None:
        return code
    if verb.costs is not None and arguments.dry_run:
        _show(verb.costs(arguments), arguments, GateChecks())
        return 0
    report: str | None = getattr(arguments, "report", None)
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
            write_text(Path(report), page(result, arguments, verb.title(arguments)))
    if verb.was_finished is not None and verb.was_finished(result):
        say(f"{arguments.output} is finished: there is nothing left to do", arguments)
        if not arguments.json:
            return 0
    checks = GateChecks() if verb.checks is None else verb.checks(result, arguments)
    if verb.prints:
        _show(result, arguments, checks)
    if verb.told and all(getattr(arguments, name) for _, name, _, _ in string.Formatter().parse(verb.told) if name):
        say(verb.told.format_map(vars(arguments)), arguments)
    if report is not None:
        say(f"report: {report}", arguments)
    return check_failed(checks.failed, checks.undecided)


def called(place: str, arguments: argparse.Namespace) -> Any:
    """What the function at a place returns for the options."""
    with options_named(described(place), arguments):
        positional, named = call_of(place, arguments)
        return located(place)(*positional, **named)


@contextmanager
def options_named(parameters: Iterable[Parameter], arguments: argparse.Namespace) -> Iterator[None]:
    """Errors about a parameter name its option instead: `--pair-by must be ...`; a file may have such a name, too."""
    try:
        yield
    except CallError as error:
        first, _, rest = str(error).partition(" ")
        values = [value if isinstance(value, list) else [value] for value in vars(arguments).values()]
        if any(str(each) == first for value in values for each in value):
            raise
        named = [each for each in parameters if each.name == first and each.option.shown and not is_positional(each)]
        if not named or named[0].option.parts or type(error) is not CallError:
            raise
        raise CallError(f"{option_names(named[0], named[0].option)[-1]} {rest}") from error


def call_of(place: str, arguments: argparse.Namespace) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of the function at a place."""
    parameters = described(place)
    positional, named = arguments_of(parameters, arguments)
    names = {each.name for each in parameters}
    if "quiet" in names:
        named["quiet"] = arguments.quiet
    if "say" in names:
        named["say"] = partial(say, arguments=arguments)
    return positional, named


def _show(result: Result, arguments: argparse.Namespace, checks: GateChecks) -> None:
    if arguments.json:
        print_json(result.to_dict() | checks.shown)
    elif getattr(arguments, "latex", False):
        put(result.to_latex())
    else:
        put(result.text(terminal_width(), details=getattr(arguments, "details", False)))
    for note in result.notes:
        say(f"note: {note}", arguments)
    say_skipped(getattr(result, "skipped", ()), arguments)


def page(result: Result, arguments: argparse.Namespace, title: str) -> str:
    """The report of a result; a limit on the cost also holds while it asks judges for reasons."""
    from rejoinder.scoring.run import judges_limited

    judges: Any = getattr(result, "metrics", {}) if "max_cost" in arguments else {}
    most = arguments.max_cost if isinstance(judges, Mapping) and judges else None
    with judges_limited(judges.values() if isinstance(judges, Mapping) else (), most, quiet=arguments.quiet):
        return result.page(texts=not getattr(arguments, "no_texts", False), title=title)

"""`rejoinder experiment cross-validation --evaluator 'adem(encoder=minilm)' --judged judged.jsonl`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import (
    add_reading,
    add_running,
    field_map,
    files_read,
    option,
    positive,
    print_json,
    put,
    report_outputs,
    say,
    say_skipped,
    write_report,
)
from rejoinder.errors import CallError, UnknownNameError, shortened
from rejoinder.options import whole

if TYPE_CHECKING:
    from rejoinder.evaluators.base import Evaluator
    from rejoinder.trust.cross_validation import Experiment

STUDIES = ("cross-validation", "leave-one-system-out", "label-amounts", "low-resource", "transfer")
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "fractions": ("label-amounts",),
    "counts": ("label-amounts", "low-resource"),
    "seeds": ("label-amounts", "low-resource"),
    "shared": ("transfer",),
    "system_words": ("leave-one-system-out",),
}
"""Option -> the studies that have it."""
COMMON = ("folds", "seed", "folder", "allow_leakage", "resamples", "quiet")
"""Options of all studies that are passed on as they are."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("study", choices=STUDIES, help="the study to run")
    parser.add_argument(
        "--evaluator",
        action="append",
        default=[],
        required=True,
        metavar="NAME",
        help="an evaluator with its parameters: 'adem(encoder=models/minilm)', or the folder of a trained one, whose "
        "parameters are used; may be repeated",
    )
    parser.add_argument(
        "--judged",
        action="append",
        default=[],
        required=True,
        metavar="FILE",
        help="replies with human scores; transfer needs it at least twice",
    )
    parser.add_argument(
        "--dialogues",
        action="append",
        default=[],
        metavar="FILE",
        help="dialogues that the evaluator also learns from, for transfer also SET=FILE, where SET is the name of a "
        "judged file without its suffix; may be repeated",
    )
    parser.add_argument(
        "--dimension",
        action="append",
        default=[],
        metavar="NAME",
        help="the dimension that was rated (default: overall); for transfer also SET=NAME, which may be repeated",
    )
    parser.add_argument(
        "--folds",
        type=_folds,
        default=5,
        metavar="K",
        help="number of folds, at least 2, that share no context (default: %(default)s), or 'published' for the data's "
        "own `split`",
    )
    parser.add_argument(
        "--folder", metavar="FOLDER", help="keep each finished fit here; the same command continues where it stopped"
    )
    parser.add_argument(
        "--allow-leakage",
        metavar="REASON",
        help="test on contexts that were trained on, as a published split may require; the reason is printed with the "
        "result",
    )
    parser.add_argument("--report", metavar="FILE.html", help="write table and figures as one HTML file")
    _add_of_some_studies(parser)
    add_reading(parser)
    add_running(parser, latex=True)


def _add_of_some_studies(parser: argparse.ArgumentParser) -> None:
    """Options that only some studies have; each names them, as the defaults of a study are its own."""
    group = parser.add_argument_group("options of some studies")
    group.add_argument(
        "--fractions",
        nargs="+",
        type=float,
        metavar="F",
        help="label-amounts: shares of the labels, above 0 and at most 1 (default: 0.05 0.1 0.25 0.5 0.75 1)",
    )
    group.add_argument(
        "--counts",
        nargs="+",
        type=positive,
        metavar="N",
        help="low-resource: numbers of labels (default: 25 50 100 200 400, as far as every training set has more); "
        "label-amounts: numbers of labels in addition to the shares (default: none)",
    )
    group.add_argument(
        "--seeds",
        nargs="+",
        type=option("seed"),
        metavar="S",
        help="label-amounts and low-resource: random seeds of the samples (default: 0 1 2)",
    )
    group.add_argument(
        "--shared",
        choices=("refuse", "drop"),
        help="transfer: contexts that two sets share are an error (default), or are dropped from training",
    )
    group.add_argument(
        "--system-words",
        type=positive,
        metavar="N",
        help="leave-one-system-out: systems whose names start with the same N words count as one; with 2, "
        "'mybot v1 greedy' and 'mybot v1 sample' are both 'mybot v1' (default: every name is a system)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the study, and print its table."""
    from rejoinder.folders.outputs import reserved

    _check_options(arguments)
    with reserved(*report_outputs(arguments.report), reads=files_read(arguments)), _resumable(arguments):
        result = _result(arguments)
        if arguments.report:
            write_report(arguments, result)
    if arguments.json:
        print_json({"study": result.name, **result.to_dict()})
    else:
        put(result.to_latex() if arguments.latex else result.text())
    if arguments.report:
        say(f"report: {arguments.report}", arguments)
    return 0


@contextmanager
def _resumable(arguments: argparse.Namespace) -> Iterator[None]:
    """On an interrupt, print which fits are kept, and how to continue."""
    from rejoinder.trust.experiments import FILE

    try:
        yield
    except KeyboardInterrupt:
        kept = Path(arguments.folder, FILE) if arguments.folder else None
        if kept is None:
            say("no fit was kept: with --folder FOLDER, the same command continues from the finished fits", arguments)
        elif kept.exists():
            say(f"finished fits are in {kept}: run the same command to continue", arguments)
        else:
            say(f"no fit was finished, so none is in {arguments.folder}", arguments)
        raise


def _check_options(arguments: argparse.Namespace) -> None:
    for name, studies in OPTIONS.items():
        if getattr(arguments, name) is not None and arguments.study not in studies:
            given = f"--{name.replace('_', '-')}"
            raise CallError(f"{given} is for {' and '.join(studies)}, not for {arguments.study}")
    if arguments.study != "transfer":
        for name in ("judged", "dimension"):
            if len(getattr(arguments, name)) > 1:
                raise CallError(f"{arguments.study} needs a single --{name}, found {len(getattr(arguments, name))}")


def _result(arguments: argparse.Namespace) -> Experiment:
    from rejoinder.data.judged import read_judged
    from rejoinder.data.source import labels_of
    from rejoinder.trust.cross_validation import cross_validate, leave_one_system_out
    from rejoinder.trust.label_curves import label_amounts, low_resource
    from rejoinder.trust.transfer import transfer

    evaluators, dialogues = _evaluators(arguments.evaluator), _dialogues(arguments)
    fields, on_error = field_map(arguments), arguments.on_error
    sets = [read_judged(path, fields=fields, on_error=on_error) for path in arguments.judged]
    _check_dialogues(evaluators, dialogues, labels_of([judged.name for judged in sets]))
    own = {name: getattr(arguments, name) for name in OPTIONS if getattr(arguments, name) is not None}
    common = {name: getattr(arguments, name) for name in COMMON}
    settings: dict[str, Any] = {**own, **common, "dialogues": dialogues}
    if arguments.study == "transfer":
        by_set = {name: _only(given) for name, given in _by_set(arguments.dimension).items()}
        return transfer(
            evaluators, sets, by_set or (_only(arguments.dimension) if arguments.dimension else None), **settings
        )
    studies = {
        "cross-validation": cross_validate,
        "leave-one-system-out": leave_one_system_out,
        "label-amounts": label_amounts,
        "low-resource": low_resource,
    }
    return studies[arguments.study](evaluators, sets[0], next(iter(arguments.dimension), None), **settings)


def _evaluators(given: Sequence[str]) -> dict[str, Evaluator]:
    """Label -> evaluator; a label is the evaluator's name, or all that was given where several have that name."""
    from rejoinder.evaluators.base import Evaluator
    from rejoinder.registry import EVALUATORS, load

    loaded = {}
    for text in given:
        name = text.partition("(")[0].strip()
        if name not in EVALUATORS and not Path(name).is_dir():
            raise UnknownNameError("evaluator to train:", name, EVALUATORS)
        loaded[text] = load(text)
        if not isinstance(loaded[text], Evaluator):
            raise CallError(f"{text} contains no evaluator: expected the folder of one")
    names = [made.name for made in loaded.values()]
    return {made.name if names.count(made.name) == 1 else text: made for text, made in loaded.items()}


def _dialogues(arguments: argparse.Namespace) -> Any:
    """The dialogues to learn from, of all sets or by set."""
    from rejoinder.data.dialogues import CorpusReader

    reader = CorpusReader(arguments.on_error, None)
    files = _by_set(arguments.dialogues) if arguments.study == "transfer" else {}
    if files:
        found: Any = {name: reader.dialogues(paths) for name, paths in files.items()}
    else:
        found = reader.dialogues(arguments.dialogues)
    say_skipped(reader.skipped, arguments)
    return found


def _check_dialogues(evaluators: Mapping[str, Evaluator], dialogues: Any, sets: Sequence[str]) -> None:
    """Raise a CallError that names the option if an evaluator learns from dialogues, and there are none."""
    needing = next((label for label, made in evaluators.items() if made.dialogues == "needed"), None)
    if needing is None:
        return
    if not dialogues:
        raise CallError(f"{needing} learns from dialogues: expected --dialogues FILE")
    if isinstance(dialogues, Mapping) and set(dialogues) < set(sets):
        missing = next(name for name in sets if name not in dialogues)
        raise CallError(f"{needing} learns from dialogues: expected --dialogues {missing}=FILE as well")


def _by_set(given: Sequence[str]) -> dict[str, list[str]]:
    """`SET=VALUE` texts as a mapping to all values of a set; empty where a text has no `=`."""
    found: dict[str, list[str]] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign:
            return {}
        found.setdefault(name, []).append(value)
    return found


def _only(given: Sequence[str]) -> str:
    """The one value; an error where there are several."""
    if len(given) > 1:
        raise CallError(f"expected one --dimension, or SET=NAME for each judged set, found {', '.join(given)}")
    return given[0]


def _folds(text: str) -> int | str:
    if text == "published":
        return text
    try:
        return option("folds", whole(2))(text)
    except argparse.ArgumentTypeError:
        expected = "a whole number of at least 2, or 'published'"
        raise argparse.ArgumentTypeError(f"must be {expected}, not {shortened(text)}") from None

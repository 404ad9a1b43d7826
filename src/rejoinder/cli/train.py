"""`rejoinder train NAME` and `rejoinder distil`: the parameters of what is trained become options.

Options for data, output and run are those of `rejoinder.train`, as far as the class learns from them; the others are
the fields of the class.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.lazy_parser import LazyParser
from rejoinder.cli.output import files_read, say, say_skipped
from rejoinder.cli.parameters import add_fields, add_parameters, arguments_of, fields_of, given_fields
from rejoinder.cli.running import call_of, options_named
from rejoinder.errors import CallError
from rejoinder.options import Parameter, described
from rejoinder.registry import RECOMMENDED, TRAINABLE
from rejoinder.show.text import aligned

if TYPE_CHECKING:
    from rejoinder.folders.outputs import Output
    from rejoinder.learning.run import TrainingRun
    from rejoinder.training.distil import StudentCheck
    from rejoinder.training.train import TrainingInput

_USES = {
    "evaluator": "rejoinder score REPLIES -m {output}",
    "sentence encoder": "rejoinder train adem --encoder {output} --judged FILE -o MODEL",
    "reply model": "rejoinder generate CONTEXTS --model {output} -o replies.jsonl",
}
"""Kind of model -> the command that uses it."""
_SHORTER = ("in_batch_steps", "steps", "label_steps", "epochs", "label_epochs", "contexts")
"""Parameters of which a smaller value makes training faster."""


# Options.


def add_arguments(parser: LazyParser) -> None:
    """One verb for everything that can be trained."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.below = overview
    verbs = parser.add_subparsers(
        dest="name", metavar="NAME", required=True, parser_class=LazyParser, help="what to train: see below"
    )
    for purposes in TRAINABLE.values():
        for name, purpose in purposes.items():
            verbs.add_parser(name, description=purpose, fill=partial(_fill, name))


def overview() -> str:
    """All names with their purposes, group by group."""
    lines = [
        f"If in doubt, train an {RECOMMENDED}: it learns from dialogues, from human ratings, or from both, and scores",
        "without torch afterwards.",
    ]
    for group, purposes in TRAINABLE.items():
        lines += ["", f"{group}:", *aligned(purposes, 96)]
    return "\n".join([*lines, "", "`rejoinder train NAME --help` lists the options of each."])


def _fill(name: str, parser: argparse.ArgumentParser) -> None:
    """The options of one name."""
    from rejoinder.registry import trainable_class

    cls = trainable_class(name)
    add_parameters(parser, parameters_for(cls))
    is_reply_model = cls.kind == "reply model"
    add_fields(parser, cls, may_be_set=is_reply_model)
    if is_reply_model:
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="a parameter by its name in Python, --set learning_rate=0.01 for --learning-rate 0.01; "
            "may be repeated",
        )
    if name in ADDITIONS:
        ADDITIONS[name].add_options(parser)
    parser.add_argument("--quiet", action="store_true", help="show neither progress nor notes")


def parameters_for(cls: type[Any]) -> Iterator[Parameter]:
    """The parameters of `train` that a class has a use for; what it cannot do without is required."""
    is_evaluator = cls.kind == "evaluator"
    needs = {"dialogues": cls.dialogues, "judged": cls.labels} if is_evaluator else {"dialogues": "needed"}
    for each in described("training.train:train"):
        option = each.option
        if each.name in {"dialogues", "judged"}:
            use = needs.get(each.name, "unused")
            option = replace(option, required=use == "needed")
            if each.name == "judged" and cls.learns_systems:
                told = "replies that name the system that gave them; may be repeated"
                option, use = replace(option, help=told, short="--pool", required=True), "needed"
            elif each.name == "dialogues" and cls.reads_sentences:
                told = (
                    "text to learn from: .txt(.gz) with one sentence per line, or .jsonl(.gz) with dialogues; may be "
                )
                option = replace(option, help=f"{told}repeated", short="--text")
            if use == "unused":
                continue
        elif each.name == "run" and not cls.trains_in_steps:
            told = "has no effect: this model is fitted in one step, and starts again"
            option = replace(option, parts=(replace(option.parts[0], help=told),), read=_no_run)
        elif each.name == "name" or (each.name == "valid" and is_evaluator):
            continue
        yield replace(each, option=option)


def _no_run(_: object) -> None:
    """A model that is fitted in one step has no use for a run."""


# The verbs.


def run(arguments: argparse.Namespace) -> int:
    """Train and save the named model."""
    from rejoinder.folders.outputs import output_path, reserved
    from rejoinder.folders.sources import require_extra
    from rejoinder.registry import trainable_class
    from rejoinder.training.train import checkpoints_beside, train

    name, output = arguments.name, output_path(arguments.output)
    cls, addition, parameters = trainable_class(name), ADDITIONS.get(name), _parameters(arguments)
    positional, named = arguments_of(parameters_for(cls), arguments)
    single = [
        each
        for each in parameters_for(cls)
        if each.option.shown and each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    for each, value in zip(single, positional, strict=True):
        named[each.name] = value
    ways = faster_ways(
        [each.name for each in fields_of(cls)],
        parameters,
        getattr(arguments, "minutes", None),
        trains_in_steps=cls.trains_in_steps,
    )
    named["run"] = _run_of(named.get("run"), ways, arguments)
    if addition is not None:
        addition.check(arguments, parameters)
    if cls.trains_in_steps:
        require_extra("train", f"training {name}")
    finished: list[Path] = []
    told = "checkpoints are in {}: run the same command with --resume to continue"
    outputs = extra_outputs(arguments)
    with reserved(*outputs, reads=files_read(arguments) if outputs else ()):
        with _telling(told, checkpoints_beside(output), arguments), options_named(parameters_for(cls), arguments):
            model = train(
                name,
                on_read=partial(_say_read, arguments, parameters),
                on_finished=lambda: finished.append(output),
                **named,
                **parameters,
            )
        for note in () if addition is None or finished else addition.notes(model, arguments):
            say(note, arguments)
    _say_model(model.kind, output, arguments, finished=bool(finished))
    return 0


def distil_verb(arguments: argparse.Namespace) -> int:
    """Score replies with the teachers, train the student on the scores, save it."""
    from rejoinder.folders.outputs import output_path
    from rejoinder.training import distil as training

    output, finished = output_path(arguments.output), list[Path]()
    parameters_of_distil = described("training.distil:distil")
    positional, named = call_of("training.distil:distil", arguments)
    shorter = ("contexts",) if arguments.static else ("contexts", "steps")
    named["run"] = _run_of(named.get("run"), faster_ways(shorter, {}, arguments.minutes), arguments)
    told = "the teacher's scores are in {}: run the same command with --resume to continue"
    with (
        _telling(told, training.teacher_scores_beside(output), arguments),
        options_named(parameters_of_distil, arguments),
    ):
        student = training.distil(
            *positional,
            on_read=partial(_say_distilled, arguments),
            on_check=partial(_say_check, arguments),
            on_finished=lambda: finished.append(output),
            **named,
        )
    _say_model(student.kind, output, arguments, finished=bool(finished))
    return 0


def _parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """The parameters that were given as options, and with --set."""
    from rejoinder.specs import parse_spec

    parameters = given_fields(arguments)
    for pair in getattr(arguments, "set", ()):
        found = parse_spec(f"{arguments.name}({pair})")[1]
        if parameters.keys() & found.keys():
            raise CallError(f"{next(iter(found))!r} is given twice")
        parameters |= found
    return parameters


def faster_ways(
    parameters: Iterable[str], given: Mapping[str, Any], minutes: Any, *, trains_in_steps: bool = True
) -> tuple[str, ...]:
    """What would make training with these parameters faster, as options."""
    known = set(parameters)
    shorter = [f"--{name.replace('_', '-')}" for name in _SHORTER if name in known]
    return (
        *(["without --preset paper"] if given.get("preset") == "paper" else []),
        *([f"fewer {' or '.join(shorter)}"] if shorter else []),
        *(["a shorter --minutes" if minutes else "a time limit, --minutes N"] if trains_in_steps else []),
    )


def _run_of(given: TrainingRun | None, faster: tuple[str, ...], arguments: argparse.Namespace) -> TrainingRun:
    """The training run that the options describe; only one of several processes shows anything."""
    from rejoinder.learning.run import TrainingRun, is_main_process

    arguments.quiet |= not is_main_process()
    more: dict[str, Any] = {}
    if "member_scores" in arguments:
        more["member_scores"] = Path(arguments.member_scores or f"{arguments.output.rstrip('/')}.scores")
    return replace(given or TrainingRun(), quiet=arguments.quiet, faster=faster, **more)


# What is said.


@contextmanager
def _telling(told: str, kept: Path, arguments: argparse.Namespace) -> Iterator[None]:
    """If the training in the block is interrupted, print what is kept, and how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        if kept.exists():
            say(told.format(kept), arguments)
        raise


def _say_model(kind: str, output: Path, arguments: argparse.Namespace, *, finished: bool) -> None:
    """Where the model is, and how to use it, or that an earlier run has saved it."""
    if finished:
        say(f"{output} is finished: there is nothing left to do", arguments)
    else:
        say(f"model: {output} ({_USES[kind].format(output=output)})", arguments)


def _say_read(arguments: argparse.Namespace, parameters: Mapping[str, Any], given: TrainingInput) -> None:
    """How much training data there is, and what was left out."""
    say_skipped(given.skipped, arguments)
    counts = _counts(arguments.name, parameters, given)
    if counts:
        say(", ".join(counts), arguments)


def _counts(name: str, parameters: Mapping[str, Any], given: TrainingInput) -> list[str]:
    from rejoinder.registry import trainable_class

    cls = trainable_class(name)
    judged = given.judged or []
    if cls.learns_systems:
        from rejoinder.evaluators.adem.baselines import HUMAN, people_and_models

        people, models = people_and_models([item.example for item in judged], parameters.get("human", HUMAN))
        return [f"{people} replies by people", f"{models} by models"]
    if cls.reads_sentences:
        counts = {"sentences": sum(len(dialogue.turns) for dialogue in given.dialogues)}
    else:
        counts = {"dialogues": len(given.dialogues)}
    counts |= {"judged replies": len(judged), "validation dialogues": len(given.valid)}
    return [f"{count} {what}" for what, count in counts.items() if count]


def _say_distilled(arguments: argparse.Namespace, given: TrainingInput) -> None:
    say_skipped(given.skipped, arguments)
    say(f"{len(given.dialogues)} dialogues, {len(given.candidates)} candidates", arguments)


def _say_check(arguments: argparse.Namespace, check: StudentCheck) -> None:
    for line in str(check).splitlines():
        say(line, arguments)


# Options, checks and messages of single methods.


def _nothing(*_: Any) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class TrainAddition:
    """The options, checks and notes of one method."""

    notes: Callable[[Any, argparse.Namespace], Iterator[str]]
    """Messages printed after fitting."""
    add_options: Callable[[argparse.ArgumentParser], None] = _nothing
    check: Callable[[argparse.Namespace, Mapping[str, Any]], None] = _nothing
    """Raises a CallError for options and parameters that do not go together."""


def _adem_notes(model: Any, _: argparse.Namespace) -> Iterator[str]:
    yield str(model.setting_)


def _ruber_notes(model: Any, _: argparse.Namespace) -> Iterator[str]:
    near, fitting = model.ranges_
    yield (
        f"range of scores: s_R from {near.low:.2f} to {near.high:.2f}, s_U from {fitting.low:.2f} to {fitting.high:.2f}"
    )


def _skip_thought_notes(_: Any, arguments: argparse.Namespace) -> Iterator[str]:
    yield f"{arguments.output} is a sentence encoder as well: --encoder {arguments.output}"


def _add_arpa(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write-arpa", metavar="FILE", help="also write the n-gram model behind FM as an ARPA file")


def extra_outputs(arguments: argparse.Namespace) -> list[Output]:
    """The files that are written besides the model's folder."""
    from rejoinder.folders.outputs import Output, output_path

    path = getattr(arguments, "write_arpa", None)
    return [] if path is None else [Output(output_path(path))]


def _check_n_grams(arguments: argparse.Namespace, parameters: Mapping[str, Any]) -> None:
    from rejoinder.evaluators.am_fm_parts import NGRAM, is_arpa

    lm = parameters.get("lm", NGRAM)
    if arguments.write_arpa and lm != NGRAM and not is_arpa(lm):
        raise CallError("--write-arpa needs an n-gram model: a causal language model has no n-grams")


def _check_am_fm(arguments: argparse.Namespace, parameters: Mapping[str, Any]) -> None:
    _check_n_grams(arguments, parameters)
    if arguments.judged and parameters.get("fit_weight", "no") == "no":
        raise CallError("--judged is not used with fixed weights: expected --fit-weight replies or systems")


def _fm_notes(model: Any, arguments: argparse.Namespace) -> Iterator[str]:
    if arguments.write_arpa:
        from rejoinder.models.arpa import write_arpa

        write_arpa(model.model_.model, arguments.write_arpa)
        yield f"n-grams: {arguments.write_arpa}"


def _am_fm_notes(model: Any, arguments: argparse.Namespace) -> Iterator[str]:
    yield from _fm_notes(model, arguments)
    weights = zip(("AM", "FM", "PM"), model.weights_, strict=False)
    yield f"weights: {', '.join(f'{part} {weight:.2f}' for part, weight in weights)}"


def _add_member_scores(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keep-scores",
        dest="member_scores",
        metavar="FOLDER",
        help="folder that keeps the members' scores, so that fitting again takes seconds (default: OUTPUT.scores)",
    )


def _blend_notes(model: Any, _: argparse.Namespace) -> Iterator[str]:
    yield from str(model.report_).splitlines()  # each is made safe to print by itself


ADDITIONS: Mapping[str, TrainAddition] = {
    **dict.fromkeys(("adem", "c-adem", "r-adem"), TrainAddition(_adem_notes)),
    "blend": TrainAddition(_blend_notes, _add_member_scores),
    "ruber": TrainAddition(_ruber_notes),
    "skip-thought": TrainAddition(_skip_thought_notes),
    "am-fm": TrainAddition(_am_fm_notes, _add_arpa, _check_am_fm),
    "fm": TrainAddition(_fm_notes, _add_arpa, _check_n_grams),
}

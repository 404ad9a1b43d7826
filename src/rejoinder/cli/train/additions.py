"""Options, checks and messages of `rejoinder train` for single methods."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rejoinder.errors import CallError
from rejoinder.folders.outputs import Output, output_path


def _nothing(*_: Any) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Addition:
    """The options, checks and remarks of one method."""

    remarks: Callable[[Any, argparse.Namespace], Iterator[str]]
    """Messages printed after fitting."""
    add_options: Callable[[argparse.ArgumentParser], None] = _nothing
    check: Callable[[argparse.Namespace, Mapping[str, Any]], None] = _nothing
    """Raises a CallError for options and parameters that do not go together."""


def _adem_remarks(model: Any, _: argparse.Namespace) -> Iterator[str]:
    yield str(model.setting_)


def _ruber_remarks(model: Any, _: argparse.Namespace) -> Iterator[str]:
    near, fitting = model.ranges_
    yield (
        f"range of scores: s_R from {near.low:.2f} to {near.high:.2f}, s_U from {fitting.low:.2f} to {fitting.high:.2f}"
    )


def _skip_thought_remarks(_: Any, arguments: argparse.Namespace) -> Iterator[str]:
    yield f"{arguments.output} is a sentence encoder as well: --encoder {arguments.output}"


def _add_arpa(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write-arpa", metavar="FILE", help="also write the n-gram model behind FM as an ARPA file")


def extra_outputs(arguments: argparse.Namespace) -> list[Output]:
    """The files that are written besides the model's folder."""
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


def _fm_remarks(model: Any, arguments: argparse.Namespace) -> Iterator[str]:
    if arguments.write_arpa:
        from rejoinder.models.arpa import write_arpa

        write_arpa(model.model_.model, arguments.write_arpa)
        yield f"n-grams: {arguments.write_arpa}"


def _am_fm_remarks(model: Any, arguments: argparse.Namespace) -> Iterator[str]:
    yield from _fm_remarks(model, arguments)
    weights = zip(("AM", "FM", "PM"), model.weights_, strict=False)
    yield f"weights: {', '.join(f'{part} {weight:.2f}' for part, weight in weights)}"


def _add_member_scores(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keep-scores",
        dest="member_scores",
        metavar="FOLDER",
        help="folder that keeps the members' scores, so that fitting again takes seconds (default: OUTPUT.scores)",
    )


def _blend_remarks(model: Any, _: argparse.Namespace) -> Iterator[str]:
    yield from str(model.report_).splitlines()  # each is made safe to print by itself


ADDITIONS: Mapping[str, Addition] = {
    **dict.fromkeys(("adem", "c-adem", "r-adem"), Addition(_adem_remarks)),
    "blend": Addition(_blend_remarks, _add_member_scores),
    "ruber": Addition(_ruber_remarks),
    "skip-thought": Addition(_skip_thought_remarks),
    "am-fm": Addition(_am_fm_remarks, _add_arpa, _check_am_fm),
    "fm": Addition(_fm_remarks, _add_arpa, _check_n_grams),
}

"""The verb: an evaluator is trained many times, to test it on new contexts, systems and corpora."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from rejoinder.data.dialogues import CorpusReader
from rejoinder.data.judged import read_judged
from rejoinder.data.records import FieldMap, Fields
from rejoinder.data.source import labels_of
from rejoinder.errors import CallError, UnknownNameError, shortened
from rejoinder.evaluators.base import Evaluator
from rejoinder.options import (
    FIELDS_OPTION,
    HIGHEST_SEED,
    RESAMPLES,
    OnError,
    Option,
    Quiet,
    Resamples,
    Seed,
    number,
    path,
    several,
    text,
    verb,
    whole,
)
from rejoinder.registry import EVALUATORS, load
from rejoinder.trusting.cross_validation import Experiment, cross_validate, leave_one_system_out
from rejoinder.trusting.label_curves import label_amounts, low_resource
from rejoinder.trusting.transfer import transfer

_SOME = "options of some kinds"
_OF_KINDS: Mapping[str, tuple[str, ...]] = {
    "fractions": ("label-amounts",),
    "counts": ("label-amounts", "low-resource"),
    "seeds": ("label-amounts", "low-resource"),
    "shared": ("transfer",),
    "system_words": ("leave-one-system-out",),
}
"""Argument -> the kinds of experiment that have it; its default is their own."""


def folds_number(value: Any) -> int | str:
    """The number of folds, or 'published'."""
    if value == "published":
        return "published"
    try:
        return int(whole(2)(value))
    except ValueError:
        raise ValueError("a whole number of at least 2, or 'published'") from None


@verb
def experiment(
    kind: Annotated[
        str,
        Option(
            "the experiment",
            choices=("cross-validation", "leave-one-system-out", "label-amounts", "low-resource", "transfer"),
        ),
    ],
    evaluators: Annotated[
        str | Evaluator | Sequence[str | Evaluator],
        Option(
            "an evaluator with its parameters: 'adem(encoder=models/minilm)', or the folder of a trained one, whose "
            "parameters are used; may be repeated",
            name="--evaluator",
            metavar="NAME",
            many="repeat",
        ),
    ],
    *judged: Annotated[
        Any,
        Option(
            "replies with ratings; transfer needs it at least twice",
            name="--judged",
            metavar="FILE",
            many="repeat",
            required=True,
        ),
    ],
    dialogues: Annotated[
        Any,
        Option(
            "dialogues that the evaluator also learns from, for transfer also SET=FILE, where SET is the name of a "
            "judged file without its suffix; may be repeated",
            metavar="FILE",
            many="repeat",
        ),
    ] = (),
    dimension: Annotated[
        str | Sequence[str] | Mapping[str, str] | None,
        Option(
            "the dimension that was rated (default: overall); for transfer also SET=NAME, which may be repeated",
            metavar="NAME",
            many="repeat",
        ),
    ] = None,
    folds: Annotated[
        int | str,
        Option(
            "number of folds, at least 2, that share no context, or 'published' for the data's own `split`",
            folds_number,
            metavar="K",
        ),
    ] = 5,
    folder: Annotated[
        str | Path | None,
        Option("keep each finished fit here; the same command continues where it stopped", path, metavar="FOLDER"),
    ] = None,
    allow_leakage: Annotated[
        str | None,
        Option(
            "test on contexts that were trained on, as a published split may require; the reason is printed with the "
            "result",
            text,
            metavar="REASON",
        ),
    ] = None,
    fractions: Annotated[
        Sequence[float] | None,
        Option(
            "label-amounts: shares of the labels, above 0 and at most 1 (default: 0.05 0.1 0.25 0.5 0.75 1)",
            several(number(above=0, most=1), "a list of shares"),
            metavar="F",
            many="+",
            group=_SOME,
        ),
    ] = None,
    counts: Annotated[
        Sequence[int] | None,
        Option(
            "low-resource: numbers of labels (default: 25 50 100 200 400, as far as every training set has more); "
            "label-amounts: numbers of labels in addition to the shares (default: none)",
            several(whole(1), "a list of numbers of labels"),
            metavar="N",
            many="+",
            group=_SOME,
        ),
    ] = None,
    seeds: Annotated[
        Sequence[int] | None,
        Option(
            "label-amounts and low-resource: random seeds of the samples (default: 0 1 2)",
            several(whole(0, HIGHEST_SEED), "a list of random seeds"),
            metavar="S",
            many="+",
            group=_SOME,
        ),
    ] = None,
    shared: Annotated[
        str | None,
        Option(
            "transfer: contexts that two sets share are an error (refuse, the default), or are dropped from training",
            choices=("refuse", "drop"),
            group=_SOME,
        ),
    ] = None,
    system_words: Annotated[
        int | None,
        Option(
            "leave-one-system-out: systems whose names start with the same N words count as one; with 2, 'mybot v1 "
            "greedy' and 'mybot v1 sample' are both 'mybot v1' (default: every name is a system)",
            whole(1),
            metavar="N",
            group=_SOME,
        ),
    ] = None,
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    seed: Seed = 0,
    resamples: Resamples = RESAMPLES,
    quiet: Quiet = True,
) -> Experiment:
    """How well evaluators agree with people on replies that they were not fitted on.

    `cross-validation` tests on new contexts, `leave-one-system-out` on new systems, `transfer` on other judged sets;
    `label-amounts` and `low-resource` fit on some of the labels. `evaluators` are given by name with parameters, or as
    objects that `load` returns; `dialogues` are files or dialogues, for `transfer` also {set: dialogues}, and
    `dimension` may then be {set: name}. With a `folder`, finished fits are kept, and an interrupted experiment
    continues from them.
    """
    given = {"fractions": fractions, "counts": counts, "seeds": seeds, "shared": shared, "system_words": system_words}
    own = {name: value for name, value in given.items() if value is not None}
    for name in own:
        if kind not in _OF_KINDS[name]:
            raise CallError(f"{name} is for {' and '.join(_OF_KINDS[name])}, not for {kind}")
    dimensions = _by_set("dimension", dimension, one=True)
    if kind != "transfer":
        if len(judged) != 1:
            raise CallError(f"{kind} needs a single judged set, found {len(judged)}")
        if isinstance(dimensions, Mapping):
            raise CallError(f"{kind} needs a single dimension, found {shortened(dimension)}")
    made, mapping = _evaluators(evaluators), FieldMap.given(fields)
    sets = [read_judged(each, fields=mapping, on_error=on_error) for each in judged]
    corpora, skipped = _dialogues(dialogues, on_error, by_set=kind == "transfer")
    _check_dialogues(made, corpora, labels_of([each.name for each in sets]))
    settings: dict[str, Any] = {"folds": folds, "seed": seed, "folder": folder, "allow_leakage": allow_leakage}
    settings |= {"resamples": resamples, "quiet": quiet, "dialogues": corpora, **own}
    if kind == "transfer":
        return _with(transfer(made, sets, dimensions, **settings), skipped)
    kinds = {
        "cross-validation": cross_validate,
        "leave-one-system-out": leave_one_system_out,
        "label-amounts": label_amounts,
        "low-resource": low_resource,
    }
    return _with(kinds[kind](made, sets[0], dimensions, **settings), skipped)


def _with(result: Experiment, skipped: Sequence[str]) -> Experiment:
    return replace(result, skipped=tuple(skipped))


def _evaluators(given: str | Evaluator | Sequence[str | Evaluator]) -> dict[str, Evaluator]:
    """Label -> evaluator; a label is the evaluator's name, or all that was given where several have that name."""
    listed: Any = [given] if isinstance(given, str | Evaluator) else given
    if isinstance(listed, bytes) or not isinstance(listed, Iterable):
        raise CallError(f"evaluators must be names, folders or evaluators, not {shortened(given)}")
    loaded: dict[str, Evaluator] = {}
    for one in listed:
        made = one
        if isinstance(one, str):
            name = one.partition("(")[0].strip()
            if name not in EVALUATORS and not Path(name).is_dir():
                raise UnknownNameError("evaluator to train:", name, EVALUATORS)
            made = load(one)
        if not isinstance(made, Evaluator):
            raise CallError(f"{shortened(one)} contains no evaluator: expected the folder of one")
        loaded[one if isinstance(one, str) else repr(one)] = made
    if not loaded:
        raise CallError("no evaluator is named: expected at least one")
    names = [made.name for made in loaded.values()]
    return {made.name if names.count(made.name) == 1 else spec: made for spec, made in loaded.items()}


def _dialogues(given: Any, on_error: OnError, *, by_set: bool) -> tuple[Any, list[str]]:
    """The dialogues to learn from, of all sets or by set, and what was left out."""
    reader = CorpusReader(on_error, None)
    sets = _by_set("dialogues", given) if by_set else None
    if isinstance(sets, Mapping):
        found: Any = {name: reader.dialogues(one) for name, one in sets.items()}
    else:
        found = reader.dialogues(given)
    return found, list(reader.skipped)


def _by_set(what: str, given: Any, *, one: bool = False) -> Any:
    """`SET=VALUE` texts as a mapping to all values of a set, or to the only one; anything else as it is."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(each, str) for each in given):
        return given
    found: dict[str, list[str]] = {}
    for each in given:
        name, sign, value = each.partition("=")
        found.setdefault(name if sign else "", []).append(value if sign else each)
    if "" in found:
        if one and len(given) > 1:
            raise CallError(f"expected one {what}, or SET=NAME for each judged set, found {', '.join(given)}")
        return given[0] if one else given
    if one and any(len(values) > 1 for values in found.values()):
        raise CallError(f"expected one {what} for each judged set, found {', '.join(given)}")
    return ({name: values[0] for name, values in found.items()} if one else found) if found else None if one else ()


def _check_dialogues(evaluators: Mapping[str, Evaluator], dialogues: Any, sets: Sequence[str]) -> None:
    """Raise a CallError if an evaluator learns from dialogues, and there are none."""
    needing = next((label for label, made in evaluators.items() if made.dialogues == "needed"), None)
    if needing is None:
        return
    if not dialogues:
        raise CallError(f"{needing} learns from dialogues: expected dialogues")
    if isinstance(dialogues, Mapping) and set(dialogues) < set(sets):
        missing = next(name for name in sets if name not in dialogues)
        raise CallError(f"{needing} learns from dialogues: expected dialogues of {missing} as well")

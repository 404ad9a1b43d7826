"""Every public function refuses wrong arguments at the call, with one line of the RejoinderError family.

A call is a function with arguments that work; each argument is then replaced by wrong values, one at a time.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rejoinder
from public_calls import CALLS, METHODS, Call
from rejoinder import RejoinderError
from rejoinder.registry import EVALUATORS, JUDGES, METRICS, REPLY_MODELS, metric_class, trainable_class
from running import Run
from wrong_values import (
    DIALOGUES,
    EXAMPLES,
)

LONGEST = 500
"""Characters of a message."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with an empty folder, a broken file and a reply model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "broken.jsonl").write_bytes(b"\x00\x01 {")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    rejoinder.train("bm25", DIALOGUES, output="bm25-folder")


def arguments_of(call: Call, argument: str, value: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that work with one of them replaced; of any number of origins, the last."""
    given = call.works | {argument: value}
    for name, parameter in inspect.signature(call.function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL and name in given:
            origins = list(call.works.get(name, [None]))
            del given[name]
            return [*origins[:-1], value] if name == argument else origins, given
    return [], given


def problem(call: Callable[[], object]) -> str:
    """What is wrong with a refusal; "" where it is one line of ours."""
    try:
        call()
    except RejoinderError as error:
        message = str(error)
        bad = not message or len(message) >= LONGEST or "\n" in message
        return f"a message of {len(message)} characters: {message[:100]}" if bad else ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "accepted"


CASES = [
    pytest.param(call, argument, values, id=f"{name}-{argument}")
    for name, call in (CALLS | METHODS).items()
    for argument, values in call.misuses()
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("call", "argument", "values"), CASES)
def test_a_wrong_argument_is_refused(call: Call, argument: str, values: list[Any]) -> None:
    problems = {}
    for value in values:
        origins, keywords = arguments_of(call, argument, value)
        if found := problem(partial(call.function, *origins, **keywords)):
            problems[shown(value)] = found
    assert not problems


def shown(value: object) -> str:
    return "a huge number" if isinstance(value, int) and abs(value) > 10**300 else repr(value)[:60]


def test_there_are_hundreds_of_misuses() -> None:
    assert sum(len(values) for call in (CALLS | METHODS).values() for _, values in call.misuses()) > 1000


@pytest.mark.parametrize("name", [name for name in rejoinder.__all__ if inspect.isfunction(getattr(rejoinder, name))])
def test_every_argument_of_a_public_function_is_tried(name: str) -> None:
    call = CALLS[name]
    tried = {argument for argument, _ in call.misuses()}
    assert set(inspect.signature(call.function).parameters) - call.not_tried == tried


@pytest.mark.parametrize("name", ["read", "score", "compare", "trust", "train", "generate", "distil", "calibrate"])
def test_every_function_that_reads_data_takes_fields(name: str) -> None:
    assert "fields" in inspect.signature(getattr(rejoinder, name)).parameters


REGISTERED = [*METRICS, *JUDGES, *EVALUATORS, *REPLY_MODELS]


@pytest.mark.parametrize("name", REGISTERED)
def test_wrong_parameters_of_everything_registered(name: str) -> None:
    cls = trainable_class(name) if name in EVALUATORS | REPLY_MODELS else metric_class(name)
    parameters = [field for field in dataclasses.fields(cls) if field.init]
    needed = {field.name: "x" for field in parameters if field.default is dataclasses.MISSING}
    for parameter in [field.name for field in parameters]:
        for value in (object(), b"x", {}, 10**400, 10**5000, math.nan):
            assert not problem(lambda: rejoinder.load(name, **needed | {parameter: value})), (parameter, shown(value))  # noqa: B023
            assert not problem(lambda: cls(**needed | {parameter: value})), (parameter, shown(value))  # noqa: B023


def test_what_numpy_and_callers_give_is_accepted() -> None:
    table = rejoinder.score(iter(EXAMPLES), iter(["length"]), seed=np.int64(3), resamples=np.int32(20))  # type: ignore[arg-type]
    assert type(table.seed) is int
    assert table.to_dict()["seed"] == 3
    renamed = [{"answer": "Yes.", "history": ["Tea?"]}]
    assert len(rejoinder.score(renamed, "length", fields={"response": "answer", "context": "history"})) == 1
    model = rejoinder.train("bm25", [{"said": turns} for turns in DIALOGUES], fields={"turns": "said"})
    assert model.fitted.dialogues == 3


def test_read_refuses_at_the_call_not_at_the_first_example() -> None:
    with pytest.raises(RejoinderError, match=r"^on_error must be 'raise' or 'skip', not 'ignore'$"):
        rejoinder.read(EXAMPLES, on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(RejoinderError, match=r"^missing\.jsonl: no such file$"):
        rejoinder.read("missing.jsonl")


@pytest.mark.parametrize(
    ("option", "given", "keywords"),
    [
        ("--seed", "-1", {"seed": -1}),
        ("--seed", "1.5", {"seed": 1.5}),
        ("--seed", 2**32, {"seed": 2**32}),
        ("--resamples", 0, {"resamples": 0}),
        ("--resamples", 10**9, {"resamples": 10**9}),
        ("--field", "contxt=x", {"fields": {"contxt": "x"}}),
        ("--metric", "bleuu", {"metrics": ["bleuu"]}),
        ("--pair-by", "", {"pair_by": ""}),
    ],
)
def test_the_command_line_has_the_same_words(run: Run, demo: Path, option: str, given: Any, keywords: Any) -> None:
    with pytest.raises(RejoinderError) as caught:
        rejoinder.compare(demo, **keywords)
    words = str(caught.value).partition(", not ")[0]
    ran = run("compare", demo, option, given)
    assert ran.code == 2
    assert words.removeprefix(f"{next(iter(keywords))} ") in ran.err

"""Options made from dataclass fields: names, types, defaults and help are those of the fields."""

from __future__ import annotations

import argparse
import dataclasses
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pytest

from rejoinder.cli.parameters import add_fields, given_fields
from rejoinder.registry import RECOMMENDED, TRAINABLE, trainable_class, trainable_names

if TYPE_CHECKING:
    from collections import OrderedDict

    from running import Run


@dataclasses.dataclass(frozen=True, kw_only=True)
class Base:
    """What both share."""

    name: ClassVar[str] = "model"

    turns: int = 40
    """How many turns are read. The first are left out."""
    rate: float = 1e-3
    """Learning rate, 50% of it at `first`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Model(Base):
    """A model with a parameter of every type."""

    turns: int = 3
    encoder: str
    """ADEM's encoder."""
    limit: int | None = 5
    """Most words."""
    scale: tuple[float, float] | None = None
    """Lowest and highest score; by default those that were given."""
    members: tuple[str, ...] = ("a", "b")
    mean: Literal["max", "min"] = "max"
    lowercase: bool = True
    """Whether case is ignored."""
    learned_: OrderedDict[str, int] = dataclasses.field(init=False, repr=False, compare=False)


def helps_of(cls: type[Any]) -> dict[str, str]:
    """Parameter -> the help of its option."""
    parser = argparse.ArgumentParser(add_help=False)
    add_fields(parser, cls)
    return {action.dest.partition(":")[2]: str(action.help) for action in parser._actions}


def parsed(*arguments: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    add_fields(parser, Model)
    return given_fields(parser.parse_args(arguments))


def test_only_what_is_given_is_passed_on() -> None:
    assert parsed("--encoder", "bert") == {"encoder": "bert"}
    assert Model(**parsed("--encoder", "bert")) == Model(encoder="bert")


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (("--turns", "7"), {"turns": 7}),
        (("--rate", "1e-4"), {"rate": 1e-4}),
        (("--limit", "none"), {"limit": None}),
        (("--limit", "9"), {"limit": 9}),
        (("--scale", "-1", "5"), {"scale": (-1.0, 5.0)}),
        (("--members", "x", "y", "--members", "z"), {"members": ("x", "y", "z")}),
        (("--mean", "min"), {"mean": "min"}),
        (("--no-lowercase",), {"lowercase": False}),
    ],
)
def test_every_type(arguments: tuple[str, ...], value: dict[str, Any]) -> None:
    assert parsed("--encoder", "bert", *arguments) == {"encoder": "bert", **value}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "the following arguments are required: --encoder"),
        (("--turns", "two"), "argument --turns: must be a whole number, not 'two'"),
        (("--turns", "none"), "argument --turns: must be a whole number, not 'none'"),
        (("--rate", "fast"), "argument --rate: must be a number, not 'fast'"),
        (("--scale", "1"), "argument --scale: expected 2 arguments"),
        (("--mean", "mid"), "argument --mean: invalid choice: 'mid'"),
    ],
)
def test_wrong_values(arguments: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(*arguments)
    assert problem in capsys.readouterr().err


def test_help_is_the_first_sentence_with_the_default() -> None:
    helps = helps_of(Model)
    assert next(iter(helps)) == "encoder"
    assert helps == {
        "encoder": "ADEM's encoder",
        "turns": "how many turns are read (default: 3)",
        "rate": "learning rate, 50%% of it at first (default: 0.001)",
        "limit": "most words (default: 5)",
        "scale": "lowest and highest score; by default those that were given",
        "members": "(default: a b)",
        "mean": "(default: max)",
        "lowercase": "whether case is ignored (default: yes)",
    }


def test_everything_that_can_be_trained_has_a_verb() -> None:
    named = [name for purposes in TRAINABLE.values() for name in purposes]
    assert sorted(named) == sorted(trainable_names())


def test_groups_say_what_evaluators_learn_from() -> None:
    learns: dict[str, Callable[[Any], bool]] = {
        "dialogues, with or without human ratings": lambda cls: (
            cls.labels == "optional" and cls.dialogues in ("needed", "optional")
        ),
        "rated replies": lambda cls: cls.labels == "needed",
        "dialogues alone": lambda cls: cls.labels == "unused" and cls.dialogues in ("needed", "optional"),
    }
    evaluators = {group: purposes for group, purposes in TRAINABLE.items() if group.startswith("evaluators that learn")}
    assert {group.removeprefix("evaluators that learn from ") for group in evaluators} == learns.keys()
    for group, purposes in evaluators.items():
        for name in purposes:
            assert learns[group.removeprefix("evaluators that learn from ")](trainable_class(name)), name


def test_one_is_recommended(run: Run) -> None:
    assert RECOMMENDED in trainable_names()
    assert f"If in doubt, train an {RECOMMENDED}:" in run("train", "--help").out


@pytest.mark.parametrize("name", trainable_names())
def test_every_parameter_of_every_model_is_documented(name: str) -> None:
    helps = helps_of(trainable_class(name))
    assert [parameter for parameter, text in helps.items() if not text.partition("(default")[0]] == []


@pytest.mark.parametrize("group", TRAINABLE)
def test_each_group_is_in_the_help(run: Run, group: str) -> None:
    shown = " ".join(run("train", "--help").out.split())
    for name, purpose in TRAINABLE[group].items():
        assert f"{name} {purpose}" in shown


def test_the_help_of_one_model_imports_no_torch() -> None:
    script = """
import contextlib, io, sys
from rejoinder.cli import main
for name in ("ruber", "encoder", "hred", "adem"):
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        main(["train", name, "--help"])
    assert "--output" in said.getvalue()
print(sorted({"torch", "transformers", "onnxruntime"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"

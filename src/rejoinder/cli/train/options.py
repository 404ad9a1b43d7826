"""Command-line options made from the fields of a dataclass.

A field `learning_rate: float = 0.01` becomes `--learning-rate N`. The string literal that follows a field is its
documentation, and the first sentence of it is the option's help. Defaults stay in the dataclass: an option that is
not given is not passed on.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from rejoinder.specs import alternatives, field_types

_PREFIX = "parameter:"
"""Prefix that separates parameters from the shared options in the parsed arguments."""
_COMMON_START = re.compile(r"(?!Hugging Face)[A-Z][a-z ]")
"""A capital at the start of a sentence that does not belong to a proper name or a symbol (AM, N-grams)."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A field that the constructor takes."""

    name: str
    kind: Any
    """Its type, without None."""
    optional: bool
    """Whether it may be None."""
    default: Any
    """`dataclasses.MISSING` where there is none."""
    help: str

    @property
    def option(self) -> str:
        """The name on the command line."""
        return f"--{self.name.replace('_', '-')}"


def parameters_of(cls: type[Any]) -> tuple[Parameter, ...]:
    """The parameters of a dataclass in the order of its fields, those without a default first."""
    types, docs = field_types(cls), _field_docs(cls)
    found = []
    for field in dataclasses.fields(cls):
        if field.init:
            kinds = alternatives(types[field.name])
            kind = next(kind for kind in kinds if kind is not NoneType)
            help_text = _help(docs.get(field.name, ""), field.default)
            found.append(Parameter(field.name, kind, NoneType in kinds, field.default, help_text))
    return tuple(sorted(found, key=lambda parameter: parameter.default is not dataclasses.MISSING))


def add_parameters(parser: argparse.ArgumentParser, cls: type[Any], *, may_be_set: bool = False) -> None:
    """An option for each parameter. One without a default is required, unless another option may set it."""
    group = parser.add_argument_group(f"parameters of {cls.name}")
    for parameter in parameters_of(cls):
        required = parameter.default is dataclasses.MISSING and not may_be_set
        group.add_argument(
            parameter.option,
            dest=_PREFIX + parameter.name,
            default=argparse.SUPPRESS,
            required=required,
            help=parameter.help,
            **_parsing(parameter),
        )


def given_parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """The parameters that were given on the command line."""
    return {
        name.removeprefix(_PREFIX): tuple(value) if isinstance(value, list) else value
        for name, value in vars(arguments).items()
        if name.startswith(_PREFIX)
    }


def _parsing(parameter: Parameter) -> dict[str, Any]:
    """How argparse reads a parameter's value."""
    if parameter.kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    if get_origin(parameter.kind) is Literal:
        return {"choices": get_args(parameter.kind)}
    if get_origin(parameter.kind) is tuple:
        item, *others = get_args(parameter.kind)
        number, metavar = _reader(item, optional=False), _metavar(item, parameter.name)
        if others == [...]:
            return {"action": "extend", "nargs": "+", "type": number, "metavar": metavar}
        count = 1 + len(others)
        return {"nargs": count, "type": number, "metavar": (metavar,) * count}
    reader = _reader(parameter.kind, optional=parameter.optional)
    return {"type": reader, "metavar": _metavar(parameter.kind, parameter.name)}


def _metavar(kind: Any, name: str) -> str:
    return "N" if kind in {int, float} else name.upper()


def _reader(kind: Any, *, optional: bool) -> Callable[[str], Any]:
    """From an option's text to its value; argparse shows the error where it cannot be read."""
    if kind not in {int, float}:
        return str
    expected = "a whole number" if kind is int else "a number"

    def read(text: str) -> Any:
        if optional and text.lower() == "none":
            return None
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {expected}, not {text!r}") from None

    return read


def _help(documentation: str, default: Any) -> str:
    """The first sentence, as help texts are written, with the default where that is a value."""
    text = _SENTENCE_END.split(" ".join(documentation.split()))[0].removesuffix(".").replace("`", "")
    if _COMMON_START.match(text):
        text = text[0].lower() + text[1:]
    if default is not dataclasses.MISSING and default is not None:
        text = f"{text} (default: {_shown(default)})".strip()
    return text.replace("%", "%%")


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    if isinstance(default, tuple):
        return " ".join(map(str, default)) or "none"
    return f"{default:g}" if isinstance(default, float) else str(default)


def _field_docs(cls: type[Any]) -> dict[str, str]:
    """Field -> the string literal after it; a field redeclared without one keeps the inherited one."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if dataclasses.is_dataclass(base):
            docs |= _own_field_docs(base)
    return docs


@cache
def _own_field_docs(cls: type[Any]) -> dict[str, str]:
    definition = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    return {
        field.target.id: after.value.value
        for field, after in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
    }

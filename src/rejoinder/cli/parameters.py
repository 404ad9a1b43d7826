"""Options of the command line, made from the parameters of functions and the fields of dataclasses.

A parameter `resamples: Resamples = 1000` becomes `--resamples N`, a field `learning_rate: float = 0.01` becomes
`--learning-rate N`. Types, checks, help and defaults are those of the parameter. A field's help is the first sentence
of the string literal that follows it.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import importlib
import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from types import NoneType
from typing import Any, get_args, get_origin

from rejoinder.options import Option, Parameter, alternatives

EMPTY = inspect.Parameter.empty
_COMMON_START = re.compile(r"(?!Hugging Face)[A-Z][a-z ]")
"""A capital at the start of a sentence that does not belong to a proper name or a symbol (AM, N-grams)."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
_LONGEST_NUMBER = 100  # Python refuses to read numbers of thousands of digits
_PREFIX = "parameter:"
"""Separates the fields of a dataclass from other options in the parsed arguments."""


def add_parameters(parser: argparse.ArgumentParser, parameters: Iterable[Parameter]) -> None:
    """The options of a function, under their headings."""
    groups: dict[str, Any] = {"": parser}
    alternatives: dict[str, Any] = {}
    for each in parameters:
        for part in (each.option.parts or (each.option,)) if each.option.shown else ():
            if part.group not in groups:
                groups[part.group] = parser.add_argument_group(part.group)
            where = groups[part.group]
            if part.alternative:
                if part.alternative not in alternatives:
                    alternatives[part.alternative] = where.add_mutually_exclusive_group(required=part.required)
                where = alternatives[part.alternative]
            _add(where, each, part)


def _dest(parameter: Parameter, part: Option) -> str:
    return part.name.strip("-").replace("-", "_") if parameter.option.parts else parameter.name


def is_positional(parameter: Parameter) -> bool:
    """Whether the command line takes it without a name."""
    named = parameter.option.name.startswith("--") or bool(parameter.option.parts)
    return parameter.kind not in {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD} and not named


def option_names(parameter: Parameter, part: Option) -> list[str]:
    """The short name and the long one."""
    long = part.name if part.name.startswith("--") else f"--{(part.name or parameter.name).replace('_', '-')}"
    return [part.short, long] if part.short else [long]


def _add(group: Any, parameter: Parameter, part: Option) -> None:
    default = parameter.default if not parameter.option.parts else None
    has_value = default is not EMPTY and default is not None and default != ()
    help_text = part.help
    if has_value and default is not False and "(default" not in help_text:
        help_text = f"{help_text} (default: {_shown(default)})".strip()
    given: dict[str, Any] = {"help": help_text.replace("%", "%%"), **_parsing(parameter, part)}
    if is_positional(parameter):
        nargs = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else None if parameter.required else "?"
        nargs = part.many or nargs
        given |= {"nargs": nargs} if nargs else {}
        metavar = part.metavar or part.name or (None if "choices" in given else parameter.name)
        group.add_argument(parameter.name, **given | {"metavar": metavar})
        return
    if ("choices" not in given and "action" not in given | {"nargs": 0}) or part.many == "repeat":
        given["metavar"] = part.metavar or _metavar(parameter)
    required = (part.required and not part.alternative) or (parameter.required and not parameter.option.parts)
    dest = _dest(parameter, part)
    given |= {"dest": dest, "default": default if has_value else None}
    if given.get("action") == "store_true" and not parameter.option.parts:
        given["default"] = False
    group.add_argument(*option_names(parameter, part), required=required, **given)
    renamed = _RenamedMany if given.get("action") == "append" else _RenamedOne
    for old in part.old:
        hidden = {"help": argparse.SUPPRESS, "action": renamed, "metavar": option_names(parameter, part)[-1]}
        group.add_argument(old, **given | hidden)


class _Renamed(argparse.Action):
    """A former name of an option, which still works; its metavar is the present name."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        text = f"{option_string} is now {self.metavar}; the old name goes with version 0.3"
        warnings.warn(text, FutureWarning, stacklevel=2)
        super().__call__(parser, namespace, values, option_string)


class _RenamedOne(_Renamed, argparse._StoreAction):
    """Stores one value."""


class _RenamedMany(_Renamed, argparse._AppendAction):
    """May be repeated."""


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    if isinstance(default, tuple):
        return " ".join(map(str, default)) or "none"
    return f"{default:g}" if isinstance(default, float) else str(default)


def _metavar(parameter: Parameter) -> str:
    return "N" if {int, float} & set(parameter.types) else parameter.name.upper()


def _parsing(parameter: Parameter, part: Option) -> dict[str, Any]:
    """How argparse reads the values."""
    several: dict[str, Any] = {"": {}, "repeat": {"action": "append"}, "+": {"nargs": "+"}, "*": {"nargs": "*"}}[
        part.many
    ]
    if parameter.option.parts:
        if part.takes is bool:
            return {"action": "store_true"}
        if part.choices:
            return {"choices": part.choices, **several}
        return several if part.takes is str else {"type": _number(part.takes), **several}
    if parameter.types == (bool,):
        return {"action": "store_true"} if parameter.default is False else {"action": argparse.BooleanOptionalAction}
    if parameter.choices:
        return {"choices": parameter.choices, **several}
    if part.const is not None:
        several = {"nargs": "?", "const": part.const}
    fixed = next((get_args(kind) for kind in parameter.types if get_origin(kind) is tuple), ())
    if fixed and fixed[-1] is not Ellipsis:
        return {"nargs": len(fixed), "type": _number(fixed[0])}
    numbers = {int, float} & {item for kind in parameter.types for item in (kind, *get_args(kind))}
    if numbers:
        several["type"] = _number(float if float in numbers else int)
    return several


def _number(kind: type) -> Callable[[str], Any]:
    """From an option's text to a number; what is none is left to the check of the function, which says so."""

    def read(text: str) -> Any:
        try:
            return kind(text) if len(text) < _LONGEST_NUMBER else text
        except ValueError:
            return text

    return read


def arguments_of(parameters: Iterable[Parameter], arguments: argparse.Namespace) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, positional and named, as they were given on the command line."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for each in parameters:
        if not each.option.shown:
            continue
        value = _given(each, arguments)
        if each.kind is inspect.Parameter.VAR_POSITIONAL:
            positional.extend(value or ())
        elif each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            positional.append(value if value is not None or each.required else each.default)
        elif each.kind is inspect.Parameter.VAR_KEYWORD:
            named |= value or {}
        elif value is not None:
            named[each.name] = value
    return positional, named


def _given(parameter: Parameter, arguments: argparse.Namespace) -> Any:
    option = parameter.option
    values = [getattr(arguments, _dest(parameter, part)) for part in option.parts or (option,)]
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL or values.count(None) == len(values):
        return values[0]
    if option.read:
        return located(option.read)(*values) if isinstance(option.read, str) else option.read(*values)
    (value,) = values
    return tuple(value) if isinstance(value, list) else value


def located(place: str) -> Any:
    """The function at a place, such as `scoring.check:check`."""
    module, _, path = place.partition(":")
    found: Any = importlib.import_module(f"rejoinder.{module}")
    for name in path.split("."):
        found = getattr(found, name)
    return found


# The fields of a dataclass. Defaults stay in the dataclass: an option that is not given is not passed on.


def fields_of(cls: type[Any]) -> tuple[Parameter, ...]:
    """The parameters of a dataclass in the order of its fields, those without a default first."""
    from rejoinder.specs import field_types

    types, docs = field_types(cls), _field_docs(cls)
    found = []
    for field in dataclasses.fields(cls):
        if field.init:
            kinds = alternatives(types[field.name])
            known = tuple(kind for kind in kinds if kind is not NoneType)
            default = EMPTY if field.default is dataclasses.MISSING else field.default
            option = Option(_as_help(docs.get(field.name, "")))
            found.append(Parameter(field.name, known, NoneType in kinds, default, option))
    return tuple(sorted(found, key=lambda parameter: parameter.default is not EMPTY))


def add_fields(parser: argparse.ArgumentParser, cls: type[Any], *, may_be_set: bool = False) -> None:
    """An option for each field. One without a default is required, unless another option may set it."""
    group = parser.add_argument_group(f"parameters of {cls.name}")
    for each in fields_of(cls):
        text = each.option.help
        if each.default is not EMPTY and each.default is not None:
            text = f"{text} (default: {_shown(each.default)})".strip()
        group.add_argument(
            *option_names(each, each.option),
            dest=_PREFIX + each.name,
            default=argparse.SUPPRESS,
            required=each.required and not may_be_set,
            help=text.replace("%", "%%"),
            **_field_parsing(each),
        )


def given_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields that were given on the command line."""
    return {
        name.removeprefix(_PREFIX): tuple(value) if isinstance(value, list) else value
        for name, value in vars(arguments).items()
        if name.startswith(_PREFIX)
    }


def _field_parsing(parameter: Parameter) -> dict[str, Any]:
    """How argparse reads a field's value."""
    kind = parameter.types[0]
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    if parameter.choices:
        return {"choices": parameter.choices}
    if get_origin(kind) is tuple:
        item, *others = get_args(kind)
        metavar = "N" if item in {int, float} else parameter.name.upper()
        if others == [...]:
            return {"action": "extend", "nargs": "+", "type": _reader(item), "metavar": metavar}
        count = 1 + len(others)
        return {"nargs": count, "type": _reader(item), "metavar": (metavar,) * count}
    return {"type": _reader(kind, optional=parameter.may_be_none), "metavar": _metavar(parameter)}


def _reader(kind: Any, *, optional: bool = False) -> Callable[[str], Any]:
    """From an option's text to a field's value; argparse shows the error where it cannot be read."""
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


def _as_help(documentation: str) -> str:
    """The first sentence, as help texts are written."""
    text = _SENTENCE_END.split(" ".join(documentation.split()))[0].removesuffix(".").replace("`", "")
    return text[0].lower() + text[1:] if _COMMON_START.match(text) else text


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
    return dict(_documented(body))


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, after in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield field.target.id, text

"""The grammar of metric names: a name, and its parameters in parentheses.

    bleu
    bleu(n=2, smooth=exp)
    ensemble(members=[default, bleu(n=2), 'my models/first, best'], weights=(2, 1, 1))

A value is a number, `true`, `false`, `none`, text, a list `[...]`, a tuple `(...)`, or another name with parameters,
which is read as its text: `by=bleu(n=2)` means the same as `by='bleu(n=2)'`. Text needs quotes where it contains one
of , = ( ) [ ] ' " or would be read as something else. Escapes within quotes: \\ \' \" \n \t.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NoReturn, Self, get_args, get_origin, get_type_hints

from rejoinder.errors import CallError, UnknownNameError, shortened, without_secrets
from rejoinder.options import Unknown, alternatives

DEEPEST = 20
"""Levels of brackets; deeper nesting is an error."""
MOST_DIGITS = 300
"""Characters of a number; more than that is an error."""

_SPECIAL = r""",=()\[\]'\""""
_NAME = re.compile(rf"[^\s{_SPECIAL}]+")
_BARE = re.compile(rf"[^{_SPECIAL}]*")
_KEY = re.compile(r"[A-Za-z_]\w*")
_SPACE = re.compile(r"\s*")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf|nan")
_WORDS = {"true": True, "false": False, "none": None}
_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t"}
_ESCAPED = str.maketrans({"\\": r"\\", "'": r"\'", "\n": r"\n", "\t": r"\t"})
_CONTEXT = 30  # characters of a long text that a message shows before and after the position


def parse_spec(text: str) -> tuple[str, dict[str, Any]]:
    """'bleu(n=2, smooth=exp)' -> ('bleu', {'n': 2, 'smooth': 'exp'}); a CallError if it cannot be read."""
    if _NAME.fullmatch(text):
        return text, {}
    reader = _SpecReader(text)
    call = reader.call(reader.name())
    if reader.at < len(text):
        reader.expect("the end" if text[: reader.at].endswith(")") else "( or the end")
    return call.name, {key: _plain(value) for key, value in call.parameters.items()}


def format_spec(name: str, parameters: Mapping[str, Any]) -> str:
    """The text that `parse_spec` reads as this name with these parameters."""
    if not name:
        raise CallError("a metric needs a name: expected one that is not empty")
    text = _formatted_call(name, parameters)
    parse_spec(text)  # a CallError where it is nested too deeply, or a number is too long
    return text


def spec_of_table(table: Mapping[str, Any]) -> str:
    """{'metric': 'bleu', 'n': 2} -> 'bleu(n=2)': a metric within a parameter, as TOML and Python may write it."""
    name = table.get("metric")
    if not isinstance(name, str):
        raise CallError(f"expected a table with the name of a metric, such as {{metric = 'bleu'}}, not {dict(table)!r}")
    inner, given = parse_spec(name)
    return format_spec(inner, given | {key: value for key, value in table.items() if key != "metric"})


@dataclass(frozen=True)
class _Call:
    """A name with parameters, as it was read."""

    name: str
    parameters: Mapping[str, Any]


class _SpecReader:
    """Reads a text from left to right; `at` is the position of the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._depth = 0

    def expect(self, expected: str, hint: str = "") -> NoReturn:
        """Raise a CallError that says what was expected here, and what is here instead."""
        found = repr(self._next()) if self._next() else "the end"
        self.fail(f"expected {expected}, found {found}{hint}", self.at)

    def fail(self, problem: str, at: int) -> NoReturn:
        """Raise a CallError with the position, counted from 1."""
        first, last = max(0, at - _CONTEXT), at + _CONTEXT
        shown = without_secrets(self.text)[first:last]
        shown = f"{'...' if first else ''}{shown}{'...' if last < len(self.text) else ''}"
        place = f" at position {at + 1}" if self.text.strip() else ""
        raise CallError(f"cannot read {shown!r}{place}: {problem}")

    def name(self) -> str:
        """The name at the beginning of a spec."""
        self._skip_space()
        matched = _NAME.match(self.text, self.at)
        if self._next() in {"'", '"'}:
            name = self._quoted()
        elif matched:
            name, self.at = matched[0], matched.end()
        else:
            self.expect("a name, or a name with parameters such as bleu(n=2)")
        self._skip_space()
        return name

    def call(self, name: str) -> _Call:
        """The parameters that follow a name, if there are any."""
        if not name:
            self.fail("a name must not be empty", self.at - 1)
        parameters: dict[str, Any] = {}
        if self._next() != "(":
            return _Call(name, parameters)
        self._open()
        while self._next() != ")":
            key = _KEY.match(self.text, self.at)
            if not key:
                self.expect("a parameter such as n=2")
            if key[0] in parameters:
                self.fail(f"the parameter {key[0]!r} is given twice", self.at)
            self.at = key.end()
            self._skip_space()
            if self._next() != "=":
                self.expect(f"= after {key[0]!r}")
            self._advance()
            parameters[key[0]] = "" if self._next() in {",", ")"} else self._value()
            self._separate(")")
        self._close()
        return _Call(name, parameters)

    def _value(self) -> Any:
        opening = self._next()
        if opening == "[":
            return self._items("]")
        if opening == "(":
            return tuple(self._items(")"))
        if opening in {"'", '"'}:
            text: Any = self._quoted()
            self._skip_space()
            return self.call(text) if self._next() == "(" else text
        matched = _BARE.match(self.text, self.at)
        text = matched[0].strip() if matched else ""
        if not text:
            self.expect("a value")
        start, self.at = self.at, self.at + len(text)
        self._skip_space()
        if self._next() != "(":
            return self._literal(text, start)
        if not _NAME.fullmatch(text):
            self.fail("a name before ( must not contain spaces; text that contains ( needs quotes", start)
        return self.call(text)

    def _items(self, closing: str) -> list[Any]:
        items: list[Any] = []
        self._open()
        while self._next() != closing:
            items.append(self._value())
            self._separate(closing)
        self._close()
        return items

    def _separate(self, closing: str) -> None:
        """Pass a comma; what closes the list stays."""
        self._skip_space()
        if self._next() == ",":
            self._advance()
        elif self._next() != closing:
            hint = "; text that contains it needs quotes" if self._next() in set("=([])'\"") else ""
            self.expect(f", or {closing}", hint)

    def _quoted(self) -> str:
        quote, start = self._next(), self.at
        parts: list[str] = []
        self.at += 1
        while self._next() != quote:
            if not self._next():
                self.fail(f"the quote {quote} is never closed", start)
            if self._next() == "\\":
                self.at += 1
                if self._next() not in _ESCAPES:
                    self.expect("one of \\ ' \" n t after a backslash in quotes", r"; write \\ for a backslash")
                parts.append(_ESCAPES[self._next()])
            else:
                parts.append(self._next())
            self.at += 1
        self.at += 1
        return "".join(parts)

    def _literal(self, text: str, start: int) -> Any:
        value = _literal(text)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and (len(text) > MOST_DIGITS or (math.isinf(value) and not text.endswith("inf"))):
            self.fail("the number is too large", start)
        return value

    def _open(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            self.fail(f"more than {DEEPEST} levels of brackets", self.at)
        self._advance()

    def _close(self) -> None:
        self._depth -= 1
        self._advance()

    def _advance(self) -> None:
        """Pass one character and the white space after it."""
        self.at += 1
        self._skip_space()

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip_space(self) -> None:
        matched = _SPACE.match(self.text, self.at)
        self.at = matched.end() if matched else self.at


def _literal(text: str) -> Any:
    """The value of unquoted text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= MOST_DIGITS else math.inf
    return float(text) if _FLOAT.fullmatch(text) else text


def _plain(value: Any) -> Any:
    """The same value with every nested call as its text."""
    if isinstance(value, _Call):
        return _formatted_call(value.name, value.parameters)
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    return value


def _formatted_call(name: str, parameters: Mapping[str, Any]) -> str:
    shown = name if _NAME.fullmatch(name) else _in_quotes(name)
    given = ", ".join(f"{_checked_key(key)}={_formatted(value)}" for key, value in parameters.items())
    return f"{shown}({given})" if given else shown


def _formatted(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, str):
        return _formatted_text(value)
    if isinstance(value, _Call):
        return _formatted_call(value.name, value.parameters)
    if isinstance(value, Mapping):
        return spec_of_table(value)
    if isinstance(value, list | tuple):
        return _formatted_items(value)
    raise CallError(
        f"{type(value).__name__} cannot be part of a metric's name: expected numbers, text, and lists of them"
    )


def _formatted_items(items: Sequence[Any]) -> str:
    inner = ", ".join(map(_formatted, items))
    if isinstance(items, tuple):
        return f"({inner},)" if len(items) == 1 else f"({inner})"
    return f"[{inner}]"


def _formatted_text(text: str) -> str:
    """Without quotes where it is read back as the same text."""
    bare = _BARE.fullmatch(text) and text == text.strip() and text.isprintable() and text
    if bare and isinstance(_literal(text), str):
        return text
    return text if _is_formatted_call(text) else _in_quotes(text)


def _is_formatted_call(text: str) -> bool:
    """Whether the text is a name with parameters, written as `format_spec` writes it, and not deeply nested."""
    if not text.endswith(")") or not text.isprintable() or text.count("(") + text.count("[") > DEEPEST // 4:
        return False
    try:
        name, parameters = parse_spec(text)
    except CallError:
        return False
    return bool(parameters) and _formatted_call(name, parameters) == text


def _in_quotes(text: str) -> str:
    return f"'{text.translate(_ESCAPED)}'"


def _checked_key(key: str) -> str:
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise CallError(f"{key!r} cannot be the name of a parameter: expected letters, digits and _")
    return key


# An instance of a dataclass from named parameters, with errors that a user can act on.
#
# Values come from Python, from TOML and from the command line; what those cannot express is converted: a list becomes a
# tuple, a table that names a metric becomes its text, and `none` is text where a parameter takes text but not None.


_PLAIN: dict[Any, tuple[type[Any], str]] = {
    bool: (bool, "true or false"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "text"),
    type(None): (type(None), "none"),
}
"""Type of a parameter -> what is accepted for it, and what to call it."""


def instance(name: str, cls: type[Any], preset: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
    """An instance of the class registered as `name`; the error for an unknown parameter suggests similar names."""
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise CallError(f"{name} is not a metric: {cls!r} is not a dataclass")
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    hints = field_types(cls)
    given = dict(preset)
    for key, value in parameters.items():
        if key not in fields:
            raise UnknownNameError(f"parameter of {name}:", key, fields)
        hint = hints.get(key, Any)
        given[key] = converted(value, hint)
        check_type(f"{name}: {key}", given[key], hint)
    for key, field in fields.items():
        if key not in given and field.default is field.default_factory is dataclasses.MISSING:
            raise CallError(f"{name} needs a value for {key}: {name}({key}=...)")
    return cls(**given)


class NearNames:
    """A class whose parameters are named: one that does not exist is an error with the near names."""

    def __new__(cls, *_: Any, **parameters: Any) -> Self:
        """An instance, after the names have been checked; a class that is no dataclass may take any."""
        made: Any = cls
        if dataclasses.is_dataclass(made):
            known = [field.name for field in dataclasses.fields(made) if field.init]
            for name in parameters:
                if name not in known:
                    raise UnknownNameError(f"parameter of {getattr(cls, 'name', cls.__name__)}:", name, known)
        return super().__new__(cls)


def check_fields(made: Any) -> None:
    """Convert and check the parameters of an instance that was made by calling its class, as `instance` does."""
    hints = field_types(type(made))
    for field in dataclasses.fields(made):
        if field.init:
            given, hint = getattr(made, field.name), hints.get(field.name, Any)
            value = converted(given, hint)
            check_type(f"{made.name}: {field.name}", value, hint)
            if value is not given:
                object.__setattr__(made, field.name, value)  # it is frozen


def field_types(cls: type[Any]) -> dict[str, Any]:
    """The type of each field of a dataclass."""
    unknown: dict[str, Any] = {}
    while cls not in _FIELD_TYPES:
        try:
            _FIELD_TYPES[cls] = get_type_hints(cls, localns=unknown)
        except NameError as error:
            unknown[error.name or ""] = Unknown
    return _FIELD_TYPES[cls]


_FIELD_TYPES: dict[type[Any], dict[str, Any]] = {}


def converted(value: Any, hint: Any) -> Any:
    """A value with what JSON, TOML and the command line cannot express converted, for a parameter of this type."""
    kinds = alternatives(hint)
    if value is None and str in kinds and type(None) not in kinds:
        return "none"
    if isinstance(value, Mapping) and "metric" in value:
        return spec_of_table(value)
    if type(value) in {list, tuple} and not any(get_origin(kind) is list for kind in kinds):
        return tuple(converted(item, Any) for item in value)
    return value


def check_type(what: str, value: Any, hint: Any) -> None:
    """Raise a CallError if a value does not have the parameter's type; types unknown here accept any value."""
    if isinstance(value, Integral) and abs(int(value)) >= 2**63:  # more than arrays can hold
        raise CallError(f"{what} must be a number of less than 19 digits, not {shortened(value)}")
    kinds = alternatives(hint)
    lists = [kind for kind in kinds if get_origin(kind) is tuple]
    if lists and isinstance(value, tuple):
        items = get_args(lists[0])
        if items[-1] is Ellipsis:
            items = items[:1] * len(value)
        if len(items) != len(value):
            raise CallError(f"{what} must be a list of {len(items)}, not {shortened(value)}")
        for number, (item, kind) in enumerate(zip(value, items, strict=True)):
            check_type(f"{what}[{number}]", item, kind)
    elif not any(_fits(value, kind) for kind in kinds):
        expected = " or ".join(_called(kind) for kind in kinds if kind is not type(None))
        brackets = " (in brackets: [a, b])" if lists and isinstance(value, str) else ""
        raise CallError(f"{what} must be {expected}{brackets}, not {shortened(value)}")


def _fits(value: Any, kind: Any) -> bool:
    if kind in _PLAIN:
        return isinstance(value, _PLAIN[kind][0]) and (kind is bool or not isinstance(value, bool))
    if get_origin(kind) is not None:
        return get_origin(kind) is not tuple  # a tuple was looked at item by item
    if not isinstance(kind, type) or kind in {Any, Unknown} or getattr(kind, "_is_protocol", False):
        return True
    return isinstance(value, kind)


def _called(kind: Any) -> str:
    if kind in _PLAIN:
        return _PLAIN[kind][1]
    return "a list" if get_origin(kind) is tuple else f"a {getattr(kind, '__name__', kind)}"

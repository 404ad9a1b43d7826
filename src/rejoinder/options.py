"""Checks of the arguments that public functions and commands share.

A function that is `@checked()` raises a CallError at the call, before it does anything, where an argument has the wrong
type or is out of range. An argument of one name means the same in every function (`SHARED`); what only one function
takes is given to its decorator: `@checked(contexts=whole(1))`. The command line uses the same checks for its options,
so that the words are the same.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from numbers import Integral, Real
from typing import Any, ClassVar, ParamSpec, Protocol, TypeVar

from rejoinder.errors import CallError, shortened

HIGHEST_SEED = 2**32 - 1
"""The highest seed that every random number generator accepts: numpy's legacy one has the lowest limit."""
MOST_RESAMPLES = 100_000
"""With more, the ends of an interval would change by less than the digits that are shown."""

MOST_JOBS = 1024
"""Processes of one machine; a higher number is a mistake."""

_LARGEST_NUMBER = 1e15
"""Larger ones lose digits, and their squares overflow in sums."""

P = ParamSpec("P")
R = TypeVar("R")
Check = Callable[[Any], Any]
"""Gives the value, converted; a ValueError that says what was expected where the value does not fit."""


def is_number(value: Any, kind: type = Real) -> bool:
    """Whether it is a number of this kind: for Python, True is one."""
    return isinstance(value, kind) and not isinstance(value, bool)


def whole(least: int, most: int | None = None, why: str = "") -> Check:
    """A whole number within limits; `why` gives the reason of the upper one."""

    def check(value: Any) -> int:
        if not is_number(value, Integral) or value < least:
            raise ValueError(f"a whole number of at least {least}")
        if most is not None and value > most:
            raise ValueError(f"a whole number of at most {most}{why and f' ({why})'}")
        return int(value)

    return check


def number(
    least: float | None = None, most: float | None = None, *, above: float | None = None, below: float | None = None
) -> Check:
    """A finite number within limits, which are allowed (`least`, `most`) or not (`above`, `below`)."""
    if least is not None and most is not None:
        limits = [f"from {least:g} to {most:g}"]
    elif above is not None and below is not None:
        limits = [f"between {above:g} and {below:g}"]
    else:
        words = {"of at least": least, "above": above, "of at most": most, "below": below}
        limits = [f"{word} {limit:g}" for word, limit in words.items() if limit is not None]
    expected = f"a number {' and '.join(limits)}"

    def check(value: Any) -> float:
        if not is_number(value) or not abs(value) <= _LARGEST_NUMBER:
            raise ValueError(expected)
        if (least is not None and value < least) or (above is not None and value <= above):
            raise ValueError(expected)
        if (most is not None and value > most) or (below is not None and value >= below):
            raise ValueError(expected)
        return float(value)

    return check


def one_of(*choices: str) -> Check:
    """One of a few words."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}")
        return value

    return check


def of_type(*types: type, called: str) -> Check:
    """An object of one of these types."""

    def check(value: Any) -> Any:
        if not isinstance(value, types):
            raise ValueError(called)
        return value

    return check


def optional(inner: Check) -> Check:
    """None, or what another check accepts."""
    return lambda value: None if value is None else inner(value)


def texts(called: str) -> Check:
    """A list of texts or paths: one text alone would be read as a list of its characters."""

    def check(value: Any) -> list[Any]:
        if isinstance(value, str | bytes | os.PathLike | Mapping) or not isinstance(value, Iterable):
            raise ValueError(called)
        items = list(value)
        if not all(isinstance(item, str | os.PathLike) for item in items):
            raise ValueError(called)
        return items

    return check


def several(each: Check, called: str) -> Check:
    """A list of values that another check accepts, which is not empty."""

    def check(value: Any) -> list[Any]:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise ValueError(called)
        items = list(value)
        try:
            checked_items = [each(item) for item in items]
        except ValueError as error:
            raise ValueError(f"{called}, each {error}") from None
        if not items:
            raise ValueError(called)
        return checked_items

    return check


def one_or_more(called: str) -> Check:
    """A text or path, or a list of them; one alone becomes a list."""
    listed = texts(called)
    return lambda value: [value] if isinstance(value, str | os.PathLike) else listed(value)


def flag(value: Any) -> bool:
    """True or False; text and numbers are refused, since "no" would count as true."""
    if type(value).__name__ not in {"bool", "bool_"}:  # numpy's is not a subclass of Python's
        raise ValueError("True or False")
    return bool(value)


def function(value: Any) -> Any:
    """Something that can be called."""
    if not callable(value):
        raise ValueError("a function")
    return value


def text(value: Any) -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("text that is not empty")
    return value


def path(value: Any) -> Any:
    """The path of a file or a folder."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise ValueError("a path")
    if not str(value) or "\0" in str(value):
        raise ValueError("a path that is not empty and contains no NUL character")
    return value


def scale(value: Any) -> tuple[float, float]:
    """The lowest and the highest score that people could give."""
    expected = "the lowest and the highest score, two numbers such as (1, 5)"
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ValueError(expected)
    ends = list(value)
    if len(ends) != 2 or not all(map(is_number, ends)):
        raise ValueError(expected)
    if not -_LARGEST_SCORE <= ends[0] < ends[1] <= _LARGEST_SCORE:
        raise ValueError(f"{expected}, with the lowest first and none beyond {_LARGEST_SCORE:g}")
    return float(ends[0]), float(ends[1])


_LARGEST_SCORE = 1e9

SHARED: dict[str, Check] = {
    "by": one_or_more("the name of a field, or a list of names"),
    "cluster": optional(text),
    "dimension": optional(text),
    "folder": path,
    "allow_doubtful": flag,
    "intervals": flag,
    "jobs": optional(whole(1, MOST_JOBS)),
    "keep_offensive": flag,
    "margin": optional(number(above=0)),
    "max_cost": optional(number(above=0)),
    "on_error": one_of("raise", "skip"),
    "output": optional(path),
    "pair_by": optional(text),
    "predictor": optional(text),
    "primary": optional(text),
    "quiet": flag,
    "remove_outliers": flag,
    "resamples": whole(1, MOST_RESAMPLES, "more would change no digit that is shown"),
    "resume": flag,
    "scale": optional(scale),
    "seed": whole(0, HIGHEST_SEED),
    "unit": one_of("reply", "turn"),
}
"""Name of an argument -> its check, in every function that has it."""


def checked(**own: Check) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a function whose arguments are checked at the call; `own` are checks of arguments that it alone has."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        checks = {name: check for name, check in {**SHARED, **own}.items() if name in signature.parameters}

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(*args, **kwargs)
            for name, check in checks.items():
                if name in bound.arguments:
                    bound.arguments[name] = fitting(name, bound.arguments[name], check)
            return function(*bound.args, **bound.kwargs)

        return call

    return decorate


def fitting(name: str, value: Any, check: Check | None = None) -> Any:
    """The argument, converted; a CallError where it does not fit. Without a `check`, that of the shared arguments."""
    try:
        return (check or SHARED[name])(value)
    except ValueError as error:
        raise CallError(f"{name} must be {error}, not {shortened(value)}") from None


# Checks of parameters, with the same messages for every model.


class Named(Protocol):
    """A model whose parameters are attributes; messages begin with its name."""

    name: ClassVar[str]


def check_number(model: Named, name: str, value: Any) -> float:
    """The value of a parameter; CallError if it is not a finite number, or not whole where an int is declared."""
    # numpy's numbers are Real, too. A value that is not finite could not be saved, which would show after training.
    if isinstance(value, bool) or not isinstance(value, Real) or not _is_finite(value):
        raise CallError(f"{model.name}: {name} must be a number, not {shortened(value)}")
    if _counts(model, name) and value % 1 != 0:
        raise CallError(f"{model.name}: {name} must be a whole number, not {value}")
    return float(value)


def _is_finite(value: Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def _counts(model: Named, name: str) -> bool:
    """Whether the parameter is declared as an int."""
    declared = (vars(kind).get("__annotations__", {}).get(name) for kind in type(model).__mro__)
    return str(next((kind for kind in declared if kind is not None), "")).startswith("int")


def check_least(model: Named, least: Mapping[str, float]) -> None:
    """Raise a CallError if a parameter is below its least value; None is allowed."""
    for name, bound in least.items():
        value = getattr(model, name)
        if value is not None and check_number(model, name, value) < bound:
            raise CallError(f"{model.name}: {name} must be at least {bound}, not {value}")


def check_rates(model: Named, *names: str) -> None:
    """Raise a CallError unless each parameter is above 0 and at most 1."""
    for name in names:
        if not 0 < check_number(model, name, getattr(model, name)) <= 1:
            raise CallError(f"{model.name}: {name} must be above 0 and at most 1, not {getattr(model, name)}")


def check_scale(model: Named, scale: tuple[float, ...] | None) -> None:
    """Raise a CallError unless the scale of human scores, if given, is a lowest and a higher score."""
    if scale is not None and not (len(scale) == 2 and -math.inf < scale[0] < scale[1] < math.inf):
        raise CallError(f"{model.name}: scale must be the lowest score and a higher one, not {scale}")


# Default values that functions and command-line options share; importing them is fast, so that `--help` is.


RESAMPLES = 1000
"""Bootstrap resamples for each interval."""
LEVEL = 0.9
"""The share of a calibrated evaluator's intervals that should contain the human score."""
CANDIDATE_CONTEXTS = 5000
"""Contexts of the dialogues that replies are made for, at most, when an evaluator is distilled."""

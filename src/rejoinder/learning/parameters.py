"""Checks of parameters, with the same messages for every model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, Protocol

from rejoinder.errors import CallError, shortened


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

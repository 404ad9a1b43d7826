"""CallErrors for parameters that make no sense, in the same words whatever model has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, Protocol

from rejoinder.errors import CallError


class Named(Protocol):
    """Anything whose parameters are attributes; messages begin with its name."""

    name: ClassVar[str]


def check_number(model: Named, name: str, value: Any) -> float:
    """The value of a parameter; CallError where it is a word, as the command line may have it, not finite, or a
    fraction of what is counted."""
    # numpy's numbers are Real, too; what is not finite cannot be saved, which would be found out after training
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise CallError(f"{model.name}: {name} must be a number, not {value!r}")
    if _counts(model, name) and value % 1 != 0:
        raise CallError(f"{model.name}: {name} must be a whole number, not {value}")
    return float(value)


def _counts(model: Named, name: str) -> bool:
    """Whether the parameter is declared a whole number."""
    declared = (vars(kind).get("__annotations__", {}).get(name) for kind in type(model).__mro__)
    return str(next((kind for kind in declared if kind is not None), "")).startswith("int")


def check_least(model: Named, least: Mapping[str, float]) -> None:
    """Raise a CallError where a parameter is below its least value; None is no value."""
    for name, bound in least.items():
        value = getattr(model, name)
        if value is not None and check_number(model, name, value) < bound:
            raise CallError(f"{model.name}: {name} must be at least {bound}, not {value}")


def check_rates(model: Named, *names: str) -> None:
    """Raise a CallError where a parameter is not above 0 and at most 1."""
    for name in names:
        if not 0 < check_number(model, name, getattr(model, name)) <= 1:
            raise CallError(f"{model.name}: {name} must be above 0 and at most 1, not {getattr(model, name)}")


def check_scale(model: Named, scale: tuple[float, ...] | None) -> None:
    """Raise a CallError unless a scale of human scores, where there is one, goes from a score to a higher one."""
    if scale is not None and not (len(scale) == 2 and -math.inf < scale[0] < scale[1] < math.inf):
        raise CallError(f"{model.name}: scale must be the lowest score and a higher one, not {scale}")

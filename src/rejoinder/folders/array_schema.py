"""The schema of a model folder's arrays: shapes, types and ranges. What does not fit is a DataError.

It is apart from `schema.py`, which needs no numpy, so that names can be looked up without importing it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import DataError


@dataclass(frozen=True)
class Array:
    """What an array of a file must be like."""

    kind: str
    """f: numbers; i: whole numbers; u1: bytes; b: true or false."""
    shape: tuple[str | int, ...]
    """Lengths; equal names mean equal lengths in one file, and none is 0 but `any...`."""
    low: float = -math.inf
    high: float = math.inf
    """The smallest and the largest number that is allowed; infinite numbers are if both limits are, too."""
    infinite: bool = False
    """Whether -inf is allowed, as the logarithm of 0."""
    increasing: bool = False


_KINDS = {"f": "f", "i": "iu", "u1": "u", "b": "b"}
_CALLED = {"f": "floating-point numbers", "i": "whole numbers", "u1": "bytes", "b": "true or false"}


def checked_arrays(
    arrays: Mapping[str, NDArray[Any]], expected: Mapping[str, Array], file: str, **sizes: int
) -> dict[str, NDArray[Any]]:
    """The expected arrays of a file; `sizes` are lengths that are known from elsewhere."""
    for name, wanted in expected.items():
        if name not in arrays:
            raise DataError("is missing", file=file, field=name)
        array = arrays[name]
        if array.dtype.kind not in _KINDS[wanted.kind] or (wanted.kind == "u1" and array.dtype.itemsize != 1):
            raise DataError(f"must hold {_CALLED[wanted.kind]}, not {array.dtype}", file=file, field=name)
        _check_shape(array, wanted.shape, sizes, file, name)
        _check_numbers(array, wanted, file, name)
    return {name: arrays[name] for name in expected}


def check_finite(array: NDArray[Any], file: str, name: str, *, infinite: bool = False) -> None:
    """DataError if an array of a file has numbers that are not finite; `infinite`: -inf is allowed."""
    if array.dtype.kind == "f":
        fine = np.isfinite(array) | np.isneginf(array) if infinite else np.isfinite(array)
        if not fine.all():
            raise DataError("holds numbers that are not finite", file=file, field=name)


def _check_shape(
    array: NDArray[Any], shape: tuple[str | int, ...], sizes: dict[str, int], file: str, name: str
) -> None:
    if array.ndim == len(shape):
        for length, size in zip(array.shape, shape, strict=True):
            if isinstance(size, str) and (length or size.startswith("any")):
                sizes.setdefault(size, length)
        if array.shape == tuple(sizes.get(size, -1) if isinstance(size, str) else size for size in shape):
            return
    wanted = ", ".join(str(sizes.get(size, size)) if isinstance(size, str) else str(size) for size in shape)
    raise DataError(f"has shape {array.shape}: expected ({wanted})", file=file, field=name)


def _check_numbers(array: NDArray[Any], wanted: Array, file: str, name: str) -> None:
    check_finite(array, file, name, infinite=wanted.infinite)
    if array.size and not (wanted.low <= array.min() and array.max() <= wanted.high):
        raise DataError(f"must be from {wanted.low:g} to {wanted.high:g}", file=file, field=name)
    if wanted.increasing and (array[1:] <= array[:-1]).any():
        raise DataError("must be increasing", file=file, field=name)

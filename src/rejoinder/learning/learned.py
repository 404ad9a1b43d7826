"""What evaluators and reply models share: chosen parameters, learned fields, and a folder to save both in.

A parameter is a field that the constructor takes. A learned field is one that it does not take; its name ends in an
underscore. `fit_` says what was learned from, and is kept apart from the rest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from rejoinder.errors import CallError, DataError, UnknownNameError
from rejoinder.learning.saving import read_arrays, write_arrays
from rejoinder.model_folder import read_config

ARRAYS = "learned.safetensors"
CONTEXTS = "contexts.safetensors"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Learned:
    """Something with learned fields."""

    name: ClassVar[str]
    kind: ClassVar[str]
    """What messages call it: evaluator, reply model."""

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write what was learned into the folder, save plain values, which are given back for config.json.

        A class that learns other things than arrays and plain values has its own, and its own `load_learned`.
        """
        values = {name: getattr(self, name) for name in self._learned_names()}
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        if arrays:
            write_arrays(folder / ARRAYS, arrays)
        return {name: value for name, value in values.items() if name not in arrays}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The value of each learned field, from what `save_learned` wrote and gave back."""
        arrays = read_arrays(folder / ARRAYS) if plain.keys() < self._learned_names() else {}
        values = {**plain, **arrays}
        missing = self._learned_names() - values.keys()
        if missing:
            raise DataError(f"lacks {', '.join(sorted(missing))}", file=str(folder))
        return values

    @classmethod
    def _saved(cls, home: Path) -> tuple[Self, dict[str, Any]]:
        """One with the parameters that were saved in a folder, not fitted yet, and all that config.json says."""
        config = read_config(home, cls.kind)
        if config["name"] != cls.name:
            raise CallError(f"{home} holds the {cls.kind} {config['name']!r}: expected {cls.name!r}")
        known = {field.name for field in dataclasses.fields(cls) if field.init}
        for name in config["parameters"]:
            if name not in known:
                raise UnknownNameError(f"parameter of {cls.name} in {home}:", name, known)
        return cls(**{name: _hashable(value) for name, value in config["parameters"].items()}), config

    @classmethod
    def _learned_names(cls) -> set[str]:
        return {field.name for field in dataclasses.fields(cls) if not field.init} - {"fit_"}

    def _remember(self, values: Mapping[str, Any], fit: object) -> None:
        """Set all that was learned at once, past the frozen parameters."""
        if values.keys() != self._learned_names():
            listed = ", ".join(sorted(self._learned_names()))
            raise ValueError(f"{self.name}: learned {', '.join(sorted(values))}; expected {listed}")
        for name, value in {**values, "fit_": fit}.items():
            object.__setattr__(self, name, value)


def _hashable(value: Any) -> Any:
    """A list as a tuple: JSON knows lists only, and a parameter of a frozen dataclass is one that has a hash."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value

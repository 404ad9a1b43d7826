"""The cache of all pages: scores, vectors, trained models and cells of experiments, each made once.

A key changes with the version of the package, the settings and the data. It does not see a change of the code within
a version: then the folder has to be removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from rejoinder._version import __version__
from rejoinder.data.contexts import digest_of
from rejoinder.folders.foreign import saved_arrays
from rejoinder.folders.outputs import replacing_file
from rejoinder.folders.saved import write_arrays
from rejoinder.folders.schema import CONFIG

Arrays = Mapping[str, NDArray[Any]]


class Saveable(Protocol):
    """A model that can be written into a folder."""

    def save(self, folder: str | Path) -> None:
        """Write it."""


SavedT = TypeVar("SavedT", bound=Saveable)


@dataclass(frozen=True)
class Cache:
    """A folder."""

    folder: Path

    @property
    def cells(self) -> Path:
        """The folder for the scores of evaluators fitted in experiments."""
        return self.folder / "cells"

    def arrays(self, name: str, key: object, make: Callable[[], Arrays]) -> Arrays:
        """Arrays by name, computed if they are not cached; `key` holds everything they depend on, as plain values."""
        path = self.arrays_path(name, key)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            made = make()
            with replacing_file(path) as temporary:
                write_arrays(temporary, made)
        return saved_arrays(path)

    def arrays_path(self, name: str, key: object) -> Path:
        """Where such arrays are kept."""
        return self.folder / "arrays" / f"{name}-{digest_of([__version__, key])[:12]}.safetensors"

    def model(self, name: str, key: object, train: Callable[[], SavedT], load: Callable[[Path], SavedT]) -> SavedT:
        """A trained model, trained if it is not cached."""
        folder = self.folder / "models" / f"{name}-{digest_of([__version__, key])[:12]}"
        if not (folder / CONFIG).exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            train().save(folder)
        return load(folder)

    def vectors(self, name: str) -> Path:
        """The folder of the vectors that an encoder gave to texts."""
        path = self.folder / "vectors" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

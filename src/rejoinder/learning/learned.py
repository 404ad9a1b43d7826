"""Shared by evaluators and reply models: parameters, learned fields, and a folder that both are saved in.

A parameter is a field that the constructor takes. A learned field is one that it does not take; its name ends in an
underscore. `fit_`, which is not one of them, describes the training data.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from rejoinder._version import __version__
from rejoinder.building import instance
from rejoinder.data.contexts import TrainedContexts
from rejoinder.errors import CallError, DataError, UnknownNameError
from rejoinder.learning.saving import read_arrays, write_arrays
from rejoinder.loading.array_schema import Array, check_finite
from rejoinder.loading.foreign import saved_arrays
from rejoinder.loading.schema import checked_object
from rejoinder.loading.sources import downloads, find_pretrained
from rejoinder.model_folder import CONFIG, read_config

ARRAYS = "learned.safetensors"
CONTEXTS = "contexts.safetensors"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Learned(ABC):
    """An object with parameters and learned fields."""

    name: ClassVar[str]
    kind: ClassVar[str]
    """The word for it in messages: evaluator, reply model."""
    trains_in_steps: ClassVar[bool] = False
    """Whether the training loop trains it, so that a run may have a time limit; otherwise it is fitted in one step."""
    reads_sentences: ClassVar[bool] = False
    """Whether it learns from sentences, so that a text file with one sentence per line is accepted as dialogues."""
    learns_systems: ClassVar[bool] = False
    """Whether it learns which system gave a reply, so that its judged examples need no human scores."""
    retired: ClassVar[frozenset[str]] = frozenset()
    """Parameters of earlier versions, ignored in saved folders: they do not change what was learned."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """Everything that decides its output, in one line."""

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write learned arrays into the folder; return the plain values, for config.json.

        A class that learns anything else overrides this and `load_learned`. Arrays that are not finite are refused
        here, as they would be when the folder is opened.
        """
        values = {name: getattr(self, name) for name in self._learned_names()}
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        for name, array in arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise CallError(f"{self.name} cannot be saved: {name} holds numbers that are not finite")
        if arrays:
            write_arrays(folder / ARRAYS, arrays)
        return {name: value for name, value in values.items() if name not in arrays}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The value of each learned field, from what `save_learned` wrote and returned."""
        arrays = saved_arrays(folder / ARRAYS) if plain.keys() < self._learned_names() else {}
        for name, array in arrays.items():
            check_finite(array, str(folder / ARRAYS), name)
        values = {**plain, **arrays}
        for name in sorted(self._learned_names() - values.keys()):
            raise DataError("is missing", file=str(folder), field=name)
        return {name: values[name] for name in self._learned_names()}

    @classmethod
    def saved_parameters(cls, parameters: dict[str, Any], home: Path) -> dict[str, Any]:  # noqa: ARG003 - for subclasses
        """The parameters of config.json, with what they name as it lies in the folder."""
        return parameters

    def _config(self, folder: Path, fit: Mapping[str, Any], contexts: TrainedContexts) -> dict[str, Any]:
        """Write learned fields and trained contexts into the folder; return the content of config.json."""
        write_arrays(folder / CONTEXTS, {"keys": contexts.keys})
        return {
            "name": self.name,
            "parameters": self.parameters,
            "signature": self.signature,
            "version": __version__,
            "fit": fit,
            "learned": self.save_learned(folder),
        }

    @classmethod
    def _saved(cls, home: Path) -> tuple[Self, dict[str, Any]]:
        """An unfitted instance with the parameters saved in a folder, and the content of config.json.

        The latter has `learned`, which is what `save_learned` returned.
        """
        config = read_config(home, cls.kind)
        if config["name"] != cls.name:
            raise CallError(f"{home} holds the {cls.kind} {config['name']!r}: expected {cls.name!r}")
        config["learned"] = checked_object(config.get("learned"), str(home / CONFIG), "learned")
        known = {field.name for field in dataclasses.fields(cls) if field.init}
        parameters = {name: value for name, value in config["parameters"].items() if name not in cls.retired}
        parameters = cls.saved_parameters(parameters, home)
        for name in parameters:
            if name not in known:
                raise UnknownNameError(f"parameter of {cls.name} in {home}:", name, known)
        try:
            return instance(cls.name, cls, {}, parameters), config
        except CallError as error:
            raise DataError(str(error), file=str(home / CONFIG), field="parameters") from error

    @property
    def pretrained_names(self) -> tuple[tuple[str, str], ...]:
        """The pretrained models that `fit` starts from: the name or folder of each, and what to call it in messages."""
        return ()

    def find_pretrained(self) -> None:
        """Find the pretrained models, before anything slow is done; CallError, with near names, if one is nowhere."""
        with downloads():
            for source, called in self.pretrained_names:
                find_pretrained(source, called)

    @classmethod
    def _learned_names(cls) -> set[str]:
        return {field.name for field in dataclasses.fields(cls) if not field.init} - {"fit_"}

    def _remember(self, values: Mapping[str, Any], fit: object) -> None:
        """Set all learned fields at once, although the dataclass is frozen."""
        if values.keys() != self._learned_names():
            listed = ", ".join(sorted(self._learned_names()))
            raise ValueError(f"{self.name}: learned {', '.join(sorted(values))}; expected {listed}")
        for name, value in {**values, "fit_": fit}.items():
            object.__setattr__(self, name, value)


def read_contexts(home: Path) -> TrainedContexts:
    """The contexts that a saved model was trained on."""
    expected = {"keys": Array("i", ("any contexts",), low=0, increasing=True)}
    return TrainedContexts(read_arrays(home / CONTEXTS, expected)["keys"].astype(np.uint64))

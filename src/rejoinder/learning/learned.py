"""Parameters, learned fields, fitting, and the folder: what evaluators and reply models have in common."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from rejoinder._version import __version__
from rejoinder.data.contexts import TrainedContexts, dialogues_digest, digest_of
from rejoinder.data.dialogues import dialogues_in
from rejoinder.data.negatives import places_of
from rejoinder.errors import CallError, DataError, NeedsError, UnknownNameError
from rejoinder.folders.array_schema import Array, check_finite
from rejoinder.folders.foreign import saved_arrays
from rejoinder.folders.saved import read_arrays, replacing_folder, write_arrays, write_config
from rejoinder.folders.schema import CONFIG, checked_object, opening, read_config, values_of
from rejoinder.folders.sources import downloads, find_pretrained, offline
from rejoinder.learning.run import TrainingRun, training_run
from rejoinder.metrics.base import plain
from rejoinder.options import Option, Seed, path, verb
from rejoinder.specs import NearNames, check_fields, instance
from rejoinder.types import Dialogue, JudgedExample

# Shared by evaluators and reply models: parameters, learned fields, and a folder that both are saved in.
#
# A parameter is a field that the constructor takes. A learned field is one that it does not take; its name ends in an
# underscore. `fit_`, which is not one of them, describes the training data.


ARRAYS = "learned.safetensors"
CONTEXTS = "contexts.safetensors"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Learned(NearNames, ABC):
    """An object with parameters and learned fields."""

    name: ClassVar[str]
    kind: ClassVar[str]
    """The word for it in messages: evaluator, reply model."""
    trains_in_steps: ClassVar[bool] = False
    """Whether the training loop trains it, so that a run may have a time limit; otherwise it is fitted in one step."""
    reads_sentences: ClassVar[bool] = False
    """Whether it learns from sentences, so that a text file with one sentence per line is accepted as dialogues."""
    learns_systems: ClassVar[bool] = False
    """Whether it learns which system gave a reply, so that its judged examples need no ratings."""
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
    def saved_parameters(cls, parameters: dict[str, Any], folder: Path) -> dict[str, Any]:  # noqa: ARG003 - for subclasses
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
    def _saved(cls, folder: Path) -> tuple[Self, dict[str, Any]]:
        """An unfitted instance with the parameters saved in a folder, and the content of config.json.

        The latter has `learned`, which is what `save_learned` returned.
        """
        config = read_config(folder, cls.kind)
        if config["name"] != cls.name:
            raise CallError(f"{folder} holds the {cls.kind} {config['name']!r}: expected {cls.name!r}")
        config["learned"] = checked_object(config.get("learned"), str(folder / CONFIG), "learned")
        known = {field.name for field in dataclasses.fields(cls) if field.init}
        parameters = {name: value for name, value in config["parameters"].items() if name not in cls.retired}
        parameters = cls.saved_parameters(parameters, folder)
        for name in parameters:
            if name not in known:
                raise UnknownNameError(f"parameter of {cls.name} in {folder}:", name, known)
        try:
            return instance(cls.name, cls, {}, parameters), config
        except CallError as error:
            raise DataError(str(error), file=str(folder / CONFIG), field="parameters") from error

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


def read_contexts(folder: Path) -> TrainedContexts:
    """The contexts that a saved model was trained on."""
    expected = {"keys": Array("i", ("any contexts",), low=0, increasing=True)}
    return TrainedContexts(read_arrays(folder / CONTEXTS, expected)["keys"].astype(np.uint64))


# Models that learn from dialogues alone: shared by reply models and sentence encoders.
#
# `fit`, `save` and `load` are written here once. A class has parameters, learned fields and `learn`, which returns the
# value of each learned field; see `learned.py` for what is saved without further code.


_FIT = ("seed", "data", "dialogues", "valid", "version")
"""What config.json says about the training."""


@dataclasses.dataclass(frozen=True, eq=False)
class DialogueData:
    """What a model is fitted on."""

    dialogues: tuple[Dialogue, ...]
    """Learned from."""
    valid: tuple[Dialogue, ...] = ()
    """Used to decide when to stop; never learned from."""
    seed: int = 0
    run: TrainingRun = dataclasses.field(default_factory=TrainingRun)
    """How training is carried out: checkpoints, time limit, progress."""

    @cached_property
    def digest(self) -> str:
        """A hash of all dialogues; the seed is not part of it."""
        return digest_of([dialogues_digest(self.dialogues), dialogues_digest(self.valid)])

    @cached_property
    def contexts(self) -> TrainedContexts:
        """The contexts of all dialogues, validation dialogues included."""
        return TrainedContexts.within((*self.dialogues, *self.valid))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DialogueFit:
    """A record of what a model was fitted on."""

    seed: int
    data: str
    """A hash of all dialogues."""
    dialogues: int
    valid: int = 0
    version: str
    contexts: TrainedContexts = dataclasses.field(compare=False, repr=False)

    @property
    def plain(self) -> dict[str, Any]:
        """Its values for config.json; the contexts have a separate file."""
        return {key: getattr(self, key) for key in _FIT}


@dataclasses.dataclass(frozen=True, kw_only=True)
class FittedOnDialogues(Learned):
    """A model that learns from dialogues, and knows which ones it learned from."""

    # Two fits of one model are not equal; the hash is that of the parameters, so that `fit` does not change it.
    fit_: DialogueFit | None = dataclasses.field(default=None, init=False, repr=False, hash=False)

    def __post_init__(self) -> None:
        check_fields(self)
        self.check()

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""

    @abstractmethod
    def learn(self, data: DialogueData) -> Mapping[str, Any]:
        """The value of each learned field; the same for the same data and seed. There is at least one dialogue."""

    @verb
    def fit(
        self,
        dialogues: Iterable[Dialogue],
        judged: Iterable[JudgedExample] | None = None,
        *,
        valid: Iterable[Dialogue] = (),
        seed: Seed = 0,
        run: Annotated[TrainingRun | None, Option("how the run is carried out", training_run)] = None,
    ) -> Self:
        """Fit this model again and return it.

        Training may stop early by the dialogues of `valid`. `run` sets checkpoints, a time limit and progress bars.
        `judged` must be left out: the parameter exists because the `fit` of evaluators has it.
        """
        if judged is not None:
            raise CallError(f"{self.name} learns from dialogues: it takes no judged examples")
        data = DialogueData(tuple(dialogues_in(dialogues)), tuple(dialogues_in(valid)), seed, run or TrainingRun())
        if not data.dialogues:
            raise NeedsError(f"{self.name} learns from dialogues: expected at least one to fit it on")
        if data.valid and not places_of(data.valid):
            raise NeedsError(f"{self.name}: the validation dialogues contain no reply: expected at least one")
        self.find_pretrained()
        with downloads():
            values = self.learn(data)
        fit = DialogueFit(
            seed=seed,
            data=data.digest,
            dialogues=len(data.dialogues),
            valid=len(data.valid),
            version=__version__,
            contexts=data.contexts,
        )
        self._remember(values, fit)
        return self

    def training_key(self, data: DialogueData) -> str:
        """A hash of everything that decides what is learned: a run resumes only from checkpoints with its own key."""
        return digest_of([self.name, self.parameters, data.digest, data.seed])

    @property
    def fitted(self) -> DialogueFit:
        """What it was fitted on; CallError if it was not fitted."""
        if self.fit_ is None:
            raise CallError(f"{self.name} is not fitted: call fit(), or load one that was saved")
        return self.fit_

    @property
    def trained_contexts(self) -> TrainedContexts:
        """The contexts that it was fitted on."""
        return self.fitted.contexts

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.init}

    @property
    def signature(self) -> str:
        """Everything that decides its output, in one line: the parameters and, once fitted, the data and the seed."""
        shown = [f"{key}:{plain(value)}" for key, value in self.parameters.items() if value is not None]
        fit = [] if self.fit_ is None else [f"fit:{self.fit_.data[:12]}", f"seed:{self.fit_.seed}"]
        return "|".join([self.name, *shown, *fit, f"v:{__version__}"])

    @verb
    def save(self, folder: Annotated[str | Path, Option("the folder of the model", path)]) -> None:
        """Write what `load` needs into a folder: config.json and array files."""
        fit = self.fitted
        with replacing_folder(Path(folder), self.kind) as fresh:
            write_config(fresh, self._config(fresh, fit.plain, fit.contexts))

    @classmethod
    @verb
    def load(cls, folder: Annotated[str | Path, Option("the folder of the model", path)]) -> Self:
        """The model that was saved in a folder, fitted."""
        folder = Path(folder)
        with offline(), opening(folder):
            model, config = cls._saved(folder)
            found = values_of(DialogueFit, config["fit"], str(folder / CONFIG), "fit", _FIT)
            fit = DialogueFit(**found, contexts=read_contexts(folder))
            model._remember(model.load_learned(folder, config["learned"]), fit)
        return model

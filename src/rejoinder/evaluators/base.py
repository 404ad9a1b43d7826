"""What a learned evaluator is: a metric whose parameters are chosen and whose other fields are learned.

A parameter is an ordinary field of the dataclass, as in every metric. What `fit` learns is declared as a field that
the constructor does not take, and ends in an underscore:

    @dataclass(frozen=True, kw_only=True)
    class Wordy(Evaluator):
        name: ClassVar[str] = "wordy"
        most: int = 50
        weight_: float = field(init=False, repr=False, compare=False)

        def learn(self, data: TrainingData) -> dict[str, Any]:
            examples, human = labels(data.judged)
            return {"weight_": ...}

        def predict(self, batch: Batch) -> Scores:
            return self.weight_ * ...
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rejoinder._version import __version__
from rejoinder.errors import CallError, DataError, NeedsError, UnknownNameError
from rejoinder.evaluators.contexts import TrainedContexts
from rejoinder.evaluators.saving import read_arrays, read_config, replacing_folder, write_arrays, write_config
from rejoinder.evaluators.training import TrainingData
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.types import Dialogue, JudgedExample, Scores

ARRAYS = "learned.safetensors"
CONTEXTS = "contexts.safetensors"

Use = Literal["needed", "optional", "unused"]


@dataclasses.dataclass(frozen=True, slots=True)
class Fit:
    """What an evaluator was fitted on."""

    seed: int
    data: str
    """Changes when any dialogue or judged example does."""
    dialogues: int
    judged: int
    version: str
    contexts: TrainedContexts = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluator(Metric):
    """A metric that learns from dialogues, from judged replies, or from both."""

    labels: ClassVar[Use] = "optional"
    """What `fit` does with judged examples."""
    dialogues: ClassVar[Use] = "optional"
    """What `fit` does with dialogues."""

    # Two fits of one evaluator are not equal; the hash is that of the parameters, so that `fit` does not change it.
    fit_: Fit | None = dataclasses.field(default=None, init=False, repr=False, hash=False)

    @abstractmethod
    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The value of each field that is learned; the same for the same data and seed."""

    @abstractmethod
    def predict(self, batch: Batch) -> Scores:
        """One score an example; what it says of an empty reply is not used. Called only when fitted."""

    def inherited_contexts(self) -> TrainedContexts:
        """What another model that this one starts from was trained on."""
        return TrainedContexts()

    def fit(
        self, dialogues: Iterable[Dialogue] = (), judged: Iterable[JudgedExample] | None = None, *, seed: int = 0
    ) -> Self:
        """The same evaluator, fitted anew.

        Judged examples of the split `valid` may decide when to stop; those of the split `test` are not looked at.
        """
        data = self.training_data(dialogues, judged, seed=seed)
        if self.labels == "needed" and not data.judged:
            raise NeedsError(f"{self.name} learns from judged examples: expected at least one to fit it on")
        if self.dialogues == "needed" and not data.dialogues:
            raise NeedsError(f"{self.name} learns from dialogues: expected at least one to fit it on")
        values = self.learn(data)
        counts = (len(data.dialogues), len(data.judged) + len(data.valid))
        self._remember(values, Fit(seed, data.digest, *counts, __version__, data.contexts | self.inherited_contexts()))
        return self

    def training_data(
        self, dialogues: Iterable[Dialogue] = (), judged: Iterable[JudgedExample] | None = None, *, seed: int = 0
    ) -> TrainingData:
        """What `fit` would look at of all this."""
        return TrainingData.of(
            () if self.dialogues == "unused" else dialogues,
            () if self.labels == "unused" or judged is None else judged,
            seed,
        )

    @property
    def fitted(self) -> Fit:
        """What it was fitted on; CallError where it was not."""
        if self.fit_ is None:
            raise CallError(f"{self.name} is not fitted: call fit(), or load one that was saved")
        return self.fit_

    @property
    def trained_contexts(self) -> TrainedContexts:
        """The contexts that it was fitted on: testing it on them would tell nothing."""
        return self.fitted.contexts

    @property
    def signature(self) -> str:
        """The parameters; once fitted, also the data and the seed."""
        if self.fit_ is None:
            return super().signature
        parameters, _, version = super().signature.rpartition("|")
        return f"{parameters}|fit:{self.fit_.data[:12]}|seed:{self.fit_.seed}|{version}"

    def clone(self) -> Self:
        """One with the same parameters that is not fitted."""
        return type(self)(**self.parameters)

    def score_batch(self, batch: Batch) -> Scores:
        """The prediction; the lowest score for an empty reply, NaN where an example lacks what is needed."""
        _ = self.fitted
        if not len(batch):
            return np.empty(0)
        scores = np.array(self.predict(batch), np.float64)
        if scores.shape != (len(batch),):
            raise ValueError(f"{self.name}: predict gave shape {scores.shape} for {len(batch)} examples")
        scores[batch.blank] = self.range[0]
        for need in self.needs:
            scores[[not getattr(example, need) for example in batch.examples]] = np.nan
        return scores

    def save(self, folder: str | Path) -> None:
        """Write what `load` needs into a folder: config.json, and arrays beside it."""
        fit = self.fitted
        with replacing_folder(Path(folder)) as fresh:
            write_arrays(fresh / CONTEXTS, {"keys": fit.contexts.keys})
            config = {
                "name": self.name,
                "parameters": self.parameters,
                "signature": self.signature,
                "version": __version__,
                "fit": {key: getattr(fit, key) for key in ("seed", "data", "dialogues", "judged", "version")},
                "learned": self.save_learned(fresh),
            }
            write_config(fresh, config)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The evaluator that was saved in a folder, fitted."""
        home = Path(folder)
        config = read_config(home)
        if config["name"] != cls.name:
            raise CallError(f"{home} holds the evaluator {config['name']!r}: expected {cls.name!r}")
        known = {field.name for field in dataclasses.fields(cls) if field.init}
        for name in config["parameters"]:
            if name not in known:
                raise UnknownNameError(f"parameter of {cls.name} in {home}:", name, known)
        evaluator = cls(**{name: _hashable(value) for name, value in config["parameters"].items()})
        contexts = TrainedContexts(read_arrays(home / CONTEXTS)["keys"])
        evaluator._remember(evaluator.load_learned(home, config["learned"]), Fit(**config["fit"], contexts=contexts))
        return evaluator

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write what was learned into the folder, save plain values, which are given back for config.json.

        An evaluator that learns other things than arrays and plain values has its own, and its own `load_learned`.
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
    def _learned_names(cls) -> set[str]:
        return {field.name for field in dataclasses.fields(cls) if not field.init} - {"fit_"}

    def _remember(self, values: Mapping[str, Any], fit: Fit) -> None:
        """Set all that was learned at once, past the frozen parameters."""
        if values.keys() != self._learned_names():
            listed = ", ".join(sorted(self._learned_names()))
            raise ValueError(f"{self.name}: learned {', '.join(sorted(values))}; expected {listed}")
        for name, value in {**values, "fit_": fit}.items():
            object.__setattr__(self, name, value)


def _hashable(value: Any) -> Any:
    """A list as a tuple: JSON knows lists only, and a parameter of a frozen dataclass is one that has a hash."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value

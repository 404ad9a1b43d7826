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

import copy
import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rejoinder._version import __version__
from rejoinder.data.contexts import TrainedContexts
from rejoinder.data.digests import digest_of
from rejoinder.errors import CallError, DataError, NeedsError
from rejoinder.evaluators.calibration import Calibration
from rejoinder.evaluators.out_of_domain import Familiarity, Strangers
from rejoinder.evaluators.scale import HIGHEST, LOWEST
from rejoinder.learning.data import TrainingData
from rejoinder.learning.learned import CONTEXTS, Learned
from rejoinder.learning.run import TrainingRun
from rejoinder.learning.saving import read_arrays, replacing_folder, write_arrays, write_config
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.types import Dialogue, JudgedExample, Scores

FAMILIAR = "familiarity.safetensors"

Use = Literal["needed", "optional", "unused"]


@dataclasses.dataclass(frozen=True, slots=True)
class Fit:
    """What an evaluator was fitted on, and what was found of it afterwards."""

    seed: int
    data: str
    """Changes when any dialogue or judged example does."""
    dialogues: int
    judged: int
    version: str
    contexts: TrainedContexts = dataclasses.field(compare=False, repr=False)
    calibration: Calibration | None = None
    """From its scores to those of people."""
    familiarity: Familiarity | None = dataclasses.field(default=None, compare=False, repr=False)
    """What its training text looked like, where there was enough of it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluator(Learned, Metric):
    """A metric that learns from dialogues, from judged replies, or from both."""

    kind: ClassVar[str] = "evaluator"
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
        self,
        dialogues: Iterable[Dialogue] = (),
        judged: Iterable[JudgedExample] | None = None,
        *,
        valid: Iterable[JudgedExample] = (),
        seed: int = 0,
        run: TrainingRun | None = None,
    ) -> Self:
        """The same evaluator, fitted anew.

        Training may stop early by the judged examples of `valid`, and by those of `judged` whose split is `valid`;
        those whose split is `test` are ignored. `run` sets checkpoints, a time limit and progress bars.
        """
        data = self.training_data(dialogues, judged, valid=valid, seed=seed, run=run)
        if self.labels == "needed" and not data.judged:
            raise NeedsError(f"{self.name} learns from judged examples: expected at least one to fit it on")
        if self.dialogues == "needed" and not data.dialogues:
            raise NeedsError(f"{self.name} learns from dialogues: expected at least one to fit it on")
        values = self.learn(data)
        counts = (len(data.dialogues), len(data.judged) + len(data.valid))
        contexts = data.contexts | self.inherited_contexts()
        fit = Fit(seed, data.digest, *counts, __version__, contexts, familiarity=Familiarity.of(data))
        self._remember(values, fit)
        return self

    def training_data(
        self,
        dialogues: Iterable[Dialogue] = (),
        judged: Iterable[JudgedExample] | None = None,
        *,
        valid: Iterable[JudgedExample] = (),
        seed: int = 0,
        run: TrainingRun | None = None,
    ) -> TrainingData:
        """What `fit` would use of all this."""
        unlabelled = self.labels == "unused"
        return TrainingData.of(
            () if self.dialogues == "unused" else dialogues,
            () if unlabelled or judged is None else judged,
            () if unlabelled else valid,
            seed,
            run,
        )

    @property
    def fitted(self) -> Fit:
        """What it was fitted on; CallError where it was not."""
        if self.fit_ is None:
            raise CallError(f"{self.name} is not fitted: call fit(), or load one that was saved")
        return self.fit_

    @property
    def is_fitted(self) -> bool:
        """Whether it was fitted."""
        return self.fit_ is not None

    @property
    def trained_contexts(self) -> TrainedContexts:
        """The contexts that it was fitted on: testing it on them would tell nothing."""
        return self.fitted.contexts

    @property
    def signature(self) -> str:
        """The parameters; once fitted, also the data, the seed, and the calibration where there is one."""
        if self.fit_ is None:
            return super().signature
        parameters, _, version = super().signature.rpartition("|")
        found = f"fit:{self.fit_.data[:12]}|seed:{self.fit_.seed}"
        if self.fit_.calibration is not None:
            found += f"|calibrated:{digest_of([self.fit_.calibration.to_dict()])[:12]}"
        return f"{parameters}|{found}|{version}"

    def clone(self) -> Self:
        """One with the same parameters that is not fitted."""
        return type(self)(**self.parameters)

    def with_calibration(self, calibration: Calibration | None) -> Self:
        """The same evaluator whose scores are put on the scale of people; None: as it says them itself."""
        if calibration is not None and not self.higher_is_better:
            raise CallError(f"{self.name} cannot be calibrated: its lower scores are the better ones")
        return self._with(dataclasses.replace(self.fitted, calibration=calibration))

    def with_familiarity(self, familiarity: Familiarity | None) -> Self:
        """The same evaluator with another description of what it was trained on; None: nothing is unfamiliar."""
        return self._with(dataclasses.replace(self.fitted, familiarity=familiarity))

    def score_batch(self, batch: Batch) -> Scores:
        """The prediction, calibrated if it can be; the lowest score for an empty reply, NaN where a need is not met."""
        calibration = self.fitted.calibration
        raw = self._predicted(batch)
        scores = raw.copy() if calibration is None else calibration.human(raw)
        scores[batch.blank] = self.range[0]
        return self._where_needs_are_met(scores, batch)

    @property
    def gives_intervals(self) -> bool:
        """Whether it was calibrated."""
        return self.fit_ is not None and self.fit_.calibration is not None

    def intervals(self, batch: Batch) -> tuple[Scores, Scores]:
        """Between what people would say of each reply, from 1 to 5: lowest and highest; NaN for an empty reply."""
        calibration = self.fitted.calibration
        if calibration is None:
            raise CallError(f"{self.name} gives no intervals: it was not calibrated")
        low, high = calibration.intervals(self._predicted(batch))
        for bound in (low, high):
            bound[batch.blank] = np.nan
        return self._where_needs_are_met(low, batch), self._where_needs_are_met(high, batch)

    def unfamiliar(self, batch: Batch) -> list[tuple[str, ...]]:
        """Why each reply is unlike the training text (language, script, length); nothing where it is like it."""
        familiarity = self.fitted.familiarity
        return [()] * len(batch) if familiarity is None else familiarity.unfamiliar(batch)

    def watcher(self) -> Strangers | None:
        """Who counts replies that are unlike the training text."""
        familiarity = None if self.fit_ is None else self.fit_.familiarity
        return None if familiarity is None else Strangers(familiarity)

    def _predicted(self, batch: Batch) -> Scores:
        """What `predict` says, checked, once a batch: scores and intervals both begin with it."""
        if not len(batch):
            return np.empty(0)
        # Evaluator and fit are kept beside it, so that nothing else can have their identity meanwhile.
        *_, predicted = batch.keep(
            ("predicted", id(self), id(self.fit_)), lambda: (self, self.fit_, np.array(self.predict(batch), np.float64))
        )
        if predicted.shape != (len(batch),):
            raise ValueError(f"{self.name}: predict gave shape {predicted.shape} for {len(batch)} examples")
        return predicted

    def _where_needs_are_met(self, scores: Scores, batch: Batch) -> Scores:
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
            if fit.calibration is not None:
                config["calibration"] = fit.calibration.to_dict()
            if fit.familiarity is not None:
                config["familiarity"] = fit.familiarity.plain()
                write_arrays(fresh / FAMILIAR, fit.familiarity.arrays)
            write_config(fresh, config)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The evaluator that was saved in a folder, fitted."""
        home = Path(folder)
        evaluator, config = cls._saved(home)
        contexts = TrainedContexts(read_arrays(home / CONTEXTS)["keys"])
        fit = Fit(**config["fit"], contexts=contexts, **_found(home, config))
        evaluator._remember(evaluator.load_learned(home, config["learned"]), fit)
        return evaluator

    def _with(self, fit: Fit) -> Self:
        """A copy that has learned the same, with another account of it."""
        other = copy.copy(self)
        other._remember({name: getattr(self, name) for name in self._learned_names()}, fit)
        return other

    def _remember(self, values: Mapping[str, Any], fit: object) -> None:
        super()._remember(values, fit)
        if self.gives_intervals:  # then its scores are those of people, whatever its own were
            object.__setattr__(self, "range", (LOWEST, HIGHEST))
        else:
            self.__dict__.pop("range", None)


def _found(home: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Calibration and familiarity, where the folder has them."""
    found: dict[str, Any] = {}
    try:
        if "calibration" in config:
            found["calibration"] = Calibration.from_dict(config["calibration"])
        if "familiarity" in config:
            found["familiarity"] = Familiarity.from_plain(config["familiarity"], read_arrays(home / FAMILIAR))
    except ValueError as error:
        raise DataError(f"holds a damaged calibration or familiarity ({error})", file=str(home)) from error
    return found

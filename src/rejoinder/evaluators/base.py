"""A learned evaluator: a metric that is fitted on data before it scores.

A parameter is an ordinary field of the dataclass, as in every metric. What `fit` learns is a field that the constructor
does not take, and whose name ends in an underscore:

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
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from rejoinder._version import __version__
from rejoinder.arrays import Bools
from rejoinder.data.contexts import TrainedContexts, digest_of
from rejoinder.data.dialogues import dialogues_in, judged_in
from rejoinder.errors import CallError, NeedsError
from rejoinder.evaluators.bounds import Bounds
from rejoinder.evaluators.calibration import HIGHEST, LOWEST, Calibration
from rejoinder.evaluators.familiarity import Familiarity, OutOfDomainCounter
from rejoinder.folders.saved import read_arrays, replacing_folder, write_arrays, write_config
from rejoinder.folders.schema import CONFIG, opening, values_of
from rejoinder.folders.sources import downloads, offline
from rejoinder.learning.data import TrainingData
from rejoinder.learning.learned import Learned, read_contexts
from rejoinder.learning.run import TrainingRun, training_run
from rejoinder.metrics.base import Metric, Watcher
from rejoinder.metrics.batch import Batch
from rejoinder.options import Option, Seed, path, verb
from rejoinder.specs import instance
from rejoinder.types import Dialogue, JudgedExample, Scores

FAMILIAR = "familiarity.safetensors"

Use = Literal["needed", "optional", "unused"]

_FIT = ("seed", "data", "dialogues", "judged", "version")
"""What config.json says about the training."""


@dataclasses.dataclass(frozen=True, slots=True)
class EvaluatorFit:
    """What an evaluator was fitted on, and its calibration."""

    seed: int
    data: str
    """A hash of the dialogues and judged examples."""
    dialogues: int
    judged: int
    version: str
    contexts: TrainedContexts = dataclasses.field(compare=False, repr=False)
    calibration: Calibration | None = None
    """The map from its raw scores to ratings."""
    familiarity: Familiarity | None = dataclasses.field(default=None, compare=False, repr=False)
    """A description of its training text; None if there was too little of it."""
    bounds: Bounds | None = dataclasses.field(default=None, compare=False, repr=False)
    """For which replies it can be relied on; None where this is not known."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluator(Metric, Learned):
    """A metric that learns from dialogues, from judged replies, or from both."""

    kind: ClassVar[str] = "evaluator"
    labels: ClassVar[Use] = "optional"
    """Whether `fit` uses judged examples."""
    dialogues: ClassVar[Use] = "optional"
    """Whether `fit` uses dialogues."""
    is_slow: ClassVar[bool] = True

    # Two fits of one evaluator are not equal. The hash is that of the parameters, so that `fit` does not change it.
    fit_: EvaluatorFit | None = dataclasses.field(default=None, init=False, repr=False, hash=False)

    @abstractmethod
    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The value of each learned field; the same for the same data and seed."""

    @abstractmethod
    def predict(self, batch: Batch) -> Scores:
        """One raw score per example; those of empty replies are ignored. Called only when fitted."""

    @property
    def raw_range(self) -> tuple[float, float]:
        """The lowest and highest raw score: the evaluator's own, before calibration."""
        return (0.0, 1.0)

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and highest score: 1 to 5 once calibrated."""
        return (LOWEST, HIGHEST) if self.gives_intervals else self.raw_range

    @property
    def reads_beginning(self) -> bool:
        """Whether it reads only the beginning of a long reply; a blend then shows it the reply part by part."""
        return False

    def inherited_contexts(self) -> TrainedContexts:
        """The contexts that models which this one starts from were trained on."""
        return TrainedContexts()

    @verb
    def fit(
        self,
        dialogues: Iterable[Dialogue] = (),
        judged: Iterable[JudgedExample] | None = None,
        *,
        valid: Iterable[JudgedExample] = (),
        seed: Seed = 0,
        run: Annotated[TrainingRun | None, Option("how the run is carried out", training_run)] = None,
    ) -> Self:
        """Fit this evaluator, and return it.

        The judged examples of `valid`, and those of `judged` whose split is `valid`, are for early stopping; those
        whose split is `test` are ignored. `run` sets checkpoints, a time limit and progress bars.
        """
        data = self.training_data(dialogues, judged, valid=valid, seed=seed, run=run)
        if self.labels == "needed" and not data.judged:
            raise NeedsError(f"{self.name} learns from judged examples: expected at least one to fit it on")
        if self.dialogues == "needed" and not data.dialogues:
            raise NeedsError(f"{self.name} learns from dialogues: expected at least one to fit it on")
        self.find_pretrained()
        with downloads():
            values = self.learn(data)
            contexts = data.contexts | self.inherited_contexts()
        counts = (len(data.dialogues), len(data.judged) + len(data.valid))
        familiarity = self.familiarity_of(data)
        bounds = Bounds.of(data, familiarity)
        fit = EvaluatorFit(seed, data.digest, *counts, __version__, contexts, familiarity=familiarity, bounds=bounds)
        self._remember(values, dataclasses.replace(fit, calibration=self.learned_calibration(values)))
        return self

    def familiarity_of(self, data: TrainingData) -> Familiarity | None:
        """A description of the text that it knows, for notes about text unlike it."""
        return Familiarity.of(data)

    def learned_calibration(self, values: Mapping[str, Any]) -> Calibration | None:  # noqa: ARG002 - most learn none
        """The calibration that follows from what was learned: for an evaluator that keeps out-of-fold scores."""
        return None

    def readings(self, batch: Batch) -> dict[str, Scores]:  # noqa: ARG002 - most have no further numbers
        """Further numbers per example that the evaluator computes on the way to its score, by name."""
        return {}

    def training_data(
        self,
        dialogues: Iterable[Dialogue] = (),
        judged: Iterable[JudgedExample] | None = None,
        *,
        valid: Iterable[JudgedExample] = (),
        seed: int = 0,
        run: TrainingRun | None = None,
    ) -> TrainingData:
        """The part of these data that `fit` would use."""
        said = dialogues_in(dialogues)
        rated, held_out = judged_in(() if judged is None else judged), judged_in(valid)
        if self.dialogues == "unused":
            said = []
        if self.labels == "unused":
            rated, held_out = [], []
        return TrainingData.of(said, rated, held_out, seed, run)

    @property
    def fitted(self) -> EvaluatorFit:
        """What it was fitted on; CallError if it was not."""
        if self.fit_ is None:
            raise CallError(f"{self.name} is not fitted: call fit(), or load one that was saved")
        return self.fit_

    @property
    def is_fitted(self) -> bool:
        """Whether it was fitted."""
        return self.fit_ is not None

    @property
    def trained_contexts(self) -> TrainedContexts:
        """The contexts that it was fitted on, and on which it must not be tested."""
        return self.fitted.contexts

    @property
    def signature(self) -> str:
        """The parameters and, once fitted, the data, the seed, and the calibration if there is one."""
        if self.fit_ is None:
            return super().signature
        parameters, _, version = super().signature.rpartition("|")
        found = f"fit:{self.fit_.data[:12]}|seed:{self.fit_.seed}"
        if self.fit_.calibration is not None:
            found += f"|calibrated:{digest_of([self.fit_.calibration.to_dict()])[:12]}"
        return f"{parameters}|{found}|{version}"

    def clone(self) -> Self:
        """An unfitted evaluator with the same parameters."""
        return type(self)(**self.parameters)

    def with_calibration(self, calibration: Calibration | None) -> Self:
        """A copy whose scores are mapped to the human scale; None: a copy with raw scores."""
        if calibration is not None and not self.higher_is_better:
            raise CallError(f"{self.name} cannot be calibrated: its lower scores are the better ones")
        return self._with(dataclasses.replace(self.fitted, calibration=calibration))

    def score_batch(self, batch: Batch) -> Scores:
        """The prediction, calibrated if there is a calibration; the worst score for an empty reply, NaN if a need is
        not met."""
        calibration = self.fitted.calibration
        raw = self._predicted(batch)
        scores = raw.copy() if calibration is None else calibration.human(raw)
        scores[batch.blank] = self.worst
        return self._where_needs_are_met(scores, batch)

    @property
    def gives_intervals(self) -> bool:
        """Whether it is calibrated."""
        return self.fit_ is not None and self.fit_.calibration is not None

    def intervals(self, batch: Batch) -> tuple[Scores, Scores]:
        """The intervals expected to contain the ratings, from 1 to 5; NaN for an empty reply."""
        calibration = self.fitted.calibration
        if calibration is None:
            raise CallError(f"{self.name} gives no intervals: it is not calibrated")
        low, high = calibration.intervals(self._predicted(batch))
        for bound in (low, high):
            bound[batch.blank] = np.nan
        return self._where_needs_are_met(low, batch), self._where_needs_are_met(high, batch)

    def unfamiliar(self, batch: Batch) -> list[tuple[str, ...]]:
        """The reasons why each reply is unlike the training text (language, script, length), if it is."""
        familiarity = self.fitted.familiarity
        return [()] * len(batch) if familiarity is None else familiarity.unfamiliar(batch)

    @property
    def knows_limits(self) -> bool:
        """Whether it is known for which replies it can be relied on."""
        return self.fit_ is not None and self.fit_.bounds is not None

    @property
    def language(self) -> str:
        """The language of the replies that it knows; "" if that is not known."""
        fit = self.fit_
        return "" if fit is None or fit.bounds is None else fit.bounds.language

    def doubts(self, batch: Batch) -> Mapping[str, Bools]:
        """Kind of reply beyond its bounds, in words -> which replies of the batch are of it."""
        fit = self.fit_
        return {} if fit is None or fit.bounds is None else fit.bounds.doubts(batch, fit.familiarity)

    def inapplicable(self, batch: Batch) -> Mapping[str, Bools]:
        """Kind of reply that its scores say nothing about, in words -> which replies of the batch are of it."""
        fit = self.fit_
        return {} if fit is None or fit.bounds is None else fit.bounds.inapplicable(batch)

    def cut_contexts(self, batch: Batch) -> int:  # noqa: ARG002 - unless it is known, none
        """How many examples have a context whose last turns are too long to be read whole."""
        return 0

    def cut_replies(self, batch: Batch) -> int:  # noqa: ARG002 - unless it is known, none
        """How many replies are too long to be read, even in parts."""
        return 0

    def unseen_turns(self, batch: Batch) -> int:  # noqa: ARG002 - unless it is known, none
        """How many examples have a context with more turns than are read."""
        return 0

    def watcher(self) -> Watcher | None:
        """A counter of replies that are unlike the training text."""
        return self.out_of_domain_counter()

    def out_of_domain_counter(self) -> OutOfDomainCounter | None:
        """A counter of replies that are unlike the training text."""
        familiarity = None if self.fit_ is None else self.fit_.familiarity
        return None if familiarity is None else OutOfDomainCounter(familiarity)

    def _predicted(self, batch: Batch) -> Scores:
        """The result of `predict`, checked and computed once per batch: scores and intervals both need it."""
        if not len(batch):
            return np.empty(0)
        # Evaluator and fit are kept with it, so that no other object can get their id meanwhile.
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

    @verb
    def save(self, folder: Annotated[str | Path, Option("the folder of the model", path)]) -> None:
        """Write everything that `load` needs into a folder: config.json, and arrays."""
        fit = self.fitted
        with replacing_folder(Path(folder)) as fresh:
            learned_from = {key: getattr(fit, key) for key in _FIT}
            config = self._config(fresh, learned_from, fit.contexts)
            if fit.calibration is not None:
                config["calibration"] = fit.calibration.to_dict()
            if fit.familiarity is not None:
                config["familiarity"] = fit.familiarity.plain()
                write_arrays(fresh / FAMILIAR, fit.familiarity.arrays)
            if fit.bounds is not None:
                config["bounds"] = fit.bounds.plain()
            write_config(fresh, config)

    @classmethod
    @verb
    def load(cls, folder: Annotated[str | Path, Option("the folder of the model", path)]) -> Self:
        """The fitted evaluator that was saved in a folder."""
        folder = Path(folder)
        with offline(), opening(folder):
            evaluator, config = cls._saved(folder)
            found = values_of(EvaluatorFit, config["fit"], str(folder / CONFIG), "fit", _FIT)
            fit = EvaluatorFit(**found, contexts=read_contexts(folder), **_found(folder, config))
            evaluator._remember(evaluator.load_learned(folder, config["learned"]), fit)
        return evaluator

    def _with(self, fit: EvaluatorFit) -> Self:
        """A copy with the same learned fields and another `fit_`."""
        other = copy.copy(self)
        other._remember({name: getattr(self, name) for name in self._learned_names()}, fit)
        return other


def _found(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Calibration, familiarity and bounds, if the folder has them."""
    found: dict[str, Any] = {}
    file = str(folder / CONFIG)
    if "calibration" in config:
        found["calibration"] = Calibration.from_dict(config["calibration"], file)
    if "familiarity" in config:
        arrays = read_arrays(folder / FAMILIAR, Familiarity.SAVED)
        found["familiarity"] = Familiarity.from_plain(config["familiarity"], arrays, file)
    if "bounds" in config:
        found["bounds"] = Bounds.from_plain(config["bounds"], file)
    return found


# Evaluators that use a pretrained model as it is. It may be large, so that several of them can share one.


@dataclass(frozen=True, kw_only=True)
class Pretrained(Evaluator):
    """An evaluator that learns nothing: `fit()` loads the model."""

    labels: ClassVar[Use] = "unused"
    dialogues: ClassVar[Use] = "unused"

    @property
    @abstractmethod
    def model_key(self) -> tuple[str, str]:
        """The name or folder that the model was given by, and a hash of its weights."""

    @abstractmethod
    def learned_from(self, other: Self, folder: Path) -> Mapping[str, Any]:
        """The value of each learned field, with the model of another one, which was saved in this folder."""

    def with_parameters(self, parameters: Mapping[str, Any], folder: Path) -> Self:
        """A fitted one with these parameters and the same model, which is not loaded again."""
        other: Self = instance(self.name, type(self), {}, dict(parameters))
        other._remember(other.learned_from(self, folder), self.fitted)
        return other

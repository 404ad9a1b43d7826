"""Models that learn from dialogues alone: shared by reply models and sentence encoders.

`fit`, `save` and `load` are written here once. A class has parameters, learned fields and `learn`, which returns the
value of each learned field; see `learned.py` for what is saved without further code.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from rejoinder._version import __version__
from rejoinder.arguments import checked
from rejoinder.building import check_fields
from rejoinder.data.contexts import TrainedContexts
from rejoinder.data.corpora import dialogues_in
from rejoinder.data.digests import dialogues_digest, digest_of
from rejoinder.data.negatives import places_of
from rejoinder.errors import CallError, NeedsError
from rejoinder.learning.learned import Learned, read_contexts
from rejoinder.learning.run import TrainingRun, training_run
from rejoinder.learning.saving import replacing_folder, write_config
from rejoinder.loading.schema import opening, values_of
from rejoinder.loading.sources import downloads, offline
from rejoinder.metrics.base import plain
from rejoinder.model_folder import CONFIG
from rejoinder.types import Dialogue, JudgedExample

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

    @checked(run=training_run)
    def fit(
        self,
        dialogues: Iterable[Dialogue],
        judged: Iterable[JudgedExample] | None = None,
        *,
        valid: Iterable[Dialogue] = (),
        seed: int = 0,
        run: TrainingRun | None = None,
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

    @checked()
    def save(self, folder: str | Path) -> None:
        """Write what `load` needs into a folder: config.json and array files."""
        fit = self.fitted
        with replacing_folder(Path(folder), self.kind) as fresh:
            write_config(fresh, self._config(fresh, fit.plain, fit.contexts))

    @classmethod
    @checked()
    def load(cls, folder: str | Path) -> Self:
        """The model that was saved in a folder, fitted."""
        home = Path(folder)
        with offline(), opening(home):
            model, config = cls._saved(home)
            found = values_of(DialogueFit, config["fit"], str(home / CONFIG), "fit", _FIT)
            fit = DialogueFit(**found, contexts=read_contexts(home))
            model._remember(model.load_learned(home, config["learned"]), fit)
        return model

"""What reply models and sentence encoders share: both are fitted on dialogues, and tell what on."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from rejoinder._version import __version__
from rejoinder.data.contexts import TrainedContexts
from rejoinder.errors import CallError
from rejoinder.learning.learned import Learned
from rejoinder.metrics.base import plain


class DialogueFit(Protocol):
    """An account of what a model was fitted on."""

    @property
    def seed(self) -> int:
        """Of all that was drawn."""

    @property
    def data(self) -> str:
        """Changes when any dialogue does."""

    @property
    def contexts(self) -> TrainedContexts:
        """Those of the dialogues."""


FitT = TypeVar("FitT", bound=DialogueFit)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FittedOnDialogues(Learned, Generic[FitT]):
    """A model with an account of the dialogues that it learned from."""

    learning: ClassVar[str] = "fitted"
    """What messages call one that has learned."""

    # Two fits of one model are not equal; the hash is that of the parameters, so that `fit` does not change it.
    fit_: FitT | None = dataclasses.field(default=None, init=False, repr=False, hash=False)

    @property
    def fitted(self) -> FitT:
        """What it was fitted on; CallError where it was not."""
        if self.fit_ is None:
            raise CallError(f"{self.name} is not {self.learning}: call fit(), or load one that was saved")
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
        """All that decides what it says, in one line: the parameters and, once fitted, the data and the seed."""
        shown = [f"{key}:{plain(value)}" for key, value in self.parameters.items() if value is not None]
        fit = [] if self.fit_ is None else [f"fit:{self.fit_.data[:12]}", f"seed:{self.fit_.seed}"]
        return "|".join([self.name, *shown, *fit, f"v:{__version__}"])

"""Evaluators whose training takes long: `fit` is told where checkpoints go and what is shown."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rejoinder.evaluators.base import Evaluator
from rejoinder.types import Dialogue, JudgedExample

if TYPE_CHECKING:
    from rejoinder.learning.loop import TrainingRun

_RUN: ContextVar[TrainingRun | None] = ContextVar("_RUN", default=None)
"""How `learn` runs; `fit` hands it on, because it is no parameter: it changes nothing of what is learned."""


@dataclass(frozen=True, kw_only=True)
class ResumableEvaluator(Evaluator):
    """One that can go on where an interrupted training stopped."""

    def fit(
        self,
        dialogues: Iterable[Dialogue] = (),
        judged: Iterable[JudgedExample] | None = None,
        *,
        seed: int = 0,
        run: TrainingRun | None = None,
    ) -> Self:
        """The same evaluator, fitted anew; `run` says where checkpoints go and what is shown."""
        token = _RUN.set(run)
        try:
            return super().fit(dialogues, judged, seed=seed)
        finally:
            _RUN.reset(token)

    @property
    def training_run(self) -> TrainingRun | None:
        """What `fit` was told, while it runs."""
        return _RUN.get()

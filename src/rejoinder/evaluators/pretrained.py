"""Evaluators that use a pretrained model as it is. It may be large, so that several of them can share one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from rejoinder.building import instance
from rejoinder.evaluators.base import Evaluator, Use


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

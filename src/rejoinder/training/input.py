"""The training data that were read, before training starts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

from rejoinder.types import Dialogue, Example, JudgedExample


@dataclass(frozen=True, kw_only=True)
class TrainingInput:
    """What was read to learn from."""

    dialogues: list[Dialogue]
    judged: list[JudgedExample] | None = None
    """None: none were given."""
    valid: list[Any] = field(default_factory=list)
    """Judged examples for an evaluator, dialogues for the others."""
    candidates: list[Example] = field(default_factory=list)
    """Replies that a teacher scores."""
    skipped: tuple[str, ...] = ()
    """Why each record that could not be read was left out."""


def warn_of_skipped(given: TrainingInput) -> None:
    """Warn where records were left out, as `rejoinder.read` does."""
    if given.skipped:
        warnings.warn(f"left out {len(given.skipped)} unreadable records; the first: {given.skipped[0]}", stacklevel=4)

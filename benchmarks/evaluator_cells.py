"""The cells of the table of figures: one scorer on one judged set, and one set with all scorers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evaluator_published import Target, published_on, target_of
from evaluator_scorers import Scorer
from evaluator_sets import Part
from rejoinder.stats.intervals import Interval


@dataclass(frozen=True)
class Cell:
    """One scorer on one set."""

    scorer: Scorer
    part: Part
    scored: int = 0
    missing: int = 0
    """Replies that people rated and that have no score here."""
    left_out: int = 0
    """Those of them whose context it was trained on."""
    reason: str = ""
    """Why there is no figure."""
    measured: dict[str, Interval] | None = None
    """pearson, spearman"""

    @property
    def target(self) -> Target | None:
        """What should be reached here, if anything."""
        return target_of(self.part.key, self.scorer.setting, self.scorer.targets)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        intervals = {
            kind: {"estimate": found.estimate, "low": found.low, "high": found.high}
            for kind, found in (self.measured or {}).items()
        }
        return {
            "scorer": self.scorer.name,
            "scored": self.scored,
            "missing": self.missing,
            "left_out": self.left_out,
            **({"reason": self.reason} if self.reason else intervals),
        }


@dataclass(frozen=True)
class Row:
    """One set with all scorers."""

    part: Part
    replies: int
    total: int
    """Replies of the whole set; more than `replies` where contexts were sampled."""
    contexts: int
    cells: tuple[Cell, ...]

    def of(self, setting: str) -> list[Cell]:
        """The cells of one setting."""
        return [cell for cell in self.cells if cell.scorer.setting == setting]

    def to_dict(self, setting: str) -> dict[str, Any]:
        """Plain values."""
        others = published_on(self.part.key, setting)
        return {
            "judged": self.part.key,
            "dimension": self.part.dimension,
            "replies": self.replies,
            "of": self.total,
            "contexts": self.contexts,
            "cells": [cell.to_dict() for cell in self.of(setting)],
            "published": [
                {"pearson": found.pearson, "spearman": found.spearman, "source": found.source} for found in others
            ],
        }

"""The cells of the page: one scorer on one judged set, and one set with all scorers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.evaluators.scorers import FoundScorer, Scorer
from papers.evaluators.sets import Part
from papers.evaluators.targets import Target, target_of
from papers.published.judged_sets import published_on
from rejoinder.data.judged import JudgedSet
from rejoinder.stats.correlation_intervals import bootstrap_correlations
from rejoinder.stats.intervals import Interval

FEWEST = 10
"""Scored replies below which no correlation is worth printing."""


@dataclass(frozen=True)
class Cell:
    """One scorer on one set."""

    scorer: Scorer
    part: Part
    scored: int = 0
    missing: int = 0
    """Replies that people rated and that have no score here."""
    left_out: int = 0
    """Replies among these whose context the scorer was trained on."""
    reason: str = ""
    """Why there is no figure."""
    measured: dict[str, Interval] | None = None
    """pearson, spearman"""

    @classmethod
    def of(cls, found: FoundScorer, part: Part, judged: JudgedSet, *, compute: bool, resamples: int) -> Cell:
        """A scorer's agreement with people; intervals resample contexts."""
        scorer, column = found.scorer, found.column(part, judged, compute=compute)
        if column.scores is None:
            return cls(scorer, part, reason=column.reason)
        human = judged.human(part.dimension)
        rated = ~np.isnan(human)
        known = int((rated & ~np.isnan(column.scores)).sum())
        counts = (known, int(rated.sum()) - known, column.left_out)
        if known < FEWEST:
            return cls(scorer, part, *counts, reason=f"only {known} replies could be scored")
        measured = bootstrap_correlations(column.scores, human, judged.contexts, resamples)
        return cls(scorer, part, *counts, measured={kind: each[0] for kind, each in measured.items()})

    @property
    def target(self) -> Target | None:
        """The target here, if there is one."""
        return target_of(self.part.key, self.scorer.setting, self.scorer.targets)

    def meets(self, kind: str) -> bool | None:
        """Whether a coefficient reaches its target; None where none is set."""
        asked = None if self.target is None else getattr(self.target, kind)
        if asked is None or self.measured is None:
            return None
        return bool(self.measured[kind].estimate >= asked)

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
            "published": [{**found.figures._asdict(), "source": found.source} for found in others],
        }

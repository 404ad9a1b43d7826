"""The judged sets and scores that the sections of the ADEM page share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rejoinder.defaults import RESAMPLES
from rejoinder.evaluators.adem.adem import Adem, ContextAdem, ReferenceAdem
from rejoinder.evaluators.adem.dot import EncoderDot
from rejoinder.evaluators.base import Evaluator
from rejoinder.learning.splits import drawn_groups
from rejoinder.meta.experiments.cross_validation import cross_validate
from rejoinder.meta.experiments.partition import PUBLISHED, LabelledSet, context_groups
from rejoinder.meta.experiments.systems import merged_systems
from rejoinder.meta.judged import JudgedSet
from rejoinder.reproduction.adem.encoders import stored_encoders, unseen
from rejoinder.reproduction.inputs import DIMENSIONS, Inputs
from rejoinder.types import Scores

FOLDS = 5
BY_REPLY = "the paper's split is by reply"
FIXED: dict[str, Any] = {"components": 50, "gamma": 0.02, "towards": "identity"}
"""For studies of very many fits: the components of Zhao et al. 2020, the gamma of Lowe et al. 2017."""

Columns = dict[str, Scores]


@dataclass(frozen=True, eq=False)
class Study:
    """Evaluators, judged sets and their scores, each computed at first use."""

    inputs: Inputs
    names: tuple[str, ...]
    """Of the judged sets."""
    contexts: int | None
    """At most this many random contexts per set; all by default."""
    only: tuple[str, ...]
    """Encoders to use, of those found in the models' folder; all by default."""
    resamples: int = RESAMPLES

    @cached_property
    def read(self) -> dict[str, JudgedSet]:
        """The judged sets; a system is known by its model, not by its decoding."""
        return {name: self._read(name) for name in self.names}

    @cached_property
    def encoders(self) -> dict[str, str]:
        """Encoder -> the folder of its vectors."""
        return stored_encoders(self.inputs, self.read.values(), self.only)

    @cached_property
    def sets(self) -> dict[str, LabelledSet]:
        """Set -> its replies to contexts that no encoder was trained on."""
        return {
            name: LabelledSet.of(unseen(judged, self.encoders), DIMENSIONS[name]) for name, judged in self.read.items()
        }

    @cached_property
    def out_of_fold(self) -> dict[str, Columns]:
        """Set -> evaluator and encoder -> out-of-fold scores."""
        return {name: self.scored(tested, FOLDS) for name, tested in self.sets.items()}

    def scored(self, tested: LabelledSet, folds: int | str) -> Columns:
        """The scores of each evaluator over each encoder, fitted on other folds, or on the published training split."""
        reason = BY_REPLY if folds == PUBLISHED else None
        found: Columns = {}
        for encoder, folder in self.encoders.items():
            made = {f"{label}, {encoder}": evaluator for label, evaluator in evaluators(folder).items()}
            found |= cross_validate(
                made,
                tested.judged,
                tested.dimension,
                folds=folds,
                allow_leakage=reason,
                folder=self.inputs.cache.cells,
                resamples=self.resamples,
            ).scores
        return found

    def fixed(self) -> dict[str, Evaluator]:
        """ADEM with fixed settings over each encoder."""
        return {f"adem, {name}": Adem(encoder=folder, **FIXED) for name, folder in self.encoders.items()}

    def _read(self, name: str) -> JudgedSet:
        judged = self.inputs.judged(name)
        if self.contexts is not None:
            groups = context_groups(judged.examples)
            judged = judged.take(np.flatnonzero(drawn_groups(groups, self.contexts, 0)))
        return merged_systems(judged, 1)


def evaluators(folder: str) -> dict[str, Evaluator]:
    """All evaluators that are compared, over one encoder."""
    return {
        "dot": EncoderDot(encoder=folder),
        "adem": Adem(encoder=folder),
        "c-adem": ContextAdem(encoder=folder),
        "r-adem": ReferenceAdem(encoder=folder),
        "adem, length taken out": Adem(encoder=folder, debias=True),
        "adem, 7 components, sgd": Adem(encoder=folder, components=7, gamma=0.02, towards="zero", solver="sgd"),
        "adem, 50 components": Adem(encoder=folder, components=50, gamma=0.02, towards="zero"),
    }

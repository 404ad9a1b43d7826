"""The judged sets and scores that the sections of the ADEM page share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from papers.adem.encoders import stored_encoders, unseen
from papers.inputs import DIMENSIONS, Inputs
from rejoinder.data.judged import JudgedSet
from rejoinder.evaluators.adem.adem import PAPER_PRESET, PAPER_SETTING, PAPER_SETTINGS, Adem, ContextAdem, ReferenceAdem
from rejoinder.evaluators.adem.baselines import EncoderDot
from rejoinder.evaluators.base import Evaluator
from rejoinder.learning.data import drawn_groups
from rejoinder.options import RESAMPLES
from rejoinder.trusting.cross_validation import cross_validate, merged_systems
from rejoinder.trusting.experiments import PUBLISHED, LabelledSet, groups_within_set
from rejoinder.types import Scores

FOLDS = 5
BY_REPLY = "the paper's split is by reply"
COMPONENTS, GAMMA, TOWARDS = PAPER_SETTING
"""Of Lowe et al. 2017 with VHRED."""
ZHAO_COMPONENTS = 50
"""In Zhao et al. 2020."""
FIXED: dict[str, Any] = {"components": ZHAO_COMPONENTS, "gamma": GAMMA, "towards": "identity"}
"""For studies of very many fits: the components of Zhao et al. 2020, the gamma of Lowe et al. 2017."""
SEVERAL_SYSTEMS = ("zhao2020_dailydialog", "zhao2020_personachat")
"""The sets with replies of several models next to true ones."""
ZHAO_LABEL = f"adem, {ZHAO_COMPONENTS} components"

Columns = dict[str, Scores]


@dataclass(frozen=True, eq=False)
class Study:
    """Evaluators, judged sets and their scores, each computed at first use."""

    inputs: Inputs
    names: tuple[str, ...]
    """Of the judged sets."""
    contexts: int
    """At most this many random contexts per set."""
    only: tuple[str, ...]
    """Encoders to use; without any, all that exist."""
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

    @property
    def sets_with_systems(self) -> dict[str, LabelledSet]:
        """Those of the sets with replies of several systems."""
        return {name: tested for name, tested in self.sets.items() if name in SEVERAL_SYSTEMS}

    @cached_property
    def out_of_fold(self) -> dict[str, Columns]:
        """Set -> evaluator and encoder -> out-of-fold scores."""
        return {name: self.scored(tested, FOLDS) for name, tested in self.sets.items()}

    def scored(self, tested: LabelledSet, folds: int | str) -> Columns:
        """The scores of each evaluator over each encoder, fitted on other folds, or on the published training split."""
        reason = BY_REPLY if folds == PUBLISHED else None
        found: Columns = {}
        for encoder, folder in self.encoders.items():
            made = {f"{label}, {encoder}": each for label, each in evaluators(encoder, folder).items()}
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
        groups = groups_within_set(judged.examples)
        return merged_systems(judged.take(np.flatnonzero(drawn_groups(groups, self.contexts, 0))), 1)


def evaluators(encoder: str, folder: str) -> dict[str, Evaluator]:
    """All evaluators that are compared, over the vectors of one encoder."""
    return {
        "dot": EncoderDot(encoder=folder),
        "adem": Adem(encoder=folder),
        "c-adem": ContextAdem(encoder=folder),
        "r-adem": ReferenceAdem(encoder=folder),
        "adem, length bias removed": Adem(encoder=folder, debias=True),
        paper_label(encoder): Adem(encoder=folder, preset=PAPER_PRESET),
        ZHAO_LABEL: Adem(encoder=folder, components=ZHAO_COMPONENTS, gamma=GAMMA, towards=TOWARDS),
    }


def paper_label(encoder: str) -> str:
    """ADEM with the settings of Lowe et al. 2017, which depend on the encoder."""
    components, _, _ = PAPER_SETTINGS.get(encoder, PAPER_SETTING)
    return f"adem, {components} components, sgd"

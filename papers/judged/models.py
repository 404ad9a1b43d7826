"""Scores of ADEM, RUBER and the default evaluator on judged sets, by models that are trained within minutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from papers.adem.encoders import stored_encoders
from papers.adem.study import BY_REPLY, FIXED, FOLDS
from papers.inputs import MINILM, Inputs
from papers.judged.sets import METRICS, JudgedScores
from papers.published.zhao2020 import DAILYDIALOG
from rejoinder.data.contexts import without_contexts
from rejoinder.data.judged import JudgedSet
from rejoinder.evaluators.adem.adem import Adem
from rejoinder.evaluators.blend.blend import Blend
from rejoinder.evaluators.ruber.ruber import Ruber
from rejoinder.registry import load
from rejoinder.trusting.cross_validation import cross_validate, merged_systems
from rejoinder.trusting.experiments import PUBLISHED, Folds
from rejoinder.trusting.probing import ScoredSet
from rejoinder.types import Example, Scores

ADEM, RUBER, DEFAULT, BLEND = "ADEM", "RUBER", "default@1", "blend"
ENCODER = MINILM
MEMBERS = (DEFAULT, "default-fast", "fluency")
"""Of the blend: those of `default`, which needs no reference."""
OVERLAP = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE")
CORPUS, DIALOGUES, EPOCHS = "dailydialog.train", 5_000, 3
"""What RUBER is trained on: a minute on one core. The page `ruber-figures` has models that were trained for longer."""


@dataclass(frozen=True, eq=False)
class Evaluators:
    """Evaluators and metrics on judged sets of the data folder."""

    scores: JudgedScores
    tested: tuple[str, ...]
    """All sets that RUBER is tested on: dialogues with their contexts are left out of its training."""

    @property
    def inputs(self) -> Inputs:
        """The data and models."""
        return self.scores.inputs

    def scored(self, name: str, metrics: Sequence[str]) -> ScoredSet:
        """A set with the scores of these metrics; a system is a model, whatever its decoding."""
        scored = self.scores.scored(name, {label: METRICS[label] for label in metrics})
        return replace(scored, judged=merged_systems(scored.judged, 1))

    def adding(self, scored: ScoredSet, columns: Mapping[str, Scores]) -> ScoredSet:
        """The set with further columns of scores."""
        return replace(scored, scores={**scored.scores, **columns})

    def adem(self, judged: JudgedSet, dimension: str, folds: Folds = FOLDS) -> Scores:
        """Out-of-fold scores of ADEM with fixed settings over a pretrained encoder.

        With the published split, only the test replies have a score.
        """
        result = cross_validate(
            {ADEM: self.unfitted_adem(judged)},
            judged,
            dimension,
            folds=folds,
            allow_leakage=BY_REPLY if folds == PUBLISHED else None,
            folder=self.inputs.cache.cells,
            resamples=10,
        )
        return result.scores[ADEM]

    def adem_parts(self, judged: JudgedSet) -> dict[str, Scores]:
        """ADEM fitted on the published training part, and the terms of that one model, by row of the paper's table."""
        fitted = self.unfitted_adem(judged).fit(
            judged=[item for item in judged.judged_examples() if item.split != "test"]
        )
        models = {ADEM: fitted} | {f"{ADEM}, {part}": fitted.part(part) for part in ("reference", "context")}
        return {row: model.score(judged.examples) for row, model in models.items()}

    def unfitted_adem(self, *judged: JudgedSet) -> Adem:
        """ADEM over the stored vectors of the texts of these sets."""
        return Adem(encoder=stored_encoders(self.inputs, judged, (ENCODER,))[ENCODER], **FIXED)

    def unfitted_blend(self) -> Blend:
        """A blend of the parts of `default`, to be fitted on labels."""
        return Blend(members=MEMBERS, models=("ridge",))

    def default(self, examples: Sequence[Example]) -> Scores:
        """Scores of the evaluator that comes with the package; NaN for contexts that it was trained on."""
        evaluator = load(DEFAULT)
        scores: Scores = np.where(evaluator.trained_contexts.holds(examples), np.nan, evaluator.score(examples))
        return scores

    @cached_property
    def ruber(self) -> Ruber:
        """RUBER, trained on dialogues that hold no judged context."""
        unfitted = Ruber(encoder="gru", learning_rate=2e-3, batch=128, epochs=EPOCHS)
        tested = [example for name in self.tested for example in self.inputs.judged(name).examples]

        def train() -> Ruber:
            return unfitted.fit(without_contexts(self.inputs.dialogues(CORPUS, DIALOGUES), tested))

        key = [unfitted.signature, CORPUS, DIALOGUES]
        fitted: Ruber = self.inputs.cache.model("ruber-studies", key, train, Ruber.load)
        return fitted

    def ruber_parts(self, examples: Sequence[Example]) -> dict[str, Scores]:
        """Both parts of RUBER, and their arithmetic mean."""
        model = self.ruber
        return {"s_R": model.ref.score(examples), "s_U": model.unref.score(examples), RUBER: model.score(examples)}


@dataclass(frozen=True, eq=False)
class Study:
    """The replies of Zhao et al. 2020 to DailyDialog with all scores, computed at first use."""

    evaluators: Evaluators

    @cached_property
    def overlap(self) -> ScoredSet:
        """With the scores of overlap metrics and ADEM."""
        scored = self.evaluators.scored(DAILYDIALOG, OVERLAP)
        return self.evaluators.adding(scored, {ADEM: self.evaluators.adem(scored.judged, scored.dimension)})

    @cached_property
    def everything(self) -> ScoredSet:
        """With those of RUBER and the default evaluator as well."""
        examples = self.overlap.judged.examples
        ruber_score = self.evaluators.ruber_parts(examples)[RUBER]
        return self.evaluators.adding(self.overlap, {RUBER: ruber_score, DEFAULT: self.evaluators.default(examples)})

    @cached_property
    def shown(self) -> dict[str, Scores]:
        """The columns of examples."""
        return {label: self.everything.scores[label] for label in ("BLEU-2", "ROUGE", ADEM, RUBER, DEFAULT)}

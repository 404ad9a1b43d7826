"""How few labels are enough? (Zhao et al. 2020, section 6.2 and Figure 2)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rejoinder.meta.experiments.amounts import label_amounts
from rejoinder.meta.experiments.makers import Makers
from rejoinder.meta.experiments.partition import Folds, LabelledSet
from rejoinder.meta.experiments.result import LearningResult

COUNTS = (25, 50, 100, 200, 400)
"""Numbers of labels; the paper's curve goes from a few dozen to 720, and is nearly flat from 100 on."""


def low_resource(
    make_evaluator: Makers,
    judged_set: Any,
    dimension: str | None = None,
    *,
    counts: Sequence[int] | None = None,
    folds: Folds = 5,
    seed: int = 0,
    **settings: Any,
) -> LearningResult:
    """How well evaluators agree with people when they are fitted on a few labels, and on all of them.

    By default the numbers of labels are those of `COUNTS` that every training set has. `settings` are those of
    `label_amounts`.
    """
    tested = LabelledSet.of(judged_set, dimension)
    most = min(len(tested.training(part.train)) for part in tested.parts(folds, seed))
    chosen = tuple(count for count in COUNTS if count < most) if counts is None else counts
    result = label_amounts(
        make_evaluator,
        tested.judged,
        tested.dimension,
        fractions=(1.0,),
        counts=chosen,
        folds=folds,
        seed=seed,
        **settings,
    )
    return replace(result, name="low-resource", source="Zhao et al. 2020, section 6.2 and Figure 2")

"""Human-likeness: classifying human against model replies on unseen contexts."""

from __future__ import annotations

import numpy as np

from papers.adem.study import Study
from rejoinder.arrays import Bools
from rejoinder.evaluators.adem.baselines import HUMAN, LEFT_OUT, HumanLikeness
from rejoinder.trusting.cross_validation import cross_validate, trust_figures
from rejoinder.trusting.experiments import LabelledSet
from rejoinder.trusting.probing import cell_text
from rejoinder.types import Scores

GENERIC = 3
"""A reply that models gave to at least this many contexts counts as generic."""


def likeness_rows(study: Study) -> list[list[str]]:
    """One row per set and encoder: area under the ROC curve, means of groups, and correlation with ratings."""
    rows = []
    for name, tested in study.sets_with_systems.items():
        systems = tested.judged.systems
        by_people, by_models = np.isin(systems, HUMAN), ~np.isin(systems, [*HUMAN, *LEFT_OUT])
        for encoder, folder in study.encoders.items():
            evaluator = HumanLikeness(encoder=folder)
            result = cross_validate(
                evaluator,
                tested.judged,
                tested.dimension,
                folder=study.inputs.cache.cells,
                resamples=study.resamples,
            )
            (scores,) = result.scores.values()
            each, _ = trust_figures(
                [scores, np.where(by_models, scores, np.nan)], tested, resamples=study.resamples, seed=0
            )
            area = area_under(scores[by_people], scores[by_models])
            groups = (by_people, by_models, by_models & given_often(tested))
            means = [_mean(scores[group]) for group in groups]
            rows.append([name, encoder, f"{area:.3f}", *means, *(cell_text(one.pearson) for one in each)])
    return rows


def area_under(higher: Scores, lower: Scores) -> float:
    """How often one of the first is above one of the second, ties counting half."""
    order = np.sort(lower)
    below = (np.searchsorted(order, higher, "left") + np.searchsorted(order, higher, "right")) / 2
    return float(below.mean() / len(lower))


def given_often(tested: LabelledSet, least: int = GENERIC) -> Bools:
    """Which replies were given to at least this many contexts."""
    contexts: dict[str, set[int]] = {}
    for example, group in zip(tested.judged.examples, tested.groups.tolist(), strict=True):
        contexts.setdefault(example.response, set()).add(group)
    return np.array([len(contexts[example.response]) >= least for example in tested.judged.examples])


def _mean(scores: Scores) -> str:
    return f"{scores.mean():.2f} ({len(scores)})" if len(scores) else "- (0)"

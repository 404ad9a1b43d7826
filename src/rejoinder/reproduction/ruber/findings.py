"""Claims of the papers and targets of this package, each with our result."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rejoinder.meta.study import shown
from rejoinder.reproduction.ruber.models import OTHER, SETS, TUNED
from rejoinder.reproduction.ruber.study import Study
from rejoinder.stats.intervals import Interval
from rejoinder.types import Scores

TARGETS = {
    ("DailyDialog", "arithmetic"): ("blend without labels on DailyDialog", 0.30),
    ("PersonaChat", "arithmetic"): ("blend without labels on PersonaChat", 0.40),
    ("DailyDialog", TUNED[1]): ("tuned blend on DailyDialog, folds by context", 0.40),
}
"""Corpus and score -> the target for r, set before anything was measured."""


def claims(study: Study) -> list[list[str]]:
    """The papers' claims; a difference counts if its interval excludes 0."""
    worse, above, labels = {}, {}, {}
    rising = []
    for corpus in SETS:
        for encoder in study.encoders:
            name = f"{corpus} {encoder}"
            lowest = min(("min", "geometric", "arithmetic"), key=lambda score: study.r(corpus, encoder, score))
            part = max(("s_R", "s_U"), key=lambda score: study.r(corpus, encoder, score))
            worse[name] = study.compared(corpus, (encoder, "max"), (encoder, lowest)).difference
            above[name] = study.compared(corpus, (encoder, part), (encoder, "arithmetic")).difference
            labels[name] = study.compared(corpus, (encoder, "arithmetic"), (encoder, TUNED[1])).difference
            rising += [name] if (np.diff(study.quantiles(corpus, encoder)) > 0).all() else []
    holds = "yes" if len(rising) == len(worse) else "in part" if rising else "no"
    return [
        ["max is the worst blend: by how much the next worst is better", *verdict(worse)],
        ["the arithmetic blend is better than its better part", *verdict(above)],
        ["labels help the arithmetic blend", *verdict(labels)],
        [
            "DailyDialog -> PersonaChat: the arithmetic blend loses",
            *verdict(transfer_costs(study, "PersonaChat")),
        ],
        ["s_R loses more than half of its r without true replies", *_collapse(study)],
        [
            "mean s_U rises with each fifth of human scores",
            holds,
            f"{len(rising)} of {len(worse)}: {', '.join(rising)}",
        ],
    ]


def targets(study: Study) -> list[list[str]]:
    """The targets of this package."""
    rows = []
    for (corpus, score), (name, target) in TARGETS.items():
        found = {encoder: study.r(corpus, encoder, score) for encoder in study.encoders}
        reached = [encoder for encoder, value in found.items() if value >= target]
        figures = ", ".join(f"{encoder} {value:.3f}" for encoder, value in found.items())
        rows.append(
            [f"{name}: r of at least {target:.2f}", "by " + ", ".join(reached) if reached else "missed", figures]
        )
    for corpus in SETS if {"GRU", "MiniLM"} <= set(study.encoders) else ():
        difference = study.compared(corpus, ("GRU", "s_U"), ("MiniLM", "s_U")).difference
        clear = "yes" if difference.low > 0 else "no"
        rows.append([f"MiniLM's s_U clearly above the GRU's, {corpus}", clear, shown(difference)])
    return rows


def transfer_costs(study: Study, corpus: str) -> dict[str, Interval]:
    """Encoder -> by how much a model of the corpus is above one of the other corpus, on the replies of the corpus."""
    return {
        encoder: study.compared_on(
            corpus,
            transferred(study, corpus, encoder, "arithmetic"),
            study.untuned(corpus, corpus, encoder)["arithmetic"],
        ).difference
        for encoder in study.encoders
    }


def transferred(study: Study, corpus: str, encoder: str, score: str) -> Scores:
    """Scores of the replies of a corpus by the model of the other."""
    return study.untuned(OTHER[corpus], corpus, encoder)[score]


def _collapse(study: Study) -> tuple[str, str]:
    """Whether s_R loses more than half of its r on DailyDialog without true replies."""
    replies, encoder = study.replies["DailyDialog"], study.encoders[0]
    column, others = study.column("DailyDialog", encoder, "s_R"), ~replies.true
    before = study.r("DailyDialog", encoder, "s_R")
    after = study.agreement(column, replies.human, replies, others)["pearson"]
    return "yes" if after.high < before / 2 else "no", f"DailyDialog: {before:.3f}; without them {shown(after)}"


def verdict(differences: Mapping[str, Interval]) -> tuple[str, str]:
    """Whether the intervals of differences are above 0: all, some or none; and the differences."""
    clear = [interval.low > 0 for interval in differences.values()]
    said = "yes" if all(clear) else "in part" if any(clear) else "not shown"
    return said, "; ".join(f"{name} {shown(interval)}" for name, interval in differences.items())

"""Differences of r that the conclusions about RUBER rest on, and the targets of this package."""

from __future__ import annotations

from papers.ruber.models import SETS, TUNED
from papers.ruber.study import Study
from rejoinder.trusting.probing import cell_text

BLENDS = ("min", "geometric", "arithmetic")
"""All blends except max."""
PARTS = ("s_R", "s_U")
DIFFERENCES = (
    "worst other blend above max",
    "arithmetic above its better part",
    "arithmetic, tuned above arithmetic",
)
TARGETS = {
    ("DailyDialog", "arithmetic"): ("blend without labels on DailyDialog", 0.30),
    ("PersonaChat", "arithmetic"): ("blend without labels on PersonaChat", 0.40),
    ("DailyDialog", TUNED[1]): ("tuned blend on DailyDialog, folds by context", 0.40),
}
"""Corpus and score -> the target for r, set before anything was measured."""


def difference_rows(study: Study) -> list[list[str]]:
    """Corpus and encoder, then one interval for each of DIFFERENCES."""
    rows = []
    for corpus in SETS:
        for encoder in study.encoders:
            r = {score: study.r(corpus, encoder, score) for score in (*BLENDS, *PARTS)}
            pairs = (
                ("max", min(BLENDS, key=r.__getitem__)),
                (max(PARTS, key=r.__getitem__), "arithmetic"),
                ("arithmetic", TUNED[1]),
            )
            found = [study.compared(corpus, (encoder, first), (encoder, second)) for first, second in pairs]
            rows.append([corpus, encoder, *(cell_text(each.difference) for each in found)])
    return rows


def target_rows(study: Study) -> list[list[str]]:
    """One row per target: by which encoders it is reached, and their r."""
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
        rows.append([f"MiniLM's s_U clearly above the GRU's, {corpus}", clear, cell_text(difference)])
    return rows

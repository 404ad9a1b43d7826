"""Targets of this package on the judged sets, set before anything was measured."""

from __future__ import annotations

from dataclasses import dataclass

from papers.published.judged_sets import SEMI, ZERO
from papers.published.zhao2020 import DAILYDIALOG, PERSONACHAT, ROBERTA_EVAL, TABLE_4


@dataclass(frozen=True, slots=True)
class Target:
    """The target for a model; None if no figure is set."""

    judged: str
    setting: str
    model: str
    """`default` or `mpnet`."""
    pearson: float | None
    spearman: float


_ROBERTA_EVAL = TABLE_4.correlations(ROBERTA_EVAL)
"""(Trained on, tested on) -> the published figures, which `mpnet` should reach."""

TARGETS = (
    Target("zhao2020_dailydialog", ZERO, "default", None, 0.45),
    Target("zhao2020_personachat", ZERO, "default", None, 0.62),
    Target("gupta2019_dailydialog", ZERO, "default", None, 0.50),
    Target("grade_dailydialog", ZERO, "default", None, 0.25),
    Target("grade_empatheticdialogues", ZERO, "default", None, 0.30),
    Target("usr_personachat", ZERO, "default", None, 0.50),
    Target("zhao2020_dailydialog/test", SEMI, "default", 0.55, 0.55),
    Target("zhao2020_personachat/test", SEMI, "default", 0.70, 0.70),
    Target("zhao2020_dailydialog/test", SEMI, "mpnet", *_ROBERTA_EVAL[DAILYDIALOG, DAILYDIALOG]),
    Target("zhao2020_personachat/test", SEMI, "mpnet", *_ROBERTA_EVAL[PERSONACHAT, PERSONACHAT]),
)


def target_of(judged: str, setting: str, model: str) -> Target | None:
    """The target of a model on a set, if there is one."""
    return next((t for t in TARGETS if (t.judged, t.setting, t.model) == (judged, setting, model)), None)

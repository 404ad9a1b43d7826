"""What others published on the judged sets, and what this project sets out to reach, typed from their sources."""

from __future__ import annotations

from dataclasses import dataclass

ROBERTA_EVAL = "RoBERTa-eval, 355 M parameters (Zhao et al. 2020, Tables 3 and 4)"
MDD_EVAL = "MDD-Eval, all 900 (Zhang et al. 2022)"
COLLECTED = "the best that we know of"


@dataclass(frozen=True, slots=True)
class Published:
    """Pearson and Spearman of somebody's evaluator."""

    judged: str
    setting: str
    pearson: float
    spearman: float
    source: str


@dataclass(frozen=True, slots=True)
class Target:
    """What a model of ours should reach; None where no figure is set."""

    judged: str
    setting: str
    model: str
    """`default` or `mpnet`."""
    pearson: float | None
    spearman: float


PUBLISHED = (
    Published("zhao2020_dailydialog", "zero", 0.48, 0.57, MDD_EVAL),
    Published("zhao2020_dailydialog/test", "zero", 0.31, 0.23, "BLEU-2 (Zhao et al. 2020, Table 3)"),
    Published("zhao2020_dailydialog/test", "zero", 0.25, 0.23, "embedding average (the same)"),
    Published("zhao2020_dailydialog/test", "zero", 0.37, 0.31, "RUBER (the same)"),
    Published("zhao2020_personachat", "zero", 0.54, 0.62, MDD_EVAL),
    Published("grade_dailydialog", "zero", 0.34, 0.36, COLLECTED),
    Published("grade_empatheticdialogues", "zero", 0.36, 0.40, COLLECTED),
    Published("grade_empatheticdialogues", "zero", 0.45, 0.38, COLLECTED),
    Published("usr_personachat", "zero", 0.50, 0.52, COLLECTED),
    Published("zhao2020_dailydialog/test", "semi", 0.64, 0.66, ROBERTA_EVAL),
    Published("zhao2020_dailydialog/test", "semi", 0.45, 0.41, "RUBER, semi-supervised (Zhao et al. 2020, Table 3)"),
    Published("zhao2020_dailydialog/test", "semi", 0.50, 0.47, "RoBERTa-eval from PersonaChat labels (Table 4)"),
    Published("zhao2020_personachat/test", "semi", 0.75, 0.76, ROBERTA_EVAL),
    Published("zhao2020_personachat/test", "semi", 0.69, 0.69, "RoBERTa-eval from DailyDialog labels (Table 4)"),
    Published("humod", "semi", 0.58, 0.58, f"{COLLECTED}, with labels of the set"),
)

TARGETS = (
    Target("zhao2020_dailydialog", "zero", "default", None, 0.45),
    Target("zhao2020_personachat", "zero", "default", None, 0.62),
    Target("gupta2019_dailydialog", "zero", "default", None, 0.50),
    Target("grade_dailydialog", "zero", "default", None, 0.25),
    Target("grade_empatheticdialogues", "zero", "default", None, 0.30),
    Target("usr_personachat", "zero", "default", None, 0.50),
    Target("zhao2020_dailydialog/test", "semi", "default", 0.55, 0.55),
    Target("zhao2020_personachat/test", "semi", "default", 0.70, 0.70),
    Target("zhao2020_dailydialog/test", "semi", "mpnet", 0.64, 0.66),
    Target("zhao2020_personachat/test", "semi", "mpnet", 0.75, 0.76),
)


def target_of(judged: str, setting: str, model: str) -> Target | None:
    """The target of a model on a set, if there is one."""
    return next((t for t in TARGETS if (t.judged, t.setting, t.model) == (judged, setting, model)), None)


def published_on(judged: str, setting: str) -> list[Published]:
    """What others reached on a set."""
    return [found for found in PUBLISHED if (found.judged, found.setting) == (judged, setting)]

"""What other authors' evaluators reach on the judged sets, with and without labels of these sets."""

from __future__ import annotations

from dataclasses import dataclass

from papers.published import zhao2020
from papers.published.records import Correlations
from papers.published.zhao2020 import DAILYDIALOG, PERSONACHAT

ZERO, SEMI = "zero", "semi"
"""Trained without any judged replies; trained with some."""


@dataclass(frozen=True, slots=True)
class Published:
    """Pearson and Spearman of one evaluator on one judged set."""

    judged: str
    """The set; with /test, its published test split."""
    setting: str
    figures: Correlations
    source: str


_MDD_EVAL = "MDD-Eval, all 900 (Zhang et al. 2022)"
_TEST = f"{DAILYDIALOG}/test"


def _zhao_table_3(row: str, setting: str, source: str) -> Published:
    return Published(_TEST, setting, zhao2020.TABLE_3.correlations()[row], source)


def _zhao_table_4(train: str, test: str, source: str) -> Published:
    return Published(f"{test}/test", SEMI, zhao2020.TABLE_4.correlations(zhao2020.ROBERTA_EVAL)[train, test], source)


_ROBERTA_EVAL = "RoBERTa-eval, 355 M parameters (Zhao et al. 2020, Tables 3 and 4)"

PUBLISHED = (
    Published(DAILYDIALOG, ZERO, Correlations(0.48, 0.57), _MDD_EVAL),
    _zhao_table_3("BLEU-2", ZERO, "BLEU-2 (Zhao et al. 2020, Table 3)"),
    _zhao_table_3("average", ZERO, "embedding average (the same)"),
    _zhao_table_3("RUBER", ZERO, "RUBER (the same)"),
    Published(PERSONACHAT, ZERO, Correlations(0.54, 0.62), _MDD_EVAL),
    _zhao_table_4(DAILYDIALOG, DAILYDIALOG, _ROBERTA_EVAL),
    _zhao_table_3("RUBER, semi-supervised", SEMI, "RUBER, semi-supervised (Zhao et al. 2020, Table 3)"),
    _zhao_table_4(PERSONACHAT, DAILYDIALOG, "RoBERTa-eval from PersonaChat labels (Table 4)"),
    _zhao_table_4(PERSONACHAT, PERSONACHAT, _ROBERTA_EVAL),
    _zhao_table_4(DAILYDIALOG, PERSONACHAT, "RoBERTa-eval from DailyDialog labels (Table 4)"),
)


def published_on(judged: str, setting: str) -> list[Published]:
    """What others reached on a set."""
    return [found for found in PUBLISHED if (found.judged, found.setting) == (judged, setting)]

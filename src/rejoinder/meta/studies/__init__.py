"""Studies of metrics from the literature, one function call each.

A study takes a `ScoredSet` and returns a `StudyResult`, or None where the data it needs is missing.

In reading order:

| module | contents |
|---|---|
| `human_scale` | the human rating scale, and metric scores mapped to it |
| `true_replies` | which replies equal their own reference |
| `wording` | phrases that the findings share |
| `length_bias` | do metrics favour replies that are as long as the reference? |
| `missed_replies` | good replies that a metric scores low, and bad ones that it scores high |
| `spread` | how much of the human scale a metric uses |
| `without_true_replies` | the correlation when replies that equal their reference are left out |
| `noise` | the correlation under noisy labels and rounded scores |
| `perturbations`, `adversarial` | how scores change when replies are damaged |
| `scatter` | one dot per reply, metric score against human score |
| `judge_card` | judges: repeatability, flips, length, calibration, cost; `meta` runs it for every judge |
"""

from __future__ import annotations

import importlib

from rejoinder.errors import UnknownNameError
from rejoinder.meta.study import ScoredSet, StudyResult

STUDIES: dict[str, str] = {
    "length-bias": "length_bias",
    "missed-replies": "missed_replies",
    "spread": "spread",
    "without-true-replies": "without_true_replies",
    "noise": "noise",
    "adversarial": "adversarial",
    "scatter": "scatter",
}
"""Name -> module of this package with its function `study`."""


def run_study(name: str, scored: ScoredSet) -> StudyResult | None:
    """The result of the named study."""
    if name not in STUDIES:
        raise UnknownNameError("study", name, [*STUDIES, "all"])
    result: StudyResult | None = importlib.import_module(f"rejoinder.meta.studies.{STUDIES[name]}").study(scored)
    return result

"""The studies that the papers make of metrics, each one call.

A study takes a `ScoredSet` and gives a `StudyResult`, or None where the data do not have what it looks at.

| file | what comes out |
|---|---|
| `length_bias` | do metrics favour replies that are as long as the reference? |
| `missed_replies` | good replies that a metric scores low, and bad ones that it scores high |
| `spread` | how much of the people's scale a metric uses |
| `without_true_replies` | the correlation that is left when no reply is its own reference |
| `noise` | the correlation under noisy labels and rounded scores |
| `adversarial` | what damaged replies score, by `perturbations` |
| `scatter` | every reply as a dot |
| `human_scale` | people's scale, and metrics put on it |
| `true_replies` | which replies are their own reference |
| `wording` | the sentences of findings |
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
"""Name -> module of this package whose function `study` makes it."""


def run_study(name: str, scored: ScoredSet) -> StudyResult | None:
    """The result of the named study."""
    if name not in STUDIES:
        raise UnknownNameError("study", name, [*STUDIES, "all"])
    result: StudyResult | None = importlib.import_module(f"rejoinder.meta.studies.{STUDIES[name]}").study(scored)
    return result

"""Studies of metrics from the literature by name: `probes` and `robustness` have one function for each.

A study takes a `ScoredSet` and returns a `StudyResult`, or None where the data it needs is missing.
"""

from __future__ import annotations

import importlib

from rejoinder.errors import UnknownNameError
from rejoinder.trusting.study import ScoredSet, StudyResult

STUDIES: dict[str, tuple[str, str]] = {
    "length-bias": ("probes", "length_bias_study"),
    "missed-replies": ("probes", "missed_replies_study"),
    "spread": ("probes", "spread_study"),
    "without-true-replies": ("robustness", "without_true_replies_study"),
    "noise": ("robustness", "noise_study"),
    "adversarial": ("robustness", "adversarial_study"),
    "scatter": ("probes", "scatter_study"),
}
"""Name -> module of this package, and its function."""


def run_study(name: str, scored: ScoredSet) -> StudyResult | None:
    """The result of the named study."""
    if name not in STUDIES:
        raise UnknownNameError("study", name, [*STUDIES, "all"])
    module, function = STUDIES[name]
    result: StudyResult | None = getattr(importlib.import_module(f"rejoinder.trusting.{module}"), function)(scored)
    return result

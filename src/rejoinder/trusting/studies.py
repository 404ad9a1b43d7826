"""Studies of metrics from the literature by name: `probes` and `robustness` have one function for each.

A study takes a `ScoredSet` and returns a `TableResult`, or None where the data it needs is missing.
"""

from __future__ import annotations

import importlib

from rejoinder.errors import UnknownNameError
from rejoinder.trusting.study import ScoredSet, TableResult

PROBES: dict[str, tuple[str, str]] = {
    "length-bias": ("probes", "length_bias_study"),
    "missed-replies": ("probes", "missed_replies_study"),
    "spread": ("probes", "spread_study"),
    "without-true-replies": ("robustness", "without_true_replies_study"),
    "noise": ("robustness", "noise_study"),
    "adversarial": ("robustness", "adversarial_study"),
    "scatter": ("probes", "scatter_study"),
}
"""Name -> module of this package, and its function."""


def run_probe(name: str, scored: ScoredSet) -> TableResult | None:
    """The result of the named study."""
    if name not in PROBES:
        raise UnknownNameError("study", name, [*PROBES, "all"])
    module, function = PROBES[name]
    result: TableResult | None = getattr(importlib.import_module(f"rejoinder.trusting.{module}"), function)(scored)
    return result

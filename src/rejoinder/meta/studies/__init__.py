"""The studies that the papers make of metrics, each one call.

A study takes a `ScoredSet` and gives a `StudyResult`, or None where the data do not have what it looks at.
"""

from __future__ import annotations

import importlib

from rejoinder.errors import UnknownNameError
from rejoinder.meta.study import ScoredSet, StudyResult

STUDIES: dict[str, str] = {}
"""Name -> module of this package whose function `study` makes it."""


def run_study(name: str, scored: ScoredSet) -> StudyResult | None:
    """The result of the named study."""
    if name not in STUDIES:
        raise UnknownNameError("study", name, [*STUDIES, "all"])
    result: StudyResult | None = importlib.import_module(f"rejoinder.meta.studies.{STUDIES[name]}").study(scored)
    return result

"""A grid of cells, run one after the other."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rejoinder.errors import NeedsError
from rejoinder.evaluators.base import Evaluator
from rejoinder.meta.experiments.cells import Cell
from rejoinder.meta.experiments.leakage import LeakageCheck
from rejoinder.meta.experiments.store import CellStore
from rejoinder.metrics.base import ScoreWarning
from rejoinder.progress import progress
from rejoinder.types import Scores


@dataclass(frozen=True)
class Grid:
    """How cells are run: where finished ones are saved, and why leakage is allowed, if it is."""

    folder: str | Path | None = None
    allow_leakage: str | None = None
    quiet: bool = True
    faster: Sequence[str] = ("fewer folds, counts or seeds", "fewer evaluators")
    """Ways to be done sooner, which are named if the fits will take long."""

    def run(self, cells: Sequence[Cell]) -> tuple[list[Scores], list[str]]:
        """The scores of each cell's test examples, and findings on leakage that was allowed.

        All cells are checked before the first is fitted. Cells that are already in the folder are not run again, and
        consecutive cells with the same training data share one fit.
        """
        check = LeakageCheck(self.allow_leakage)
        for cell in cells:
            _check_needs(cell)
            check.look_at(cell)
        with CellStore.opened(None if self.folder is None else Path(self.folder)) as store:
            self._run(cells, store)
            return [store[cell] for cell in cells], check.findings()

    def _run(self, cells: Sequence[Cell], store: CellStore) -> None:
        fitted: tuple[str, Evaluator] | None = None
        missing = list({cell.key: cell for cell in cells if cell not in store}.values())
        for cell in progress(missing, "fitting", total=len(missing), unit="fits", quiet=self.quiet, faster=self.faster):
            started = time.perf_counter()
            if fitted is None or fitted[0] != cell.fit_key:
                fitted = (cell.fit_key, cell.fit())
            scores = _tested(fitted[1], cell)
            store.add(cell, scores, fitted[1].signature, time.perf_counter() - started)


def _check_needs(cell: Cell) -> None:
    for need in sorted(cell.evaluator.needs):
        if not any(getattr(example, need) for example in cell.test):
            raise NeedsError(f"{cell.label} needs {need}, but no test reply of {cell.test_set} has any")


def _tested(evaluator: Evaluator, cell: Cell) -> Scores:
    with warnings.catch_warnings():
        # Empty replies are judged like any others, and would cause a warning in every cell.
        warnings.simplefilter("ignore", ScoreWarning)
        return evaluator.score(cell.test)

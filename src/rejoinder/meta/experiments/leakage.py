"""The check that no test context was also trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import CallError, LeakageError
from rejoinder.evaluators.base import Evaluator
from rejoinder.meta.experiments.cells import Cell
from rejoinder.meta.experiments.partition import shares_context
from rejoinder.types import Example

NAMED = 10
"""Most ids that a message lists; the others are counted."""

JUDGED = "the judged training replies"


class LeakageCheck:
    """Raises an error on leakage, or counts it where a reason for allowing it was given."""

    def __init__(self, allowed: str | None = None) -> None:
        if allowed is not None and not allowed.strip():
            raise CallError("allow_leakage must give the reason why leakage is allowed, but it is empty")
        self._allowed = allowed
        self._most: dict[str, tuple[int, int]] = {}

    def look_at(self, cell: Cell) -> None:
        """Check a cell before it is fitted."""
        data = cell.evaluator.training_data(cell.dialogues, cell.train)
        shared = shares_context(cell.test, data.judged_examples, same_set=cell.train_set == cell.test_set)
        self._take(JUDGED, cell, shared)
        self._take("the training dialogues", cell, data.dialogue_contexts.holds(cell.test))
        self._take(
            "the training data of the model it starts from", cell, cell.evaluator.inherited_contexts().holds(cell.test)
        )

    def findings(self) -> list[str]:
        """One sentence per source of leakage that was allowed."""
        return [
            f"Leakage, which was allowed ({self._allowed}): up to {leaked} of {tested} test replies have a context "
            f"that is also in {source}."
            for source, (leaked, tested) in self._most.items()
        ]

    def _take(self, source: str, cell: Cell, leaks: NDArray[np.bool_]) -> None:
        leaked = int(leaks.sum())
        if leaked and self._allowed is None:
            raise LeakageError(f"{_message(cell.label, source, cell.test, leaks)}; {_ways_on(source, cell)}")
        if leaked:
            self._most[source] = max(self._most.get(source, (0, 0)), (leaked, len(cell.test)))


def _ways_on(source: str, cell: Cell) -> str:
    """What can be done about leakage; the options of the command line are arguments of the same names in Python."""
    if source != JUDGED:
        other = ""
    elif cell.train_set == cell.test_set:  # folds share no context, so this is the data's own split
        other = "--folds 5 for folds that share no context, or "
    else:
        other = "--shared drop to leave these contexts out of training, or "
    return f"use {other}--allow-leakage REASON to test on them anyway (in Python: allow_leakage)"


def refuse_trained(evaluator: Evaluator, examples: Sequence[Example]) -> None:
    """Raise a LeakageError if a fitted evaluator was trained on the context of any of the examples."""
    held = evaluator.trained_contexts.holds(examples)
    if held.any():
        raise LeakageError(_message(evaluator.name, "its training data", examples, held))


def _message(label: str, source: str, examples: Sequence[Example], leaks: NDArray[np.bool_]) -> str:
    leaked = [example.id for example, leak in zip(examples, leaks, strict=True) if leak]
    rest = f" and {len(leaked) - NAMED} more" if len(leaked) > NAMED else ""
    return (
        f"{label} would be tested on training contexts: {len(leaked)} of {len(examples)} test replies have a context "
        f"that is also in {source}: {', '.join(leaked[:NAMED])}{rest}"
    )

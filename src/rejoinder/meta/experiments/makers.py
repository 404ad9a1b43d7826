"""Unfitted evaluators, given directly or by a function that makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rejoinder.errors import CallError
from rejoinder.evaluators.base import Evaluator

Maker = Evaluator | Callable[[], Evaluator]
"""An evaluator, of which an unfitted copy is made, or a function that makes one."""

Makers = Maker | Mapping[str, Maker]


def named_evaluators(given: Makers) -> dict[str, Evaluator]:
    """Label -> unfitted evaluator; a single one is labelled by its name."""
    if isinstance(given, Mapping):
        if not given:
            raise CallError("no evaluator was given: expected at least one")
        return {label: _made(maker) for label, maker in given.items()}
    evaluator = _made(given)
    return {evaluator.name: evaluator}


def _made(maker: Maker) -> Evaluator:
    made = maker if isinstance(maker, Evaluator) else maker() if callable(maker) else None
    if not isinstance(made, Evaluator):
        raise CallError(f"{maker!r} is not an evaluator: expected one, or a function that makes one")
    return made.clone()

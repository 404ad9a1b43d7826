"""Several judges as one: the mean of their scores, and how much they disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rejoinder.errors import CallError
from rejoinder.evaluators.judge.judge import Judge
from rejoinder.evaluators.scale import HIGHEST, LOWEST
from rejoinder.metrics.base import Metric, Watcher
from rejoinder.metrics.batch import Batch
from rejoinder.registry import load
from rejoinder.types import Scores


@dataclass(frozen=True, kw_only=True)
class Jury(Metric):
    """The mean score of several judges; a reply that one of them does not score is judged by the others."""

    name: ClassVar[str] = "jury"
    measures: ClassVar[str] = "what several language models say of a reply, on average, from 1 to 5"
    citation: ClassVar[str] = "Verga et al. 2024, Replacing Judges with Juries"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    cannot_score: ClassVar[str] = "no context, or no answer that could be used"
    range: ClassVar[tuple[float, float]] = (LOWEST, HIGHEST)
    one_process: ClassVar[bool] = True

    members: tuple[str, ...]
    """Judges, such as 'judge(model=NAME, url=ADDRESS)'."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        members: object = self.members  # a mistake that types do not stop: one name in place of several
        if isinstance(members, str) or len(self.members) < 2:
            raise CallError(f"{self.name}: members must be a list of at least two judges, not {self.members!r}")
        _ = self.judges

    @cached_property
    def judges(self) -> tuple[Judge, ...]:
        """The members."""
        found = tuple(load(member) if isinstance(member, str) else member for member in self.members)
        for member, judge in zip(self.members, found, strict=True):
            if not isinstance(judge, Judge):
                raise CallError(f"{self.name}: {member} is not a judge: expected judge(model=..., url=...)")
        return found

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The members."""
        return self.judges

    def reasons(self, batch: Batch) -> Sequence[str]:
        """The justifications of all judges that were asked for one, each after the name of its model."""
        given = [(judge.model, reasons) for judge in self.judges if (reasons := judge.reasons(batch))]
        rows = range(len(batch)) if given else ()
        return ["\n".join(f"{model}: {reasons[row]}" for model, reasons in given if reasons[row]) for row in rows]

    def score_batch(self, batch: Batch) -> Scores:
        """The mean over the judges with a usable answer; NaN if none has one."""
        return mean_known([judge.score_batch(batch) for judge in self.judges])

    def watcher(self) -> Watcher:
        """Measures how much the judges disagree, and collects the notes of each."""
        return _Disagreement(self)

    @property
    def signature(self) -> str:
        """The judges' signatures."""
        return f"{self.name}({'; '.join(judge.signature for judge in self.judges)})"


class _Disagreement:
    def __init__(self, jury: Jury) -> None:
        self._jury = jury
        self._watchers = [judge.watcher() for judge in jury.judges]
        self._spreads: list[Scores] = []

    def add(self, batch: Batch) -> None:
        """Take a batch into account."""
        columns = np.array([judge.score_batch(batch) for judge in self._jury.judges])
        known = ~np.isnan(columns).any(axis=0)
        self._spreads.append(columns[:, known].std(axis=0, ddof=1))
        for watcher in self._watchers:
            watcher.add(batch)

    def notes(self) -> list[str]:
        """The mean standard deviation over judges, then the notes of each judge."""
        spreads = np.concatenate(self._spreads) if self._spreads else np.empty(0)
        notes = []
        if len(spreads):
            notes.append(f"the judges' scores of a reply have a standard deviation of {spreads.mean():.2f} on average")
        for judge, watcher in zip(self._jury.judges, self._watchers, strict=True):
            notes += [f"{judge.model}: {note}" for note in watcher.notes()]
        return notes


def mean_known(columns: Sequence[Scores]) -> Scores:
    """The mean of the numbers that are known; NaN where none is."""
    table = np.array(columns)
    known = ~np.isnan(table)
    total = np.where(known, table, 0.0).sum(axis=0)
    counted = known.sum(axis=0)
    mean: Scores = np.divide(total, counted, out=np.full(table.shape[1], np.nan), where=counted > 0)
    return mean

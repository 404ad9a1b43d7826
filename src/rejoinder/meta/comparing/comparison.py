"""The result of a comparison of systems: a verdict in words, a table, JSON and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from rejoinder.errors import UnknownNameError
from rejoinder.figures.panels import IntervalPanel
from rejoinder.figures.standalone import Figure
from rejoinder.meta.comparing import comparison_text
from rejoinder.meta.comparing.headline import Voice, headline
from rejoinder.meta.comparing.ranking import Ranking
from rejoinder.meta.comparing.verdict import Verdict
from rejoinder.meta.human_means import HumanDifference, HumanMeans
from rejoinder.scoring.table import ScoreTable
from rejoinder.text.grid import wrapped
from rejoinder.text.notebook import NOTEBOOK_WIDTH, text_html

PLOTS = ("means", "differences")
"""The kinds of figure that a comparison can draw."""


@dataclass(frozen=True, slots=True)
class Primary:
    """The metric that decides, and why it was chosen."""

    metric: str
    reason: str

    @classmethod
    def of(cls, table: ScoreTable, wanted: str | None, named: Sequence[str]) -> Primary:
        """The metric that was wanted; else the first named one, else `default`, else the first that can be used."""
        if wanted is not None:
            if wanted not in table.metrics:
                raise UnknownNameError("primary metric", wanted, table.metrics)
            return cls(wanted, "as chosen")
        if named:
            return cls(named[0], "the first one named")
        if "default" in table.metrics:
            return cls("default", "the evaluator that comes with the package")
        for label in table.metrics:
            says_what_is_better = np.isfinite(table.ranges.get(label, (0.0, 1.0))[1])
            if says_what_is_better and not np.isnan(table[label]).all():
                return cls(label, "the first that these data allow")
        return cls(table.metrics[0], "the first one")

    def reason_given(self, metrics: Sequence[str]) -> Iterator[str]:
        """A sentence about the choice, where there was one."""
        if len(metrics) > 1:
            yield f"Primary metric: {self.metric}, {self.reason}."


@dataclass(frozen=True)
class Comparison:
    """Pairwise comparisons of systems; `str()` is the verdict in words, followed by a short table.

    One metric is *primary*: it decides which system is better. With labels, people decide. The other metrics are
    secondary evidence.
    """

    table: ScoreTable
    verdicts: tuple[Verdict, ...]
    """Of each metric, the primary one first, and each pair of systems."""
    primary: Primary
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Messages about records that could not be read and were skipped."""
    rankings: tuple[Ranking, ...] = ()
    """One per metric that says which of three or more systems is better."""
    human: HumanMeans | None = None
    """Estimated human scores, where there are labels."""
    margin: float | None = None
    """Differences below it do not matter, where one was given."""
    slices: Mapping[str, Mapping[str, tuple[Verdict, ...]]] = field(default_factory=dict)
    """Field -> its value -> the verdicts of the primary metric on those replies."""

    @property
    def decisive_verdicts(self) -> tuple[Verdict, ...]:
        """Those of the primary metric."""
        return tuple(verdict for verdict in self.verdicts if verdict.metric == self.primary.metric)

    @property
    def secondary_verdicts(self) -> tuple[Verdict, ...]:
        """Those of the other metrics."""
        return tuple(verdict for verdict in self.verdicts if verdict.metric != self.primary.metric)

    @property
    def _decisive(self) -> Sequence[Verdict | HumanDifference]:
        return self.human.differences if self.human else self.decisive_verdicts

    @property
    def decided(self) -> bool:
        """Whether the scores can carry a verdict: False where the primary metric cannot judge the replies.

        With labels, people decide, whatever metric is combined with them.
        """
        return self.human is not None or not any(verdict.outcome == "doubtful" for verdict in self.decisive_verdicts)

    @cached_property
    def better(self) -> str | None:
        """The system that is significantly better than every other one; None if there is none."""
        others = len(self.table.system_names) - 1
        wins = {system: sum(pair.better == system for pair in self._decisive) for system in self.table.system_names}
        return next((system for system, count in wins.items() if count == others), None)

    @cached_property
    def unbeaten(self) -> tuple[str, ...]:
        """The systems that no other is significantly better than."""
        beaten = {pair.a if pair.better == pair.b else pair.b for pair in self._decisive if pair.better is not None}
        return tuple(system for system in self.table.system_names if system not in beaten)

    @cached_property
    def voices(self) -> tuple[Voice, ...]:
        """What the secondary metrics say; variants of one metric (BLEU-1..4) have one voice.

        Variants of the primary metric, and metrics that do not say what is better, have none.
        """
        members: dict[str, list[Verdict]] = {}
        for verdict in self.secondary_verdicts:
            family = self.table.family_of(verdict.metric)
            if verdict.higher_is_better is not None and family != self.table.family_of(self.primary.metric):
                members.setdefault(family, []).append(verdict)
        return tuple(Voice(family, tuple(verdicts)) for family, verdicts in members.items())

    @property
    def best_first(self) -> list[str]:
        """The systems by the primary metric."""
        metric = self.primary.metric
        ranked = next((ranking for ranking in self.rankings if ranking.metric == metric), None)
        if ranked is not None:
            return [place.system for place in ranked.places]
        cells = self.table.summary()[metric]
        sign = -1 if self.table.higher_is_better.get(metric, True) else 1
        return sorted(self.table.system_names, key=lambda name: sign * cells[name].mean)

    def plot(self, metric: str | None = None, *, kind: str = "means") -> Figure:
        """A figure of one metric, by default the primary one: the systems' "means", best first, or "differences".

        Differences have one row per pair of systems, with the 95 % interval. The figure of the means is that of the
        report. A notebook shows it; `save` writes it to an SVG file.
        """
        label = self.primary.metric if metric is None else metric
        self.table[label]  # an unknown name is an error that lists the near ones
        if kind not in PLOTS:
            raise UnknownNameError("kind of plot", kind, PLOTS)
        panel = self.table.means_panel(label, self.best_first) if kind == "means" else self._differences(label)
        return Figure.of(panel.title, [panel])

    def _differences(self, metric: str) -> IntervalPanel:
        rows = tuple(
            (f"{pair.b} minus {pair.a}", pair.result.difference) for pair in self.verdicts if pair.metric == metric
        )
        return IntervalPanel(f"Difference in mean {metric} with 95 % intervals", rows, (0,) * len(rows))

    def headline(self) -> list[str]:
        """The verdict in words, one sentence each."""
        return headline(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **replace(self.table, slices=()).to_dict(),
            "decided": self.decided,
            "verdict": " ".join(self.headline()),
            "better": self.better,
            "unbeaten": list(self.unbeaten),
            "primary": self.primary.metric,
            "primary_reason": self.primary.reason,
            "decided_by": "people" if self.human else self.primary.metric,
            "margin": self.margin,
            "warnings": [*self.table.notes, *self.notes],
            "skipped": list(self.skipped),
            "comparisons": [verdict.to_dict() for verdict in self.verdicts],
            "rankings": [ranking.to_dict() for ranking in self.rankings],
            "human": self.human.to_dict() if self.human else None,
            "slices": {
                name: {value: [verdict.to_dict() for verdict in verdicts] for value, verdicts in values.items()}
                for name, values in self.slices.items()
            },
        }

    def to_latex(self) -> str:
        """A booktabs table of the differences, and one of the estimated human means where there are labels."""
        return comparison_text.latex(self)

    def text(self, width: int = 80, *, details: bool = False) -> str:
        """The verdict and a short table, wrapped at the width; with `details` everything else."""
        return comparison_text.text(self, width, details=details)

    def _repr_html_(self) -> str:
        return text_html(self._with_notes(NOTEBOOK_WIDTH))

    def __str__(self) -> str:
        return self._with_notes(80)

    def _with_notes(self, width: int) -> str:
        """The text, followed by what the command line prints as notes on standard error."""
        notes = [f"Note: {note}" for note in (*self.table.notes, *self.notes)]
        return "\n\n".join([self.text(width), *(["\n".join(wrapped(note, width) for note in notes)] if notes else [])])

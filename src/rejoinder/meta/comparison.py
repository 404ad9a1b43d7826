"""The result of a comparison of systems: as a table, sentences, JSON or LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rejoinder.meta.human_means import HumanMeans
from rejoinder.meta.ranking import Ranking
from rejoinder.scoring.table import ScoreTable, json_ready
from rejoinder.stats.compare_means import MeanComparison
from rejoinder.stats.formatting import bounds_text, interval_text, p_statement, p_text, share_text, signed
from rejoinder.stats.intervals import Interval
from rejoinder.stats.multiple import ALPHA
from rejoinder.text.grid import grid, number
from rejoinder.text.latex import latex_safe, latex_table
from rejoinder.text.terminal import one_line

_MOST_SENTENCES = 12


@dataclass(frozen=True, slots=True)
class Verdict:
    """How two systems compare on one metric."""

    metric: str
    a: str
    b: str
    result: MeanComparison
    p_adjusted: float
    """Holm-corrected for all comparisons by this metric."""
    higher_is_better: bool | None
    """None for a metric such as length, which describes replies but does not say which are better."""

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below .05."""
        return self.p_adjusted < ALPHA

    @property
    def difference(self) -> float:
        """B's mean minus A's."""
        return self.result.difference.estimate

    def sentence(self) -> str:
        """The verdict in words."""
        gap = self.result.difference
        p = p_statement(self.p_adjusted)
        if np.isnan(self.p_adjusted):
            return f"{self.metric}: too few scored replies to compare {self.a} and {self.b}."
        if not self.significant:
            return (
                f"{self.metric}: no significant difference between {self.a} and {self.b} "
                f"({interval_text(gap)}, {p}){self._needed()}."
            )
        if self.higher_is_better is None:
            word, first, second = "higher", *((self.b, self.a) if gap.estimate > 0 else (self.a, self.b))
        else:
            b_is_better = (gap.estimate > 0) == self.higher_is_better
            word, first, second = "better", *((self.b, self.a) if b_is_better else (self.a, self.b))
        size = gap if gap.estimate > 0 else Interval(-gap.estimate, -gap.high, -gap.low)
        return f"{self.metric}: {first} is {word} than {second} by {interval_text(size)} ({p})."

    def _needed(self) -> str:
        """How many more contexts (unpaired: replies per system) an effect of the observed size would need."""
        more = self.result.needed_examples - min(self.result.n_a, self.result.n_b)
        if not np.isfinite(more) or more < 1:
            return ""
        what = "contexts" if self.result.paired else "replies per system"
        return f"; if this is the true difference, about {more:,.0f} more {what} would detect it with 80% power"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        result = self.result
        return json_ready(
            {
                "metric": self.metric,
                "a": self.a,
                "b": self.b,
                "mean_a": result.mean_a,
                "mean_b": result.mean_b,
                "difference": result.difference.estimate,
                "low": result.difference.low,
                "high": result.difference.high,
                "p": result.p_value,
                "p_adjusted": self.p_adjusted,
                "significant": bool(self.significant),
                "effect_size": result.effect_size,
                "effect_name": result.effect_name,
                "win_rate": result.outcomes.wins,
                "tie_rate": result.outcomes.ties,
                "loss_rate": result.outcomes.losses,
                "needed_examples": result.needed_examples,
                "n": min(result.n_a, result.n_b),
                "paired": result.paired,
                "verdict": self.sentence(),
            }
        )


@dataclass(frozen=True)
class Comparison:
    """Pairwise comparisons of systems by several metrics; `str()` is a table followed by one verdict per line."""

    table: ScoreTable
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Messages about records that could not be read and were skipped."""
    rankings: tuple[Ranking, ...] = ()
    """One per metric that says which of three or more systems is better."""
    human: HumanMeans | None = None
    """Estimated human scores, where there are labels."""

    @property
    def _several(self) -> bool:
        """Whether there is more than one pair of systems, so that p-values are corrected."""
        return len(self.table.system_names) > 2

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **self.table.to_dict(),
            "warnings": [*self.table.notes, *self.notes],
            "skipped": list(self.skipped),
            "comparisons": [verdict.to_dict() for verdict in self.verdicts],
            "rankings": [ranking.to_dict() for ranking in self.rankings],
            "human": self.human.to_dict() if self.human else None,
        }

    def to_latex(self) -> str:
        """A booktabs table of the differences, significant ones in bold."""
        rows = []
        for verdict in self.verdicts:
            gap = verdict.result.difference
            shown = number(gap.estimate)
            shown = rf"\textbf{{{shown}}}" if verdict.significant else shown
            names = [latex_safe(name) for name in (verdict.metric, verdict.a, verdict.b)]
            rows.append([*names, shown, bounds_text(gap), latex_safe(p_text(verdict.p_adjusted))])
        p = f"$p${' (Holm)' if self._several else ''}"
        return latex_table(["metric", "A", "B", "B $-$ A", r"95\,\% interval", p], rows, left=3)

    def __str__(self) -> str:
        rows = []
        for verdict in self.verdicts:
            result = verdict.result
            rows.append(
                [
                    verdict.metric,
                    f"{verdict.a} → {verdict.b}",
                    number(result.mean_a),
                    number(result.mean_b),
                    interval_text(result.difference, sign=True),
                    signed(result.effect_size, 2),
                    share_text(result.outcomes.wins),
                    p_text(verdict.p_adjusted),
                    "*" if verdict.significant else "",
                ]
            )
        p = "p (Holm)" if self._several else "p"
        header = ["metric", "A → B", "mean A", "mean B", "B - A [95 %]", "effect", "B wins", p, ""]
        parts = [grid(header, rows, left=2)]
        if self._several:
            parts[0] += "\nIntervals are not corrected for the number of comparisons."
        if len(self.verdicts) <= _MOST_SENTENCES:  # beyond that, the table and the rankings are easier to read
            parts.append("\n".join(one_line(verdict.sentence()) for verdict in self.verdicts))
        if self.rankings:
            parts.append(
                "\n".join(
                    [
                        "Best first; a bar precedes a system that is significantly worse than one after the last bar:",
                        *(one_line(r.sentence()) for r in self.rankings),
                    ]
                )
            )
        if self.human:
            parts.append(str(self.human))
        return "\n\n".join(parts)

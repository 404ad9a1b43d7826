"""How two systems compare on one metric: the numbers, what they decide, and the sentence that says so.

`Verdict.outcome` and `Verdict.better` are decided here once; tables, JSON, LaTeX and every sentence use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rejoinder.scoring.table import json_ready
from rejoinder.stats.compare_means import Equivalence, MeanComparison
from rejoinder.stats.effect_size import Outcomes
from rejoinder.stats.formatting import bounds_text, counted, decimals_of, interval_text, p_statement
from rejoinder.stats.intervals import Interval
from rejoinder.stats.multiple import ALPHA

Outcome = Literal["better", "higher", "equivalent", "no worse", "open", "identical", "too few", "untested"]
"""What a comparison shows.

better, higher: a significant difference (`higher` by a metric such as length, which does not say what is better).
equivalent, no worse: no significant difference, and it is smaller than the margin, on both sides or on one.
open: no significant difference. identical: the same scores in every pair. too few: no difference could have been
significant with so few contexts. untested: hardly any scores.
"""

_SIZES = ((0.2, "a very small effect"), (0.5, "a small effect"), (0.8, "a medium effect"))
"""Bounds of Cohen (1988) on a difference in standard deviations."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How two systems compare on one metric."""

    metric: str
    a: str
    b: str
    result: MeanComparison
    p_adjusted: float
    """Holm-corrected: for the primary metric over all pairs of systems, for the others over all of them together."""
    higher_is_better: bool | None
    """None for a metric such as length, which describes replies but does not say which are better."""
    level: float = ALPHA
    """The p-value that the correction asks of a difference which is not significant yet."""
    equivalence: Equivalence | None = None
    """Whether the difference is smaller than a margin, where one was given."""
    unit: str = "context"
    """What varies independently: "context" or "dialogue"."""

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below .05."""
        return self.p_adjusted < ALPHA

    @property
    def difference(self) -> float:
        """B's mean minus A's."""
        return self.result.difference.estimate

    @property
    def outcome(self) -> Outcome:
        """What the comparison shows."""
        if self.result.outcomes.ties == 1 and self.result.n_groups > 1:
            return "identical"
        if np.isnan(self.p_adjusted):
            return "untested"
        if self.significant:
            return "higher" if self.higher_is_better is None else "better"
        if self.equivalence is not None and self.equivalence.equivalent:
            return "equivalent"
        if self.no_worse is not None:
            return "no worse"
        return "open" if self.result.smallest_p < self.level else "too few"

    @property
    def better(self) -> str | None:
        """The system that is significantly better; None if neither is, or if the metric does not say."""
        return self.leader if self.outcome == "better" else None

    @property
    def no_worse(self) -> str | None:
        """The system that is shown to be no worse than the other by the margin or more; B if both are."""
        if self.equivalence is None or self.higher_is_better is None:
            return None
        b_holds, a_holds = self.equivalence.not_lower, self.equivalence.not_higher
        if not self.higher_is_better:
            b_holds, a_holds = a_holds, b_holds
        return self.b if b_holds else self.a if a_holds else None

    @property
    def leader(self) -> str:
        """The system with the better mean (the higher one where the metric does not say), significant or not."""
        b_leads = (self.difference > 0) == (self.higher_is_better is not False)
        return self.b if b_leads else self.a

    @property
    def trailer(self) -> str:
        """The other system."""
        return self.a if self.leader == self.b else self.b

    @property
    def outcomes(self) -> Outcomes:
        """The shares of pairs in which B has the better score, equal ones, and in which A has it."""
        shares = self.result.outcomes
        return Outcomes(shares.losses, shares.ties, shares.wins) if self.higher_is_better is False else shares

    @property
    def gap(self) -> Interval:
        """The difference from the trailing to the leading system, without a sign."""
        found = self.result.difference
        return found if found.estimate >= 0 else Interval(-found.estimate, -found.high, -found.low)

    @property
    def n(self) -> int:
        """The number of pairs, or of replies of the system with fewer."""
        return min(self.result.n_a, self.result.n_b)

    @property
    def counted_units(self) -> str:
        """'64 contexts', '200 contexts of 20 dialogues', '100 and 80 replies'."""
        if not self.result.paired:
            return f"{self.result.n_a:,} and {self.result.n_b:,} replies"
        contexts = counted(self.n, "context")
        return contexts if self.unit == "context" else f"{contexts} of {counted(self.result.n_groups, self.unit)}"

    @property
    def size(self) -> str:
        """The size of the difference in words, by its standard deviations."""
        if np.isnan(self.result.effect_size):
            return "the same difference everywhere"
        effect = abs(self.result.effect_size)
        return next((words for bound, words in _SIZES if effect < bound), "a large effect")

    @property
    def needed(self) -> float:
        """Pairs, or replies per system, with which the corrected test detects the observed difference, power .8."""
        return self.result.needed(self.level)

    @property
    def detectable(self) -> float:
        """The smallest true difference that the corrected test would have detected, power .8."""
        return self.result.detectable(self.level)

    def sentence(self) -> str:
        """The verdict in words."""
        return sentence(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        result, shares = self.result, self.outcomes
        told: dict[str, Any] = {
            "metric": self.metric,
            "a": self.a,
            "b": self.b,
            "outcome": self.outcome,
            "better": self.better,
            "no_worse": self.no_worse,
            "higher_is_better": self.higher_is_better,
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
            "size": self.size,
            "win_rate": shares.wins,
            "tie_rate": shares.ties,
            "loss_rate": shares.losses,
            "level": self.level,
            "needed_examples": self.needed,
            "detectable": self.detectable,
            "n": self.n,
            "groups": result.n_groups,
            "unit": self.unit,
            "paired": result.paired,
            "verdict": self.sentence(),
        }
        if self.equivalence is not None:
            within = self.equivalence
            told["margin"] = {
                "margin": within.margin,
                "low": within.interval.low,
                "high": within.interval.high,
                "confidence": within.confidence,
                "equivalent": within.equivalent,
            }
        return json_ready(told)


def sentence(verdict: Verdict) -> str:
    """The verdict in words, with its numbers and, if it is open, what would settle it."""
    return f"{verdict.metric}: {claim(verdict)}{needed_text(verdict)}."


def claim(verdict: Verdict, on: str = "") -> str:
    """What was found, with the numbers that show it; `on` is where the metric is named: " on bleu"."""
    a, b, outcome = verdict.a, verdict.b, verdict.outcome
    if outcome == "identical":
        return f"{a} and {b} have identical scores{on}"
    if outcome == "untested":
        return f"too few scored replies to compare {a} and {b}{on}"
    if outcome == "too few":
        ahead = "higher" if verdict.higher_is_better is None else "ahead"
        observed = f"{verdict.leader} is {ahead} by {interval_text(verdict.gap)}" if verdict.difference else "none"
        return (
            f"{verdict.counted_units} are too few to show any difference between {a} and {b}{on} (observed: {observed})"
        )
    p = p_statement(verdict.p_adjusted)
    if outcome in ("better", "higher"):
        found = f"{verdict.leader} is {outcome} than {verdict.trailer} by {interval_text(verdict.gap)}{on}"
        return f"{found} ({p}, {verdict.size}){within(verdict)}"
    if outcome == "equivalent":
        return f"{a} and {b} are equivalent{on}{within(verdict)}"
    if outcome == "no worse":
        other = a if verdict.no_worse == b else b
        return f"{verdict.no_worse} is no worse than {other}{on}{within(verdict)}"
    return f"no significant difference between {a} and {b}{on} ({interval_text(verdict.result.difference)}, {p})"


def within(verdict: Verdict) -> str:
    """How the difference compares with the margin, where one was given and something is shown."""
    found = verdict.equivalence
    if found is None or not (found.equivalent or verdict.no_worse):
        return ""
    if verdict.outcome in ("better", "higher"):
        return f"; the difference is below the margin of {found.margin:g}" if found.equivalent else ""
    bounds = bounds_text(found.interval, decimals_of(found.interval))
    return f" within {found.margin:g} ({verdict.b} - {verdict.a}: {100 * found.confidence:.3g}% interval {bounds})"


def needed_text(verdict: Verdict) -> str:
    """What would settle an open comparison: more contexts (unpaired: replies per system)."""
    if verdict.outcome == "too few":
        if not verdict.result.paired:
            return "; more replies are needed"
        return f"; at least {counted(fewest_groups(verdict.level), verdict.unit)} are needed"
    more = verdict.needed - verdict.n
    if verdict.outcome not in ("open", "no worse") or not np.isfinite(more) or more < 1:
        return ""
    what = "contexts" if verdict.result.paired else "replies per system"
    return f"; if the observed difference is the true one, about {more:,.0f} more {what} would detect it with 80% power"


def fewest_groups(level: float) -> int:
    """The fewest pairs with which a sign-flip test can give a p-value below the level: 6 for .05."""
    return int(np.floor(1 - np.log2(level))) + 1

"""How two systems compare on one metric: the numbers, what they decide, and the sentence that says so.

`Verdict.outcome` and `Verdict.better` are decided here once; tables, JSON, LaTeX and every sentence use them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rejoinder.errors import CallError
from rejoinder.scoring.table import json_ready
from rejoinder.show.text import bounds_text, counted, decimals_of, interval_text, p_statement
from rejoinder.stats.intervals import Interval
from rejoinder.stats.means import Equivalence, MeanComparison, Outcomes
from rejoinder.stats.resampling import ALPHA

if TYPE_CHECKING:
    from rejoinder.comparing.comparison import Comparison
    from rejoinder.comparing.labels import LabelDifference

Outcome = Literal["better", "higher", "equivalent", "no worse", "open", "identical", "too few", "untested", "doubtful"]
"""What a comparison shows.

better, higher: a significant difference (`higher` by a metric such as length, which does not say what is better).
equivalent, no worse: no significant difference, and it is smaller than the margin, on both sides or on one.
open: no significant difference. identical: the same scores in every pair. too few: no difference could have been
significant with so few contexts. untested: hardly any scores. doubtful: the metric cannot judge many of the replies.
"""

_SIZES = ((0.2, "a very small effect"), (0.5, "a small effect"), (0.8, "a medium effect"))
"""Bounds of Cohen (1988) on a difference in standard deviations."""


def outcome_of(p_adjusted: float, within: Equivalence | None, no_worse: str | None) -> Outcome:
    """What a corrected p-value and a margin show."""
    if np.isnan(p_adjusted):
        return "untested"
    if p_adjusted < ALPHA:
        return "better"
    if within is not None and within.equivalent:
        return "equivalent"
    return "open" if no_worse is None else "no worse"


def no_worse(a: str, b: str, within: Equivalence | None, *, higher_is_better: bool = True) -> str | None:
    """The system that is shown to be no worse than the other by the margin or more; B if both are."""
    if within is None:
        return None
    b_holds, a_holds = within.not_lower, within.not_higher
    if not higher_is_better:
        b_holds, a_holds = a_holds, b_holds
    return b if b_holds else a if a_holds else None


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
    """What varies independently: "context", "item" or "dialogue"."""
    paired_by: str = "context"
    """What both systems have a score for: "context", "turn", "dialogue", or "item" in a table of scores."""
    doubt: str = ""
    """Why the metric cannot judge these replies; "" where it can."""

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below .05, and the scores can be relied on."""
        return self.p_adjusted < ALPHA and not self.doubt

    @property
    def difference(self) -> float:
        """B's mean minus A's."""
        return self.result.difference.estimate

    @property
    def outcome(self) -> Outcome:
        """What the comparison shows."""
        if self.result.outcomes.ties == 1 and self.result.n_groups > 1:
            return "identical"
        if self.doubt:
            return "doubtful"
        found = outcome_of(self.p_adjusted, self.equivalence, self.no_worse)
        if found == "better" and self.higher_is_better is None:
            return "higher"
        return "too few" if found == "open" and self.result.smallest_p >= self.level else found

    @property
    def better(self) -> str | None:
        """The system that is significantly better; None if neither is, or if the metric does not say."""
        return self.leader if self.outcome == "better" else None

    @property
    def no_worse(self) -> str | None:
        """The system that is shown to be no worse than the other by the margin or more; B if both are."""
        if self.higher_is_better is None or self.doubt:
            return None
        return no_worse(self.a, self.b, self.equivalence, higher_is_better=self.higher_is_better)

    @property
    def leader(self) -> str:
        """The system with the better mean (the higher one where the metric does not say), significant or not."""
        b_leads = (self.difference > 0) == (self.higher_is_better is not False)
        return self.b if b_leads else self.a

    @property
    def outcomes(self) -> Outcomes:
        """The shares of pairs in which B has the better score, equal ones, and in which A has it."""
        shares = self.result.outcomes
        return Outcomes(shares.losses, shares.ties, shares.wins) if self.higher_is_better is False else shares

    @property
    def facts(self) -> VerdictFacts:
        """What the sentence is made from."""
        return VerdictFacts(
            a=self.a,
            b=self.b,
            outcome=self.outcome,
            difference=self.result.difference,
            p_adjusted=self.p_adjusted,
            leader=(self.no_worse or self.leader) if self.outcome == "no worse" else self.leader,
            units=self.counted_units,
            size=self.size,
            says_better=self.higher_is_better is not None,
            equivalence=self.equivalence,
            doubt=self.doubt,
        )

    @property
    def n(self) -> int:
        """The number of pairs, or of replies of the system with fewer."""
        return min(self.result.n_a, self.result.n_b)

    @property
    def counted_units(self) -> str:
        """'64 contexts', '200 contexts of 20 dialogues', '100 and 80 replies'."""
        if not self.result.paired:
            return f"{self.result.n_a:,} and {self.result.n_b:,} replies"
        pairs = counted(self.n, self.paired_by)
        return pairs if self.unit == self.paired_by else f"{pairs} of {counted(self.result.n_groups, self.unit)}"

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
        return verdict_sentence(self)

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
            "effect_name": "g",
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


def verdict_sentence(verdict: Verdict) -> str:
    """The verdict in words, with its numbers and, if it is open, what would settle it."""
    return f"{verdict.metric}: {verdict_words(verdict.facts)}{needed_text(verdict)}."


@dataclass(frozen=True, slots=True)
class VerdictFacts:
    """What the comparison of two systems shows, by a metric or by people: all that the words depend on."""

    a: str
    b: str
    outcome: Outcome
    difference: Interval
    """B minus A."""
    p_adjusted: float
    leader: str
    """The system with the better mean, or the one that is no worse."""
    units: str
    """What was compared: '64 contexts'."""
    size: str = ""
    """The size of the difference in words."""
    says_better: bool = True
    """False for a metric such as length, which does not say which replies are better."""
    by_people: bool = False
    equivalence: Equivalence | None = None
    doubt: str = ""
    """Why nothing is decided."""

    @property
    def trailer(self) -> str:
        """The other system."""
        return self.a if self.leader == self.b else self.b

    @property
    def gap(self) -> Interval:
        """The difference without a sign."""
        found = self.difference
        return found if found.estimate >= 0 else Interval(-found.estimate, -found.high, -found.low)


_BY_METRIC = {
    "better": "{0} is better than {1}",
    "higher": "{0} is higher than {1}",
    "equivalent": "{0} and {1} are equivalent",
    "no worse": "{0} is no worse than {1}",
    "identical": "{0} and {1} have identical scores",
}
_BY_PEOPLE = {
    "better": "people would rate {0} above {1}",
    "equivalent": "people would rate {0} and {1} alike",
    "no worse": "people would rate {0} no worse than {1}",
}


def verdict_words(found: VerdictFacts, on: str = "") -> str:
    """What was found, with the numbers that show it; `on` is where the metric is named: " on bleu"."""
    a, b, outcome = found.a, found.b, found.outcome
    if outcome == "doubtful":
        return f"not decided: {found.doubt}"
    if outcome == "untested":
        return f"too few {'different labels' if found.by_people else 'scored replies'} to compare {a} and {b}{on}"
    if outcome == "too few":
        ahead = "ahead" if found.says_better else "higher"
        observed = f"{found.leader} is {ahead} by {interval_text(found.gap)}" if found.difference.estimate else "none"
        return f"{found.units} are too few to show any difference between {a} and {b}{on} (observed: {observed})"
    p = p_statement(found.p_adjusted)
    if outcome == "open":
        return f"no significant difference between {a} and {b}{on} ({interval_text(found.difference)}, {p})"
    first, second = (a, b) if outcome in ("equivalent", "identical") else (found.leader, found.trailer)
    words = (_BY_PEOPLE if found.by_people else _BY_METRIC)[outcome].format(first, second)
    if outcome in ("better", "higher"):
        size = f"{p}, {found.size}" if found.size else p
        return f"{words} by {interval_text(found.gap)}{on} ({size}){_within(found)}"
    return f"{words}{on}{_within(found)}"


def _within(found: VerdictFacts) -> str:
    """How the difference compares with the margin, where one was given and something is shown."""
    margin, outcome = found.equivalence, found.outcome
    if margin is None:
        return ""
    if outcome in ("better", "higher"):
        return f"; the difference is below the margin of {margin.margin:g}" if margin.equivalent else ""
    if outcome not in ("equivalent", "no worse"):
        return ""
    bounds = bounds_text(margin.interval, decimals_of(margin.interval))
    return f" within {margin.margin:g} ({found.b} - {found.a}: {100 * margin.confidence:.3g}% interval {bounds})"


def needed_text(verdict: Verdict) -> str:
    """What would settle an open comparison: more contexts (unpaired: replies per system)."""
    if verdict.outcome == "too few":
        if not verdict.result.paired:
            return "; more replies are needed"
        return f"; at least {counted(fewest_groups(verdict.level), verdict.unit)} are needed"
    more = verdict.needed - verdict.n
    if verdict.outcome not in ("open", "no worse") or not np.isfinite(more) or more < 1:
        return ""
    what = f"{verdict.paired_by}s" if verdict.result.paired else "replies per system"
    return f"; if the observed difference is the true one, about {more:,.0f} more {what} would detect it with 80% power"


def fewest_groups(level: float) -> int:
    """The fewest pairs with which a sign-flip test can give a p-value below the level: 6 for .05."""
    return int(np.floor(1 - np.log2(level))) + 1


# Whether a candidate passes: the verdict of a comparison of two systems as a check for continuous integration.
#
# The first system is the baseline, the second the candidate. A check passes only where the data could have failed it:
# too few replies to show anything fail, as a difference does.


FailIf = Literal["worse", "not-better"]


@dataclass(frozen=True, slots=True)
class Gate:
    """The result of a check; `reason` is one sentence with the numbers that decide."""

    fail_if: FailIf
    passed: bool
    reason: str
    decided: bool = True
    """False where the metric cannot judge the replies: the candidate has neither passed nor failed."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"fail_if": self.fail_if, "passed": self.passed, "decided": self.decided, "reason": self.reason}


def gate(comparison: Comparison, fail_if: FailIf) -> Gate:
    """Whether the second system of a comparison passes.

    worse: it fails if it is significantly worse. With a margin it fails unless it is shown to be no worse than the
    first system by the margin or more (a test of non-inferiority), so that too little data is a failure too.
    not-better: it fails unless it is significantly better, and with a margin also if the difference is shown to be
    below the margin.
    Nothing is checked where the metric cannot judge the replies: then the result is not decided.
    """
    pair = _only_pair(comparison)
    if isinstance(pair, Verdict) and pair.outcome == "doubtful":
        reason = f"{comparison.table.doubt(pair.metric)}. {comparison.remedy}"
        return Gate(fail_if, passed=False, reason=reason, decided=False)
    passed = _no_worse(pair, comparison.margin) if fail_if == "worse" else _better(pair)
    return Gate(fail_if, passed, _reason(pair, passed=passed, fail_if=fail_if))


def _only_pair(comparison: Comparison) -> Verdict | LabelDifference:
    """The decisive comparison; a CallError where it cannot say which of two systems is better."""
    systems = comparison.table.system_names
    if len(systems) != 2:
        raise CallError(f"a check needs a baseline and a candidate: expected two systems, found {len(systems)}")
    if comparison.human:
        return comparison.human.differences[0]
    verdict = comparison.decisive_verdicts[0]
    if verdict.higher_is_better is None:
        raise CallError(f"{verdict.metric} does not say which replies are better: expected another primary metric")
    return verdict


def _no_worse(pair: Verdict | LabelDifference, margin: float | None) -> bool:
    if isinstance(pair, Verdict) and pair.outcome == "identical":
        return True
    if margin is not None:
        return _within_margin(pair)
    return pair.better != pair.a and not _shows_nothing(pair)


def _within_margin(pair: Verdict | LabelDifference) -> bool:
    """Whether the candidate is shown to be no worse by the margin or more."""
    if isinstance(pair, Verdict):
        return pair.no_worse == pair.b
    return pair.equivalence is not None and pair.equivalence.not_lower


def _shows_nothing(pair: Verdict | LabelDifference) -> bool:
    """Whether there are too few scores or labels for any difference to be significant."""
    if isinstance(pair, Verdict):
        return pair.outcome in ("untested", "too few")
    return math.isnan(pair.p_adjusted)


def _better(pair: Verdict | LabelDifference) -> bool:
    negligible = pair.equivalence is not None and pair.equivalence.equivalent
    return pair.better == pair.b and not negligible


def _reason(pair: Verdict | LabelDifference, *, passed: bool, fail_if: FailIf) -> str:
    """The verdict in words, or which interval does not show that the candidate is no worse."""
    found = pair.equivalence
    if passed or fail_if == "not-better" or found is None or pair.better == pair.a or math.isnan(pair.p_adjusted):
        return pair.sentence()
    on = f"{pair.metric}: " if isinstance(pair, Verdict) else "People's ratings: "
    bounds = bounds_text(found.interval, decimals_of(found.interval))
    return (
        f"{on}not shown that {pair.b} is no worse than {pair.a} within {found.margin:g} "
        f"({pair.b} - {pair.a}: {100 * found.confidence:.3g}% interval {bounds})."
    )

"""Whether a candidate passes: the verdict of a comparison of two systems as a check for continuous integration.

The first system is the baseline, the second the candidate. A check passes only where the data could have failed it:
too few replies to show anything fail, as a difference does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from rejoinder.errors import CallError
from rejoinder.meta.comparing.comparison import Comparison
from rejoinder.meta.comparing.verdict import Verdict
from rejoinder.meta.human_means import HumanDifference
from rejoinder.scoring.reliability import REMEDY
from rejoinder.stats.formatting import bounds_text, decimals_of

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
        return Gate(fail_if, passed=False, reason=f"{comparison.table.doubt(pair.metric)}. {REMEDY}", decided=False)
    passed = _no_worse(pair, comparison.margin) if fail_if == "worse" else _better(pair)
    return Gate(fail_if, passed, _reason(pair, passed=passed, fail_if=fail_if))


def _only_pair(comparison: Comparison) -> Verdict | HumanDifference:
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


def _no_worse(pair: Verdict | HumanDifference, margin: float | None) -> bool:
    if isinstance(pair, Verdict) and pair.outcome == "identical":
        return True
    if margin is not None:
        return _within_margin(pair)
    return pair.better != pair.a and not _shows_nothing(pair)


def _within_margin(pair: Verdict | HumanDifference) -> bool:
    """Whether the candidate is shown to be no worse by the margin or more."""
    if isinstance(pair, Verdict):
        return pair.no_worse == pair.b
    return pair.equivalence is not None and pair.equivalence.not_lower


def _shows_nothing(pair: Verdict | HumanDifference) -> bool:
    """Whether there are too few scores or labels for any difference to be significant."""
    if isinstance(pair, Verdict):
        return pair.outcome in ("untested", "too few")
    return math.isnan(pair.p_adjusted)


def _better(pair: Verdict | HumanDifference) -> bool:
    negligible = pair.equivalence is not None and pair.equivalence.equivalent
    return pair.better == pair.b and not negligible


def _reason(pair: Verdict | HumanDifference, *, passed: bool, fail_if: FailIf) -> str:
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

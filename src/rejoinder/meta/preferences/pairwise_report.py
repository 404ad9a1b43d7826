"""The result of comparing systems by a judge's preferences: verdict, tables, JSON, LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rejoinder.meta.preferences.report import Pair, PreferenceReport, plain_interval, rate_text
from rejoinder.scoring.table import json_ready
from rejoinder.stats.formatting import counted, share_text
from rejoinder.stats.intervals import Interval

MANY_FLIPS = 0.3
"""The flip rate from which on the verdict has a warning. A judge that answers at random with A or B flips half."""


@dataclass(frozen=True, slots=True)
class Flips:
    """How often a judge's opinion depends on the order of the replies."""

    rate: Interval
    """The share of pairs with opposite preferences in the two orders; the interval resamples contexts."""
    half: float
    """The share of pairs with a preference in one order and none in the other."""
    first: float
    """Of all answers that prefer a reply, the share that prefers the one shown first; .5 without position bias."""
    pairs: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"rate": plain_interval(self.rate), "half": self.half, "first": self.first, "pairs": self.pairs}

    def __str__(self) -> str:
        return (
            f"Flip rate {rate_text(self.rate)}: the share of {counted(self.pairs, 'pair')} whose preferred reply "
            f"changes with the order. In {share_text(self.half)} of pairs there is a preference in one order only. "
            f"The reply shown first is preferred in {share_text(self.first)} of answers that prefer one."
        )


@dataclass(frozen=True)
class PairwiseReport:
    """Systems ranked by a judge's preferences; `str()` is the verdict and the tables."""

    ranked: PreferenceReport
    judge: str
    """The judge's model."""
    signature: str
    flips: Flips | None
    """None where every pair was decided without asking: equal or empty replies."""
    unusable: int = 0
    """Pairs that are left out because an answer could not be used."""
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @cached_property
    def better(self) -> str | None:
        """The system that the judge prefers significantly to every other one; None if there is none."""
        best, *rest = (row.system for row in self.ranked.systems)
        pairs = [self.ranked.pair(best, other) for other in rest]
        return best if all(pair is not None and pair.significant for pair in pairs) else None

    def verdict(self) -> str:
        """The answer in one sentence, and what limits it."""
        said = [self.ranked.verdict(f"The judge {self.judge} prefers")]
        if self.flips is not None and self.flips.rate.estimate >= MANY_FLIPS:
            said.append(
                f"The judge contradicts itself in {share_text(self.flips.rate.estimate)} of pairs when the replies "
                "change places: its preferences mean little."
            )
        said.append("This is the judge's preference; only labels by people show whether they agree.")
        return " ".join(said)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return json_ready(
            {
                **self.ranked.to_dict(),
                "data": "judge",
                "verdict": self.verdict(),
                "better": self.better,
                "judge": self.judge,
                "signature": self.signature,
                "flips": self.flips.to_dict() if self.flips else None,
                "unusable": self.unusable,
                "warnings": [*self.ranked.notes, *self.notes],
                "skipped": list(self.skipped),
            }
        )

    def to_latex(self) -> str:
        """A booktabs table of the ranking."""
        return self.ranked.to_latex()

    def __str__(self) -> str:
        parts = [self.verdict()]
        if len(self.ranked.pairs) == 1:
            parts.append(_two_systems(self.ranked.pairs[0]))
        if self.flips is not None:
            parts.append(str(self.flips))
        if self.unusable:
            parts.append(f"{counted(self.unusable, 'pair')} left out: an answer could not be used.")
        return "\n\n".join([*parts, self.ranked.tables()])


def _two_systems(pair: Pair) -> str:
    counts = f"{pair.wins} wins, {pair.ties} ties, {pair.losses} losses"
    raw = f"{pair.b} wins against {pair.a}: {rate_text(pair.win_rate)} (ties count half; {counts})."
    if pair.controlled is None:
        return raw
    return f"{raw}\nAt equal lengths of the replies: {rate_text(pair.controlled.controlled)}."

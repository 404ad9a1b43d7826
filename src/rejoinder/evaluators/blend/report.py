"""What was found when a blend was fitted: agreement with people, what each member adds, and in which direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.evaluators.blend.columns import Labelled
from rejoinder.evaluators.blend.fitting import Choice, Models, compared, held_out_predictions, mean_agreement
from rejoinder.show.text import grid, interval_text, number_text
from rejoinder.stats.intervals import Interval

_RISE = (25.0, 75.0)
"""A member's score is raised from the first to the second of these percentiles for the check of its direction."""


@dataclass(frozen=True)
class SetLine:
    """Agreement on one set, or on average; Spearman's correlation."""

    name: str
    replies: int
    contexts: int
    blend: Interval
    """Of out-of-fold predictions."""
    best: str
    """The member that agrees best here."""
    best_agreement: float
    gain: Interval
    """By how much the blend exceeds that member."""


@dataclass(frozen=True)
class MemberLine:
    """What one member contributes."""

    name: str
    alone: float
    """Its own agreement, averaged over sets."""
    adds: Interval
    """By how much the blend agrees better with it than without it, fitted anew."""
    rising: float
    """The share of replies whose score rises when only this member's score does."""


@dataclass(frozen=True)
class BlendReport:
    """Everything that is known about the fit."""

    kinds: tuple[str, ...]
    hold_out: str
    sets: tuple[SetLine, ...]
    """One per set, and the average last if there are several."""
    members: tuple[MemberLine, ...]
    leaks: tuple[str, ...] = ()
    """Members that were trained on contexts of the judged replies."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        plain: dict[str, Any] = asdict(self)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> BlendReport:
        """From plain values."""
        sets = [
            SetLine(**{**line, "blend": Interval(**line["blend"]), "gain": Interval(**line["gain"])})
            for line in plain["sets"]
        ]
        members = [MemberLine(**{**line, "adds": Interval(**line["adds"])}) for line in plain["members"]]
        return cls(tuple(plain["kinds"]), plain["hold_out"], tuple(sets), tuple(members), tuple(plain.get("leaks", ())))

    def __str__(self) -> str:
        held = "five folds of contexts" if self.hold_out == "contexts" else "one set held out at a time"
        rows = [
            [
                line.name,
                str(line.replies),
                interval_text(line.blend, 2),
                f"{number_text(line.best_agreement, 2)} {line.best}",
                interval_text(line.gain, 2, sign=True),
            ]
            for line in self.sets
        ]
        parts = [
            [line.name, number_text(line.alone, 2), interval_text(line.adds, 3, sign=True), f"{line.rising:.0%}"]
            for line in self.members
        ]
        return "\n".join(
            [
                f"model: {' and '.join(self.kinds)}; Spearman correlation with people, {held}",
                grid(["judged set", "replies", "blend", "best member", "gain"], rows),
                "",
                grid(["member", "alone", "adds to the blend", "score rises with it"], parts),
                *self.warnings(),
            ]
        )

    def warnings(self) -> list[str]:
        """What a reader should not overlook."""
        found = [f"note: {leak}" for leak in self.leaks]
        found += [
            f"note: where {line.name} is higher, the blend is lower for {1 - line.rising:.0%} of the replies"
            for line in self.members
            if line.rising < 0.5
        ]
        if self.sets[-1].gain.low <= 0:
            found.append(
                f"note: the blend is not significantly better than its best member, {self.sets[-1].best}: "
                "more labels or other members may help"
            )
        return found


def report_on(
    data: Labelled,
    choice: Choice,
    models: Models,
    members: Sequence[str],
    sets: Sequence[str],
    *,
    hold_out: str,
    seed: int,
) -> BlendReport:
    """The report on a fit."""
    alone = {place: name for place, name in enumerate(data.names) if name in members}
    lines = [
        _line(name, data.rows(data.sets == each), choice.held_out[data.sets == each], alone)
        for each, name in enumerate(sets)
    ]
    if len(sets) > 1:
        lines.append(_line("mean", data, choice.held_out, alone))
    contributions = []
    for place, name in enumerate(members):
        less = data.without(place)
        without = held_out_predictions(less, choice.kinds, hold_out, seed) if less.names else np.zeros(len(data.human))
        _, adds = compared(without, choice.chosen, data.human, data.sets, data.groups)
        column = data.names.index(name)
        contributions.append(
            MemberLine(
                name,
                mean_agreement(_filled(data.columns[:, column]), data.human, data.sets),
                adds,
                _rising(models, data.columns, column),
            )
        )
    return BlendReport(choice.kinds, hold_out, tuple(lines), tuple(contributions))


def _line(name: str, data: Labelled, held_out: Floats, alone: Mapping[int, str]) -> SetLine:
    agreements = {place: mean_agreement(_filled(data.columns[:, place]), data.human, data.sets) for place in alone}
    best = max(agreements, key=lambda place: np.nan_to_num(agreements[place], nan=-1.0))
    blend, gain = compared(_filled(data.columns[:, best]), held_out, data.human, data.sets, data.groups)
    return SetLine(name, len(held_out), len(np.unique(data.groups)), blend, alone[best], agreements[best], gain)


def _filled(column: Floats) -> Floats:
    """A column with its mean in place of gaps, so that it is compared on the same replies as the blend."""
    return np.where(np.isnan(column), np.nanmean(column) if not np.isnan(column).all() else 0.0, column)


def _rising(models: Models, columns: Floats, place: int) -> float:
    """The share of rows whose prediction does not fall when one column rises."""
    if np.isnan(columns[:, place]).all():
        return 1.0
    low, high = np.nanpercentile(columns[:, place], _RISE)
    raised, lowered = columns.copy(), columns.copy()
    raised[:, place], lowered[:, place] = high, low
    return float(np.mean(models.predict(raised) >= models.predict(lowered)))

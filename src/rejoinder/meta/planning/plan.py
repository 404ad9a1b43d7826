"""How many contexts, raters and labels does an evaluation need?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rejoinder.arguments import checked, number, one_of, optional, several, whole
from rejoinder.data.record import FieldMap, Fields
from rejoinder.data.source import OnError
from rejoinder.errors import CallError
from rejoinder.meta.planning.pilot import pilot_of
from rejoinder.meta.planning.result import Plan, PrecisionPlan
from rejoinder.metrics.base import Metric
from rejoinder.stats.correlation import KINDS
from rejoinder.stats.multiple import ALPHA
from rejoinder.stats.planning.precision import items_for_agreement, items_for_correlation
from rejoinder.stats.planning.spread import PilotSpread, Spread, spread_of_icc

RATERS = (1, 2, 3, 5, 10)
"""Ratings per reply that a plan shows."""
POWER = 0.8
MOST_SYSTEMS = 1000
MOST_CONTEXTS = 1_000_000_000
MOST_RATERS = 1000


@checked(
    difference=number(above=0),
    sd=optional(number(least=0)),
    rater_sd=optional(number(least=0)),
    icc=optional(number(above=0, most=1)),
    systems=whole(2, MOST_SYSTEMS),
    contexts=optional(whole(2, MOST_CONTEXTS)),
    power=number(above=0, below=1),
    alpha=number(above=0, below=1),
)
def plan(
    *pilot: Any,
    difference: float,
    metric: str | Metric | None = None,
    dimension: str | None = None,
    sd: float | None = None,
    rater_sd: float | None = None,
    icc: float | None = None,
    systems: int = 2,
    contexts: int | None = None,
    power: float = POWER,
    alpha: float = ALPHA,
    fields: Fields | None = None,
    on_error: OnError = "raise",
    quiet: bool = True,
) -> Plan:
    """How many contexts and ratings detect a `difference` between two systems' means.

    The spread comes from a pilot: one file of judged replies, or, with a `metric`, files of replies that it scores. Or
    it is stated: `sd`, the standard deviation over contexts of the true difference between two systems, and either
    `rater_sd`, that of single ratings of one reply, or `icc`, the intraclass correlation of single ratings (neither:
    scores without rater noise). With more than two `systems`, all pairs are compared with Holm's correction. `contexts`
    is the number that can be had at most.
    """
    if power <= alpha:
        raise CallError(f"power must be above alpha, which is {alpha:g}")
    mapping = FieldMap.given(fields)
    if pilot:
        if not (sd is None and rater_sd is None and icc is None):
            raise CallError("sd, rater_sd and icc are estimated from the pilot: give either a pilot or these")
        found, measured, notes = pilot_of(pilot, metric, dimension, fields=mapping, on_error=on_error, quiet=quiet)
        raters = RATERS if found.rated_twice else (1,)
    else:
        if metric is not None or dimension is not None:
            raise CallError("a metric and a dimension are those of a pilot: expected a pilot")
        found, measured, notes = _stated(sd, rater_sd, icc), "", ()
        raters = RATERS if found.spread.rating > 0 else (1,)
    pairs = math.comb(systems, 2)
    return Plan(
        difference=difference,
        pilot=found,
        measured=measured,
        rated=found.spread.rating > 0 or (bool(pilot) and metric is None),
        systems=systems,
        available=contexts,
        power=power,
        alpha=alpha,
        level=alpha / pairs,
        raters=raters,
        notes=notes,
    )


@checked(
    agreement=optional(number(least=0, below=1)),
    correlation=optional(number(above=-1, below=1)),
    width=number(above=0, below=2),
    raters=several(whole(2, MOST_RATERS), "a list of numbers of raters"),
    kind=one_of(*KINDS),
)
def plan_precision(
    *,
    agreement: float | None = None,
    correlation: float | None = None,
    width: float = 0.2,
    raters: Sequence[int] = (2, 3, 5, 10),
    kind: str = "spearman",
) -> PrecisionPlan:
    """How many items an interval of this width needs: on Krippendorff's alpha, or on a correlation with people.

    `agreement` or `correlation` is the expected value. For `agreement` there is one row per number of raters.
    """
    if (agreement is None) == (correlation is None):
        raise CallError("expected either an agreement or a correlation")
    if agreement is not None:
        rows = tuple((count, items_for_agreement(agreement, width, count)) for count in raters)
        return PrecisionPlan("agreement", agreement, width, rows)
    expected = 0.0 if correlation is None else correlation
    return PrecisionPlan(kind, expected, width, ((1, items_for_correlation(expected, width, kind)),))


def _stated(sd: float | None, rater_sd: float | None, icc: float | None) -> PilotSpread:
    """The spread that was stated, in the form of one that was estimated."""
    if sd is None:
        raise CallError("a plan needs a pilot, or the standard deviation of the differences: sd")
    if rater_sd is not None and icc is not None:
        raise CallError("rater_sd and icc say the same: expected one of them")
    spread = Spread(sd**2, (rater_sd or 0.0) ** 2) if icc is None else spread_of_icc(sd, icc)
    if spread.between == 0 and spread.rating == 0:
        raise CallError("sd and rater_sd are both 0: a difference would show on any context")
    return PilotSpread(spread, 0, paired=True, rated_twice=spread.rating > 0)

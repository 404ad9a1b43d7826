"""How many contexts, raters and labels does an evaluation need? From a pilot, or without one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, overload

import numpy as np

from rejoinder._version import __version__
from rejoinder.comparing.systems import join
from rejoinder.data.judged import chosen_dimensions, read_judged
from rejoinder.data.records import FieldMap, Fields
from rejoinder.data.source import Source, labels_of
from rejoinder.errors import CallError
from rejoinder.metrics.base import Metric
from rejoinder.options import FIELDS_OPTION, Dimension, OnError, Option, Quiet, number, several, verb, whole
from rejoinder.scoring.run import LocalRun
from rejoinder.scoring.score import choose_metrics
from rejoinder.scoring.table import json_ready
from rejoinder.show.document import ALL_FORMS, Block, Cell, Document, Form, Result, Say, Table, VerdictText, renamed
from rejoinder.show.figures import LinePanel, PlotCurve
from rejoinder.show.text import counted
from rejoinder.stats.planning import (
    MOST,
    PilotSpread,
    Spread,
    contexts_needed,
    detectable_difference,
    items_for_agreement,
    items_for_correlation,
    pilot_spread,
    spread_of_icc,
)

# How many contexts, raters and labels does an evaluation need?


RATERS = (1, 2, 3, 5, 10)
"""Ratings per reply that a plan shows."""
POWER = 0.8
MOST_SYSTEMS = 1000
MOST_CONTEXTS = 1_000_000_000
MOST_RATERS = 1000
_STATED = "without a pilot"
_INTERVAL = "an interval instead of a comparison"


@overload
def plan(*pilot: Any, difference: float, **settings: Any) -> Plan: ...


@overload
def plan(*, agreement: float, **settings: Any) -> PrecisionPlan: ...


@overload
def plan(*, correlation: float, **settings: Any) -> PrecisionPlan: ...


@verb  # type: ignore[misc]  # the overloads leave out the arguments that all results share
def plan(
    *pilot: Annotated[
        Any,
        Option(
            "judged replies of two or more systems, with several raters if possible; with -m, files of replies that "
            "the metric scores; leave it out if --sd states the spread"
        ),
    ],
    difference: Annotated[
        float | None,
        Option("the smallest difference between two systems that would matter", number(above=0), metavar="D"),
    ] = None,
    metric: Annotated[
        str | Metric | None,
        Option("plan for the scores of this metric, not for ratings", short="-m", metavar="NAME"),
    ] = None,
    dimension: Dimension = None,
    sd: Annotated[
        float | None,
        Option(
            "standard deviation over contexts of the true difference between two systems",
            number(least=0),
            metavar="SD",
            group=_STATED,
        ),
    ] = None,
    rater_sd: Annotated[
        float | None,
        Option("standard deviation of ratings of one reply", number(least=0), metavar="SD", group=_STATED),
    ] = None,
    icc: Annotated[
        float | None,
        Option(
            "in place of --rater-sd: the intraclass correlation of single ratings",
            number(above=0, most=1),
            metavar="ICC",
            group=_STATED,
        ),
    ] = None,
    systems: Annotated[int, Option("systems to compare", whole(2, MOST_SYSTEMS), metavar="K")] = 2,
    contexts: Annotated[
        int | None, Option("the largest number of contexts available", whole(2, MOST_CONTEXTS), metavar="N")
    ] = None,
    power: Annotated[float, Option("probability of detecting the difference", number(above=0, below=1))] = POWER,
    alpha: Annotated[float, Option("significance level", number(above=0, below=1))] = 0.05,
    agreement: Annotated[
        float | None,
        Option("expected Krippendorff's alpha of the raters", number(least=0, below=1), metavar="A", group=_INTERVAL),
    ] = None,
    correlation: Annotated[
        float | None,
        Option("expected correlation of a metric with people", number(above=-1, below=1), metavar="R", group=_INTERVAL),
    ] = None,
    kind: Annotated[
        str, Option("the kind of correlation", choices=("pearson", "spearman", "kendall"), group=_INTERVAL)
    ] = "spearman",
    width: Annotated[
        float, Option("the width that the 95 % interval should have", number(above=0, below=2), group=_INTERVAL)
    ] = 0.2,
    raters: Annotated[
        Sequence[int],
        Option(
            "with --agreement: numbers of raters, each with its number of items",
            several(whole(2, MOST_RATERS), "a list of numbers of raters"),
            metavar="N",
            many="+",
            group=_INTERVAL,
        ),
    ] = (2, 3, 5, 10),
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    quiet: Quiet = True,
) -> Plan | PrecisionPlan:
    """How many contexts and ratings detect a `difference` between two systems' means.

    The spread comes from a pilot: one file of judged replies, or, with a `metric`, files of replies that it scores. Or
    it is stated: `sd`, the standard deviation over contexts of the true difference between two systems, and either
    `rater_sd`, that of single ratings of one reply, or `icc`, the intraclass correlation of single ratings (neither:
    scores without rater noise). With more than two `systems`, all pairs are compared with Holm's correction. `contexts`
    is the number that can be had at most.

    With the expected `agreement` of raters (Krippendorff's alpha), or the expected `correlation` of a metric with
    people, the plan is instead how many items an interval of this `width` needs, for each number of `raters`.
    """
    mapping = FieldMap.given(fields)
    if agreement is not None or correlation is not None:
        if pilot or not all(given is None for given in (difference, metric, dimension, sd, rater_sd, icc, contexts)):
            raise CallError("a pilot and a difference are for comparing systems, not for an agreement or a correlation")
        return _precision(agreement, correlation, width, raters, kind)
    if difference is None:
        raise CallError("plan needs the smallest difference that would matter: expected a difference")
    if power <= alpha:
        raise CallError(f"power must be above alpha, which is {alpha:g}")
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


def _precision(
    agreement: float | None, correlation: float | None, width: float, raters: Sequence[int], kind: str
) -> PrecisionPlan:
    """How many items an interval of this width needs; for an agreement, one row per number of raters."""
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


# The spread in a pilot: judged replies, or replies that a metric scores.


def pilot_of(
    origins: Sequence[Any],
    metric: str | Metric | None,
    dimension: str | None,
    *,
    fields: FieldMap | None,
    on_error: OnError,
    quiet: bool,
) -> tuple[PilotSpread, str, tuple[str, ...]]:
    """The spread, what was measured (a dimension or a metric), and notes."""
    if metric is None:
        found, name, notes = _judged(origins, dimension, fields, on_error)
    else:
        found, name, notes = _scored(origins, metric, fields, on_error, quiet=quiet)
    if found.contexts < 3:
        raise CallError(f"the pilot has {found.contexts} contexts with scores: expected at least 3")
    if found.spread.between == 0 and found.spread.rating == 0:
        raise CallError(
            "the pilot's systems differ by the same amount on every context, so that it does not say how much they vary"
        )
    return found, name, (*notes, *_notes(found, rated=metric is None))


def _judged(
    origins: Sequence[Any], dimension: str | None, fields: FieldMap | None, on_error: OnError
) -> tuple[PilotSpread, str, list[str]]:
    if len(origins) > 1:
        raise CallError("several pilot files need a metric (-m); a pilot of judged replies is one file")
    judged = read_judged(origins[0], fields=fields, on_error=on_error)
    dimensions = chosen_dimensions(judged, dimension)
    notes = [f"uses the dimension {dimensions[0]}, the first of {', '.join(dimensions)}"] if len(dimensions) > 1 else []
    found = pilot_spread(judged.ratings[dimensions[0]], judged.systems, judged.contexts)
    return found, dimensions[0], notes


def _scored(
    origins: Sequence[Any], metric: str | Metric, fields: FieldMap | None, on_error: OnError, *, quiet: bool
) -> tuple[PilotSpread, str, list[str]]:
    joined, seen = join([Source(origin, fields, on_error) for origin in origins], labels_of(origins), quiet=quiet)
    run = LocalRun.of(joined, choose_metrics(metric), seen, resamples=1, quiet=quiet)
    if len(run.metrics) != 1:
        raise CallError(f"a pilot is scored by one metric, found {len(run.metrics)}")
    table = run.score()
    (label,) = table.metrics
    systems = [table.system_names[code] for code in table.system_of.tolist()]
    contexts = np.arange(len(table)) if table.grouping is None else table.grouping.contexts
    return pilot_spread(table[label].reshape(-1, 1), systems, contexts), label, list(table.notes)


def _notes(found: PilotSpread, *, rated: bool) -> list[str]:
    notes = []
    if not found.paired:
        notes.append(
            "no two systems of the pilot answered the same contexts, so the plan is for systems that answer different "
            "contexts: contexts are counted per system; with the same contexts, fewer are needed"
        )
    if rated and not found.rated_twice:
        notes.append(
            "the pilot has one rating per reply, so the effect of more raters is unknown: the plan is for as many "
            "ratings per reply as the pilot's scores are made of"
        )
    return notes


# Plans as a verdict in words, tables, JSON, LaTeX and a curve.


CURVE = (25, 50, 100, 200, 400, 800)
"""Contexts of the curve."""
FACTORS = (0.5, 1.0, 2.0)
"""The table also shows half and twice the difference: the needed contexts change with its square."""
_PILOT_CONFIDENCE = 0.8


@dataclass(frozen=True, repr=False)
class Plan(Result):
    """What a comparison of systems needs."""

    difference: float
    pilot: PilotSpread
    measured: str
    """The dimension or metric of the pilot; "" where the spread was stated."""
    rated: bool
    """Whether people give the scores, so that there are labels to count."""
    systems: int
    available: int | None
    power: float
    alpha: float
    level: float
    """The level of a single test: alpha over the number of pairs of systems, as in the first step of Holm."""
    raters: tuple[int, ...]
    notes: tuple[str, ...] = ()

    def needed(self, raters: int, difference: float | None = None, *, variance_factor: float = 1.0) -> float:
        """The contexts that detect the difference, if each reply has this many ratings."""
        deviation = self.pilot.spread.deviation(raters) * math.sqrt(variance_factor)
        gap = self.difference if difference is None else difference
        return contexts_needed(gap, deviation, power=self.power, alpha=self.level)

    def labels(self, raters: int) -> float:
        """The ratings to collect: one per context, system and rater."""
        return self.needed(raters) * self.systems * raters

    def detectable(self, contexts: int, raters: int) -> float:
        """The difference that this many contexts detect."""
        deviation = self.pilot.spread.deviation(raters)
        return detectable_difference(deviation, contexts, power=self.power, alpha=self.level)

    @cached_property
    def recommended(self) -> int | None:
        """The fewest ratings per reply for which the available contexts suffice; None if they never do.

        One rating per reply needs the fewest labels: a second rater adds nothing about other contexts.
        """
        most = MOST if self.available is None else self.available
        return next((count for count in self.raters if self.needed(count) <= most), None)

    @property
    def sentences(self) -> list[str]:
        """What to collect, in one or two sentences."""
        sure = f"{self.power:.0%} power at the {100 * self.alpha:g}% level"
        goal = f"a difference of {self.difference:g}{self._between()} with {sure}"
        raters = self.recommended
        if raters is None:
            return [self._out_of_reach(goal)]
        contexts = self.needed(raters)
        ratings = (
            f" with {counted(raters, 'rating')} per reply ({self.labels(raters):,.0f} labels)" if self.rated else ""
        )
        per = "" if self.pilot.paired else " per system"
        return [f"Collect {contexts:,.0f} contexts{per}{ratings} to detect {goal}.", *self._uncertainty(raters)]

    def _between(self) -> str:
        pairs = math.comb(self.systems, 2)
        return "" if self.systems == 2 else f" between any two of {self.systems} systems ({pairs} comparisons, Holm)"

    def _out_of_reach(self, goal: str) -> str:
        most = self.raters[-1]
        if self.available is None:
            return f"More than ten million contexts would be needed to detect {goal}."
        found = self.detectable(self.available, most)
        ratings = f" with {counted(most, 'rating')} per reply" if self.rated else ""
        smallest = (
            "they are too few for any test to be significant"
            if math.isnan(found)
            else f"the smallest difference that they detect{ratings} is {found:.3g}"
        )
        return f"{counted(self.available, 'context')} are too few to detect {goal}; {smallest}."

    def _range(self, raters: int) -> tuple[float, float] | None:
        """The needed contexts at the ends of the pilot's 80 % interval for the variance."""
        if not self.measured:
            return None
        from scipy.special import chdtri

        degrees = self.pilot.contexts - 1
        tail = (1 - _PILOT_CONFIDENCE) / 2
        factors = [degrees / float(chdtri(degrees, share)) for share in (tail, 1 - tail)]
        low, high = (self.needed(raters, variance_factor=factor) for factor in factors)
        return low, high

    def _uncertainty(self, raters: int) -> Iterator[str]:
        bounds = self._range(raters)
        if bounds is None:
            return
        high = f"{bounds[1]:,.0f}" if math.isfinite(bounds[1]) else "more than ten million"
        yield (
            f"The pilot's {counted(self.pilot.contexts, 'context')} leave this uncertain: between {bounds[0]:,.0f} "
            f"and {high} ({_PILOT_CONFIDENCE:.0%} interval)."
        )

    @property
    def differences(self) -> tuple[float, ...]:
        """Half the difference, the difference, and twice it."""
        return tuple(factor * self.difference for factor in FACTORS)

    def panel(self) -> LinePanel:
        """The curve: the difference that is detected, by contexts and ratings per reply."""
        curves = [
            PlotCurve(
                counted(count, "rating") if self.rated else "scores",
                CURVE,
                [self.detectable(contexts, count) for contexts in CURVE],
            )
            for count in self.raters
        ]
        return LinePanel("Smallest difference that is detected", tuple(curves), "contexts", "difference")

    @property
    def decided(self) -> bool:
        """Whether enough contexts can be had."""
        return self.recommended is not None

    def recommendation(self) -> str:
        """The verdict, as it was named before 0.2."""
        renamed("recommendation()", "verdict")
        return self.verdict

    def document(self) -> Document:
        """The contexts for each number of ratings and each difference, and what a number of contexts detects."""
        header = ["ratings per reply" if self.rated else "", *(f"{gap:g}" for gap in self.differences)]
        rows: list[list[Cell]] = []
        for count in self.raters:
            cells = [_count(self.needed(count, gap)) for gap in self.differences]
            labels = [_count(self.labels(count))] if self.rated else []
            rows.append([str(count) if self.rated else "contexts", *cells, *labels])
        curve = [
            [str(contexts), *(_gap(self.detectable(contexts, count)) for count in self.raters)] for contexts in CURVE
        ]
        columns = [counted(count, "rating") if self.rated else "difference" for count in self.raters]
        header += [f"labels for {self.difference:g}"] if self.rated else []
        detected = self.panel()
        return Document(
            "Plan of an evaluation",
            [
                VerdictText(self.sentences, detected, fit=False),
                Say([self.spread_text()], fit=False),
                Table(header, rows, title="Contexts needed, by the difference to detect", fit=False),
                Table(["contexts", *columns], curve, title=detected.title, fit=False),
            ],
            question="How much has to be collected?",
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        spread, bounds = self.pilot.spread, None if self.recommended is None else self._range(self.recommended)
        values = {
            "version": __version__,
            **self.answer,
            "recommendation": self.verdict,
            "difference": self.difference,
            "power": self.power,
            "alpha": self.alpha,
            "level_of_a_test": self.level,
            "systems": self.systems,
            "contexts_available": self.available,
            "contexts": None if self.recommended is None else self.needed(self.recommended),
            "contexts_low": bounds[0] if bounds else None,
            "contexts_high": bounds[1] if bounds else None,
            "raters": self.recommended,
            "labels": self.labels(self.recommended) if self.rated and self.recommended else None,
            "measured": self.measured or None,
            "pilot_contexts": self.pilot.contexts or None,
            "paired": self.pilot.paired,
            "sd": math.sqrt(spread.between),
            "rater_sd": math.sqrt(spread.rating),
            "icc": spread.icc,
            "table": [
                {"raters": count, "difference": gap, "contexts": self.needed(count, gap)}
                for count in self.raters
                for gap in self.differences
            ],
            "curve": [
                {"contexts": contexts, "raters": count, "difference": self.detectable(contexts, count)}
                for contexts in CURVE
                for count in self.raters
            ],
            "warnings": list(self.notes),
        }
        return json_ready(values)

    def spread_text(self) -> str:
        """The spread that the plan is based on, in one sentence."""
        spread = self.pilot.spread
        origin = f"Pilot ({self.measured}, {counted(self.pilot.contexts, 'context')})" if self.measured else "As stated"
        text = f"{origin}: differences between systems have a standard deviation of {math.sqrt(spread.between):.3g}"
        if spread.rating:
            text += f" over contexts; ratings of one reply have a standard deviation of {math.sqrt(spread.rating):.3g}"
        return f"{text}."


@dataclass(frozen=True, repr=False)
class PrecisionPlan(Result):
    """How many items an interval of a given width needs."""

    kind: str
    """"agreement", or the kind of correlation."""
    expected: float
    width: float
    rows: tuple[tuple[int, float], ...]
    """Raters per item and items; for a correlation, a single row."""
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """What to collect."""
        raters, items = min(self.rows, key=lambda row: row[0] * row[1])
        what = "Krippendorff's alpha" if self.kind == "agreement" else f"a {self.kind.capitalize()} correlation"
        if self.kind == "agreement":
            per, independent = f" with {counted(raters, 'rater')} each ({_shown(raters * items)} labels)", ""
        else:
            per, independent = "", "; items must be independent, so take one reply per context"
        return [
            f"Collect {_shown(items)} items{per} for a 95 % interval of width {self.width:g} on {what} of about "
            f"{self.expected:g}{independent}."
        ]

    def recommendation(self) -> str:
        """The verdict, as it was named before 0.2."""
        renamed("recommendation()", "verdict")
        return self.verdict

    def document(self) -> Document:
        """The needed items for each number of raters."""
        by_raters = self.kind == "agreement"
        columns = ["raters per item", "items", "labels"] if by_raters else ["correlation", "items"]
        rows: list[list[Cell]] = [[str(raters), _count(n), _count(raters * n)] for raters, n in self.rows]
        if not by_raters:
            rows = [[self.kind, _count(n)] for _, n in self.rows]
        forms: tuple[Form, ...] = ALL_FORMS if by_raters else ("latex",)
        blocks: list[Block] = [VerdictText(self.sentences, fit=False), Table(columns, rows, fit=False, only=forms)]
        return Document("Plan of an evaluation", blocks, question="How much has to be collected?")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        rows = [{"raters": raters, "items": items, "labels": raters * items} for raters, items in self.rows]
        if self.kind != "agreement":
            rows = [{"items": items} for _, items in self.rows]
        values = {
            "version": __version__,
            **self.answer,
            "recommendation": self.verdict,
            "kind": self.kind,
            "expected": self.expected,
            "width": self.width,
            "table": rows,
        }
        return json_ready(values)


def _count(number: float) -> Cell:
    return round(number) if math.isfinite(number) else "> 10 million"


def _shown(number: float) -> str:
    return f"{number:,.0f}" if math.isfinite(number) else "> 10 million"


def _gap(difference: float) -> str:
    return "-" if math.isnan(difference) else f"{difference:.3g}"

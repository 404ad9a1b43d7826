"""Can these ratings be trusted? Agreement on every dimension, filters, and one score per reply."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rejoinder._version import __version__
from rejoinder.arrays import Floats, Ints
from rejoinder.data.convert import example_record, write_records
from rejoinder.data.judged import Ratings, RatingSource, chosen_with, context_key
from rejoinder.data.records import Fields
from rejoinder.data.source import Source
from rejoinder.errors import CallError, DataError, UnknownNameError, listed, shortened
from rejoinder.folders.outputs import paths_of, reserved_file
from rejoinder.options import FIELDS_OPTION, RESAMPLES, OnError, Option, Resamples, Seed, number, path, text, verb
from rejoinder.scoring.table import json_ready
from rejoinder.show.document import (
    PAGE,
    Block,
    Cell,
    Column,
    Document,
    PValue,
    Result,
    Say,
    Section,
    Table,
    VerdictText,
)
from rejoinder.show.text import counted, interval_text, number_text
from rejoinder.stats.aggregation import aggregate
from rejoinder.stats.intervals import Interval
from rejoinder.stats.mixed import CrossedMeans, crossed_means
from rejoinder.stats.rater_intervals import alpha_interval
from rejoinder.stats.raters import (
    IntraclassCorrelation,
    cohens_kappa,
    fleiss_kappa,
    intraclass_correlation,
    mad_outliers,
    mean_reliability,
    perfect_correlation,
    rest_means,
)
from rejoinder.types import Example, JudgedExample, Rating, Scores


@dataclass(frozen=True, eq=False, repr=False)
class RaterAgreement(Result):
    """How well raters agree."""

    rated: RatingSet
    """After the filters."""
    dimensions: tuple[DimensionAgreement, ...]
    aggregated: Mapping[str, Scores]
    """Dimension -> one score per reply; empty where no method was asked for."""
    notes: tuple[str, ...] = ()

    def judged(self) -> list[JudgedExample]:
        """The replies with their aggregated scores; those without any rating are left out."""
        return [
            JudgedExample(example, scores, probability=self._probability(example)) for example, scores in self._scored()
        ]

    def records(self) -> Iterator[dict[str, Any]]:
        """The same as records of a judged file."""
        for item in self.judged():
            scores = {dimension: values[0] for dimension, values in item.scores.items()}
            chosen = {} if np.isnan(item.probability) else {"probability": item.probability}
            yield example_record(item.example, {"scores": scores, **chosen})

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return json_ready(
            {
                "version": __version__,
                "data": self.rated.name,
                "raters": list(self.rated.raters),
                **self.answer,
                "warnings": list(self.notes),
                "dimensions": {report.dimension: report.to_dict() for report in self.dimensions},
            }
        )

    @property
    def sentences(self) -> list[str]:
        """Whether the ratings can be trusted, one sentence per dimension."""
        return [report.sentence() for report in self.dimensions]

    def document(self) -> Document:
        """The tables of each dimension."""
        parts = [Section(report.dimension, list(report.blocks())) for report in self.dimensions]
        counts = [(len(self.rated.examples), "reply", "replies"), (len(self.rated.raters), "rater", "raters")]
        blocks: list[Block] = [VerdictText(self.sentences, only=PAGE), *parts]
        return Document(
            f"Ratings of {Path(self.rated.name).name}", blocks, question="Can these ratings be trusted?", counts=counts
        )

    def _scored(self) -> Iterator[tuple[Example, dict[str, tuple[float, ...]]]]:
        for row, example in enumerate(self.rated.examples):
            known: dict[str, tuple[float, ...]] = {
                dimension: (float(values[row]),)
                for dimension, values in self.aggregated.items()
                if not np.isnan(values[row])
            }
            if known:
                yield example, known

    def _probability(self, example: Example) -> float:
        return self.rated.probabilities.get((example.id, example.system), float("nan"))


@verb
def agree(
    ratings: Annotated[
        Any,
        Option("judged replies, or a table with one row per rating: id, system, rater, dimension, score, time"),
    ],
    *,
    replies: Annotated[Any, Option("the replies that were rated, where the table has only ids", metavar="FILE")] = None,
    dimension: Annotated[
        str | None, Option("the dimension that was rated (default: all)", text, metavar="NAME")
    ] = None,
    level: Annotated[
        str,
        Option(
            "the level of measurement of the scores, for Krippendorff's alpha",
            choices=("nominal", "ordinal", "interval"),
        ),
    ] = "interval",
    least_kappa: Annotated[
        float | None,
        Option(
            "leave out raters whose median kappa with the others is below this (0.2 in the papers)",
            number(-1, 1),
            metavar="K",
            group="filters",
        ),
    ] = None,
    mad: Annotated[
        float | None,
        Option(
            "leave out ratings more than N scaled median absolute deviations from their reply's median (N: 1)",
            number(least=0),
            metavar="N",
            const=1.0,
            group="filters",
        ),
    ] = None,
    aggregation: Annotated[
        str | None,
        Option(
            "the mean; the mean of z-scores of each rater; models of raters' errors (default: mean, with -o)",
            choices=("mean", "normalised", "dawid-skene", "mace"),
            group="one score per reply",
            old=("--aggregate",),
        ),
    ] = None,
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    seed: Seed = 0,
    resamples: Resamples = RESAMPLES,
    output: Annotated[
        str | Path | None,
        Option(
            "write judged replies with these scores",
            path,
            short="-o",
            metavar="FILE.jsonl",
            group="one score per reply",
        ),
    ] = None,
) -> RaterAgreement:
    """Measure how well raters agree, on judged records or on a table with one row per rating.

    `least_kappa` leaves out raters whose median quadratic-weighted kappa with the others is lower, `mad` ratings that
    are more than so many scaled median absolute deviations from the median of their reply (Zhao et al. 2020: 1).
    `aggregation` is how one score per reply is made (mean, normalised, dawid-skene, mace; with an output, mean is the
    default), and `output` the judged file that they are written to. `replies` is the file of replies, where the ratings
    have only ids. `level` is the scale of the ratings: nominal, ordinal or interval.
    """
    if output is not None and aggregation is None:
        aggregation = "mean"
    with reserved_file(output, (".jsonl",), reads=paths_of([ratings, replies])) as target:
        rated = read_ratings(ratings, replies=replies, fields=fields, on_error=on_error)
        if target is not None and not rated.has_texts:
            raise CallError(f"{rated.name} has no replies, only their ids: expected a file of the replies as well")
        settings: dict[str, Any] = {"level": level, "seed": seed, "resamples": resamples}
        report = _measured(rated, rated.chosen_dimensions(dimension), least_kappa, mad, aggregation, settings)
        if target is not None:
            write_records(target, report.records())
    return report


def _measured(
    rated: RatingSet,
    wanted: Sequence[str],
    least_kappa: float | None,
    mad: float | None,
    aggregation: str | None,
    settings: Mapping[str, Any],
) -> RaterAgreement:
    removed: dict[str, list[str]] = {name: [] for name in wanted}
    kept = {name: _filtered(rated, name, least_kappa, mad, removed[name]) for name in wanted}
    cleaned = rated.with_ratings(kept)
    before = rated if least_kappa is not None or mad is not None else None
    return RaterAgreement(
        cleaned,
        tuple(dimension_agreement(cleaned, before, name, tuple(removed[name]), **settings) for name in wanted),
        {name: _aggregated(kept[name], name, aggregation, settings["seed"]) for name in wanted} if aggregation else {},
        tuple(_notes(rated)),
    )


def _filtered(
    rated: RatingSet, dimension: str, least_kappa: float | None, mad: float | None, removed: list[str]
) -> Ratings:
    """The ratings that pass the filters; what was removed is added to the list."""
    matrix = rated.ratings[dimension]
    if least_kappa is not None:
        below = median_kappas(kappa_matrix(matrix)) < least_kappa
        names = [rated.raters[place] for place in np.flatnonzero(below)]
        if below.any():
            matrix = np.where(below, np.nan, matrix)
        raters = f": {listed(names)}" if names else ""
        removed.append(f"left out {counted(len(names), 'rater')} with a median kappa below {least_kappa:g}{raters}")
    if mad is not None:
        outliers = mad_outliers(matrix, mad)
        removed.append(
            f"left out {int(outliers.sum()):,} of {int((~np.isnan(matrix)).sum()):,} ratings more than {mad:g} scaled "
            "deviations (MAD) from the median of their reply; alpha of what is left is not a measure of reliability"
        )
        matrix = np.where(outliers, np.nan, matrix)
    if np.isnan(matrix).all():
        raise CallError(f"{rated.name}: the filters leave no rating of {dimension}")
    return matrix


def _aggregated(matrix: Ratings, dimension: str, method: str, seed: int) -> Scores:
    try:
        return aggregate(matrix, method, seed=seed)
    except ValueError as error:
        raise CallError(f"{dimension}: {error}") from None


def _notes(rated: RatingSet) -> Iterator[str]:
    if not rated.named:
        yield (
            "the data do not say who gave which score: the n-th score of every reply is taken to be that of one rater, "
            "and single raters are not shown"
        )
    if rated.skipped:
        yield f"left out {counted(len(rated.skipped), 'unreadable record')}; the first: {rated.skipped[0]}"


# The agreement of raters on one dimension: measures of agreement, single raters, and means of systems.


FEWEST_SHARED = 10
"""Replies that two raters must both have rated for a kappa that is worth reporting."""

RELIABLE, TENTATIVE = 0.8, 0.667
"""Alphas from which ratings are reliable, and from which they allow tentative conclusions (Krippendorff 2004)."""

_MOST_RATERS = 50
"""Raters in the printed table."""

_MOST_DIFFERENCES = 15
"""Differences of systems in the printed table."""


@dataclass(frozen=True, slots=True)
class RaterRow:
    """One rater."""

    rater: str
    n_ratings: int
    mean: float
    difference: float
    """Mean difference between her ratings and the mean of the others' ratings of the same replies."""
    z_score: float
    """The difference, compared with those of all raters: in standard deviations from their mean."""
    severity: Interval
    """How much higher than others she rates the same replies, by the crossed random-effects model."""
    kappa: float
    """The median quadratic-weighted kappa with other raters."""


@dataclass(frozen=True, eq=False)
class DimensionAgreement:
    """How well the raters of one dimension agree."""

    dimension: str
    level: str
    n_replies: int
    """Replies with at least one rating."""
    n_ratings: int
    alpha: Interval
    before: Interval | None
    """Alpha before the filters; None where there was no filter."""
    removed: tuple[str, ...]
    """What the filters removed."""
    ratings_per_reply: float
    """The harmonic mean, over replies with two ratings or more."""
    reliability: float
    """Of the mean rating of a reply."""
    ceiling: Interval
    """The highest Pearson correlation that a metric can have with the mean ratings."""
    kappas: Floats
    """Quadratic-weighted kappa of each pair of raters; NaN where they share fewer than ten replies."""
    fleiss: float
    intraclass: IntraclassCorrelation
    raters: tuple[RaterRow, ...]
    systems: CrossedMeans | None
    """Means of systems by the crossed random-effects model; None where the data do not suffice for it."""

    @property
    def median_kappa(self) -> float:
        """The median kappa of pairs of raters."""
        known = self.kappas[~np.isnan(self.kappas)]
        return float(np.median(known)) if known.size else math.nan

    def sentence(self) -> str:
        """Whether the ratings can be trusted, in words."""
        if math.isnan(self.alpha.estimate):
            return f"{self.dimension}: the agreement is unknown: no reply has two ratings, or all ratings are equal."
        alpha = f"alpha {interval_text(self.alpha)}"
        if self.alpha.estimate >= RELIABLE:
            single = f"single ratings are reliable ({alpha})"
        elif self.alpha.estimate >= TENTATIVE:
            single = f"single ratings allow tentative conclusions ({alpha}; {RELIABLE} would be reliable)"
        else:
            single = f"single ratings are not reliable ({alpha}; {TENTATIVE} is the usual minimum)"
        return (
            f"{self.dimension}: {single}; mean ratings (of {self.ratings_per_reply:.3g} raters) have a reliability of "
            f"{number_text(self.reliability)}, and no metric can correlate with them above "
            f"{interval_text(self.ceiling)} (Pearson)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        systems = None
        if self.systems is not None:
            systems = {
                "means": {system: _plain(mean) for system, mean in self.systems.means.items()},
                "differences": [
                    {"a": row.a, "b": row.b, **_plain(row.contrast), "p_adjusted": row.p_adjusted}
                    for row in self.systems.differences
                ],
                "variances": self.systems.variances,
            }
        return {
            "replies": self.n_replies,
            "ratings": self.n_ratings,
            "level": self.level,
            "alpha": asdict(self.alpha),
            "alpha_before": asdict(self.before) if self.before else None,
            "removed": list(self.removed),
            "ratings_per_reply": self.ratings_per_reply,
            "reliability": self.reliability,
            "ceiling": asdict(self.ceiling),
            "median_kappa": self.median_kappa,
            "kappas": self.kappas.tolist(),
            "fleiss": self.fleiss,
            "icc": {**asdict(self.intraclass), "n_annotators": self.intraclass.n_raters},  # as it was named before 0.2
            "raters": [asdict(row) for row in self.raters],
            "systems": systems,
            "verdict": self.sentence(),
        }

    def blocks(self) -> Iterator[Block]:
        """Whether the ratings can be trusted, the measures, single raters, and means of systems."""
        yield Say([self.sentence(), *self.removed], lines=True, fit=False)
        icc = self.intraclass
        before: list[list[Cell]] = (
            [[f"alpha before the filters ({self.level})", self.before]] if self.before is not None else []
        )
        rows: list[list[Cell]] = [
            ["ratings", f"{self.n_ratings:,} of {self.n_replies:,} replies"],
            *before,
            [f"Krippendorff's alpha ({self.level})", self.alpha],
            ["median kappa of two raters (quadratic)", self.median_kappa],
            ["Fleiss' kappa", self.fleiss],
            [
                f"ICC(2,1), ICC(2,k) of {icc.n_items:,} replies",
                f"{number_text(icc.single_2)}, {number_text(icc.average_2)}",
            ],
        ]
        yield Table(["measure", "value"], rows, fit=False)
        if self.raters:
            yield self._raters_table()
        if self.systems is not None and len(self.systems.means) > 1:
            yield from _systems(self.systems)

    def _raters_table(self) -> Table:
        columns = [
            *("rater", "ratings", Column("mean", digits=2), Column("against others", digits=2), Column("z", digits=1)),
            *(Column("severity [95 %]", digits=2, key="severity"), Column("kappa", digits=2)),
        ]
        rows = [
            [row.rater, row.n_ratings, row.mean, row.difference, row.z_score, row.severity, row.kappa]
            for row in self.raters[:_MOST_RATERS]
        ]
        more = len(self.raters) - _MOST_RATERS
        return Table(columns, rows, note=f"... and {more} more raters (see --json)" if more > 0 else "", fit=False)


def dimension_agreement(
    rated: RatingSet,
    before: RatingSet | None,
    dimension: str,
    removed: tuple[str, ...],
    *,
    level: str,
    seed: int,
    resamples: int,
) -> DimensionAgreement:
    """All measures of one dimension; `before` is the set before the filters, or None if there are none."""
    matrix = rated.ratings[dimension]
    contexts = np.unique([repr(context_key(example)) for example in rated.examples], return_inverse=True)[1]
    settings: dict[str, Any] = {"level": level, "groups": contexts, "n_resamples": resamples, "seed": seed}
    alpha = alpha_interval(matrix, **settings)
    counts = np.sum(~np.isnan(matrix), axis=1)
    several = counts[counts > 1]
    kappas = kappa_matrix(matrix)
    systems = _crossed(rated, matrix, contexts)
    return DimensionAgreement(
        dimension=dimension,
        level=level,
        n_replies=int((counts > 0).sum()),
        n_ratings=int(counts.sum()),
        alpha=alpha,
        before=None if before is None else alpha_interval(before.ratings[dimension], **settings),
        removed=removed,
        ratings_per_reply=len(several) / float(np.sum(1 / several)) if several.size else math.nan,
        reliability=mean_reliability(alpha.estimate, several),
        ceiling=Interval(*(perfect_correlation(a, several) for a in (alpha.estimate, alpha.low, alpha.high))),
        kappas=kappas,
        fleiss=fleiss_kappa(matrix),
        intraclass=intraclass_correlation(matrix),
        raters=tuple(_rater_rows(rated, matrix, kappas, systems)) if rated.named else (),
        systems=systems,
    )


def kappa_matrix(matrix: Ratings, weights: str = "quadratic") -> Floats:
    """The kappa of each pair of raters; NaN on the diagonal and where two share fewer than ten replies."""
    known = (~np.isnan(matrix)).astype(np.float64)
    shared = known.T @ known
    n = matrix.shape[1]
    found = np.full((n, n), np.nan)
    for i, j in np.argwhere(np.triu(shared >= FEWEST_SHARED, 1)).tolist():
        found[i, j] = found[j, i] = cohens_kappa(matrix[:, i], matrix[:, j], weights)
    return found


def median_kappas(kappas: Floats) -> Floats:
    """The median kappa of each rater with others; NaN where there is none. (raters,)"""
    medians = np.full(len(kappas), np.nan)
    known = ~np.isnan(kappas).all(axis=1)
    medians[known] = np.nanmedian(kappas[known], axis=1)
    return medians


def _crossed(rated: RatingSet, matrix: Ratings, contexts: Ints) -> CrossedMeans | None:
    replies, raters = np.nonzero(~np.isnan(matrix))
    systems = np.array([example.system for example in rated.examples])[replies]
    # Places in lists are not people: without names, severity and noise are confounded.
    who = raters if rated.named else np.zeros_like(raters)
    return crossed_means(matrix[replies, raters], systems, contexts[replies], replies, who)


def _rater_rows(rated: RatingSet, matrix: Ratings, kappas: Floats, systems: CrossedMeans | None) -> list[RaterRow]:
    """The raters with ratings, in the order of their names."""
    gaps = matrix - rest_means(matrix)
    has = np.flatnonzero((~np.isnan(matrix)).any(axis=0)).tolist()
    differences = {place: _mean(gaps[:, place]) for place in has}
    every = np.array([value for value in differences.values() if not math.isnan(value)])
    middle, spread = (float(every.mean()), float(every.std(ddof=1))) if every.size > 2 else (0.0, 0.0)
    effects = {int(row.rater): row.effect for row in systems.severities} if systems is not None else {}
    medians = median_kappas(kappas)
    unknown = Interval(math.nan, math.nan, math.nan)
    return [
        RaterRow(
            rated.raters[place],
            int((~np.isnan(matrix[:, place])).sum()),
            _mean(matrix[:, place]),
            differences[place],
            (differences[place] - middle) / spread if spread > 0 else math.nan,
            effects.get(place, unknown),
            float(medians[place]),
        )
        for place in has
    ]


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


def _plain(contrast: Any) -> dict[str, float]:
    interval = contrast.interval
    return {
        "mean": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "error": contrast.error,
        "degrees": contrast.degrees,
        "p": contrast.p_value,
    }


def _systems(systems: CrossedMeans) -> Iterator[Block]:
    means = [[system or "-", mean.interval, mean.error, mean.degrees] for system, mean in systems.means.items()]
    shares = ", ".join(f"{name} {number_text(variance)}" for name, variance in systems.variances.items())
    yield Table(
        ["system", "mean [95 %]", "standard error", Column("degrees of freedom", digits=0)],
        means,
        title=f"means for other contexts and raters (variances: {shares})",
        fit=False,
    )
    gaps = [
        [f"{row.b} - {row.a}", row.contrast.interval, row.contrast.error, PValue(row.p_adjusted)]
        for row in systems.differences
    ]
    if len(gaps) > _MOST_DIFFERENCES:
        yield Say([f"the {len(gaps):,} differences of two systems are shown by --json"], fit=False)
    else:
        yield Table(["difference", Column("[95 %]", key="estimate"), "standard error", "p (Holm)"], gaps, fit=False)


# Who gave which score to which reply, as arrays.


Key = tuple[str, str]  # id and system


@dataclass(frozen=True, eq=False)
class RatingSet:
    """Ratings of replies by raters."""

    name: str
    examples: tuple[Example, ...]
    raters: tuple[str, ...]
    ratings: Mapping[str, Ratings]
    """Dimension -> (examples, raters), NaN: not rated."""
    named: bool
    """Whether the data say who gave each score; else raters are places in the lists of scores."""
    has_texts: bool
    """Whether the examples have replies, and not only ids."""
    probabilities: Mapping[Key, float]
    """Id and system -> with what probability the reply was chosen to be rated, where that is known."""
    skipped: tuple[str, ...] = ()

    def with_ratings(self, ratings: Mapping[str, Ratings]) -> RatingSet:
        """The same set with other ratings."""
        return replace(self, ratings=ratings)

    def chosen_dimensions(self, wanted: str | None) -> tuple[str, ...]:
        """The requested dimension; by default all."""
        if wanted is None or wanted == "all":
            return tuple(self.ratings)
        if wanted not in self.ratings:
            raise UnknownNameError(f"dimension of {self.name}:", wanted, [*self.ratings, "all"])
        return (wanted,)


def read_ratings(
    origin: Any, *, replies: Any = None, fields: Fields | None = None, on_error: OnError = "raise"
) -> RatingSet:
    """The ratings of judged records, or of a long table with one row per rating.

    `replies` is a file of the replies that were rated, where the ratings have only their ids.
    """
    with closing(RatingSource(origin, fields, on_error)) as source:
        found = list(source.ratings())
        name, skipped = source.name, tuple(str(error) for error in source.skipped.values())
        named, has_texts, probabilities = source.all_named, source.all_with_replies, source.probabilities
    if not found:
        raise DataError("has no ratings: expected at least one", file=name)
    rows: dict[Key, int] = {}
    examples: list[Example] = []
    for example, _ in found:
        if rows.setdefault((example.id, example.system), len(rows)) == len(examples):
            examples.append(example)
    if replies is not None:
        examples, chosen = _with_texts(examples, replies, name)
        probabilities = {**chosen, **probabilities}
    raters = sorted({rating.rater for _, rating in found}, key=_natural)
    ratings = _matrices([rating for _, rating in found], rows, raters, name)
    return RatingSet(
        name, tuple(examples), tuple(raters), ratings, named, has_texts or replies is not None, probabilities, skipped
    )


def _matrices(found: list[Rating], rows: Mapping[Key, int], raters: list[str], name: str) -> dict[str, Ratings]:
    columns = {rater: column for column, rater in enumerate(raters)}
    matrices: dict[str, Ratings] = {}
    for given in found:
        if given.dimension not in matrices:
            matrices[given.dimension] = np.full((len(rows), len(raters)), np.nan)
        matrix = matrices[given.dimension]
        place = rows[given.example_id, given.system], columns[given.rater]
        if not math.isnan(matrix[place]):
            who, what = shortened(given.rater, 40), shortened(given.example_id, 40)
            raise DataError(f"the rater {who} rated {what} twice: expected one {given.dimension} score", file=name)
        matrix[place] = given.score
    return matrices


def _with_texts(examples: list[Example], replies: Any, name: str) -> tuple[list[Example], dict[Key, float]]:
    """The rated replies as the file of replies has them; ratings without a system match by id alone."""
    with closing(Source(replies)) as source:
        known: dict[Key, Example] = {(example.id, example.system): example for example in source}
    by_id: dict[str, list[Example]] = {}
    for example in known.values():
        by_id.setdefault(example.id, []).append(example)
    found = []
    for example in examples:
        same_id = by_id.get(example.id, []) if not example.system else []
        match = known.get((example.id, example.system)) or (same_id[0] if len(same_id) == 1 else None)
        if match is None:
            what = f"{shortened(example.id, 40)} of the system {shortened(example.system, 40)}"
            raise CallError(f"{name}: no reply has the id {what}: expected the replies that were rated")
        found.append(match)
    return found, chosen_with(replies)


def _natural(rater: str) -> tuple[int, str]:
    """Numbers in their order, and before names."""
    return (int(rater), rater) if rater.isdecimal() and len(rater) < 10 else (10**10, rater)

"""Can these ratings be trusted? Agreement on every dimension, filters, and one score per reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder._version import __version__
from rejoinder.arguments import checked, number, one_of, optional
from rejoinder.data.converting.writers import example_record, write_records
from rejoinder.data.record import Fields
from rejoinder.data.source import OnError
from rejoinder.defaults import RESAMPLES
from rejoinder.errors import CallError, listed
from rejoinder.meta.judged import Ratings
from rejoinder.meta.raters.dimension import DimensionAgreement, dimension_agreement, kappa_matrix, median_kappas
from rejoinder.meta.raters.ratings import RatingSet, read_ratings
from rejoinder.output.named import paths_of
from rejoinder.output.targets import reserved_file
from rejoinder.scoring.table import json_ready
from rejoinder.stats.aggregation.scores import METHODS, aggregate
from rejoinder.stats.agreement.krippendorff import LEVELS
from rejoinder.stats.agreement.outliers import mad_outliers
from rejoinder.stats.formatting import counted
from rejoinder.types import Example, JudgedExample, Scores


@dataclass(frozen=True, eq=False)
class AgreementReport:
    """How well raters agree; `str()` is one sentence and the tables of each dimension."""

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
                "warnings": list(self.notes),
                "dimensions": {report.dimension: report.to_dict() for report in self.dimensions},
            }
        )

    def __str__(self) -> str:
        return "\n\n".join(str(report) for report in self.dimensions)

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


@checked(
    level=one_of(*LEVELS),
    least_kappa=optional(number(-1, 1)),
    mad=optional(number(least=0)),
    aggregation=optional(one_of(*METHODS)),
)
def agreement(
    ratings: Any,
    *,
    replies: Any = None,
    dimension: str | None = None,
    level: str = "interval",
    least_kappa: float | None = None,
    mad: float | None = None,
    aggregation: str | None = None,
    fields: Fields | None = None,
    on_error: OnError = "raise",
    seed: int = 0,
    resamples: int = RESAMPLES,
    output: str | Path | None = None,
) -> AgreementReport:
    """Measure how well raters agree, on judged records or on a table with one row per rating.

    `least_kappa` leaves out raters whose median quadratic-weighted kappa with the others is lower, `mad` ratings that
    are more than so many scaled median absolute deviations from the median of their reply (Zhao et al. 2020: 1).
    `aggregation` is how one score per reply is made (mean, normalised, dawid-skene, mace), and `output` the judged file
    that they are written to. `replies` is the file of replies, where the ratings have only ids. `level` is the scale of
    the ratings: nominal, ordinal or interval.
    """
    if output is not None and aggregation is None:
        raise CallError(f"an output needs an aggregation: expected one of {', '.join(METHODS)}")
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
) -> AgreementReport:
    removed: dict[str, list[str]] = {name: [] for name in wanted}
    kept = {name: _filtered(rated, name, least_kappa, mad, removed[name]) for name in wanted}
    cleaned = rated.with_ratings(kept)
    before = rated if least_kappa is not None or mad is not None else None
    return AgreementReport(
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

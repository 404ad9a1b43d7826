"""The page `rater-figures`: how people rated, and how far they agree (Lowe et al. 2017; Zhao et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from papers.documents import Document
from papers.inputs import Inputs
from papers.judged.sets import check_sets
from papers.published.adem import REPLIES, TABLE_2
from papers.published.zhao2020 import APPENDIX_A, DAILYDIALOG
from rejoinder.arrays import Ints
from rejoinder.data.judged import JudgedSet, Ratings
from rejoinder.options import RESAMPLES
from rejoinder.people.agreement import kappa_matrix
from rejoinder.show.plots import box_plot, histogram, panels, standalone
from rejoinder.show.text import interval_text
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.stats.rater_intervals import alpha_interval
from rejoinder.stats.resampling import bootstrap_chunks, group_codes
from rejoinder.trusting.cross_validation import merged_systems
from rejoinder.trusting.probing import cell_text
from rejoinder.types import Scores

SETS = ("zhao2020_dailydialog", "zhao2020_personachat", "usr_personachat", "humod")
ALL = "all sources"

INTRODUCTION = """\
# How people rated

This page repeats the papers' tables and figures about ratings. The ratings of Lowe et al. 2017 were never released, so
their figures are shown next to ours on other data. Zhao et al. 2020 published their ratings."""

AGREEMENT_TEXT = f"""\
## Agreement by question (Lowe et al. 2017, Tables 1 and 2)

Lowe et al. had {REPLIES:,} Twitter replies judged, after a pilot study with four questions. Kappa is Cohen's kappa with
quadratic weights, the median over all pairs of raters. Our sets do not say who gave a rating, so we treat the first
ratings of all replies as those of one rater, the second ratings as those of another, and so on. Krippendorff's alpha
needs no such assumption. Brackets are 95 % intervals over contexts."""

ANSWERS_TEXT = """\
## Ratings by question (Lowe et al. 2017, Figure 5)

![ratings by question](rater-answers.svg)

All single ratings of {name}."""

OUTLIERS_TEXT = """\
## With and without outliers (Zhao et al. 2020, Appendix A)

An outlier is a rating whose distance from the median of its reply exceeds one median absolute deviation. Alpha without
outliers shows how similar the remaining ratings are, not how reliable the raters are, because ratings that differ were
removed."""

SOURCES_TEXT = """\
## Ratings by source (Zhao et al. 2020, Figure 1)

![distribution of mean ratings](rater-distribution.svg)

![mean ratings by source](rater-sources.svg)

Mean overall ratings without outliers, for {name}: how often each occurs, and how they differ between sources. A box
extends from the first to the third quartile, with a line at the median; whiskers extend from the 5th to the 95th
percentile. A source is a model with any decoding."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is measured."""

    sets: tuple[str, ...] = SETS


Read = Mapping[str, JudgedSet]


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:
    """All sections in order."""
    check_sets(settings.sets, SETS)
    read = {name: inputs.judged(name) for name in settings.sets}
    document = Document("rater-figures")
    document.text(INTRODUCTION)
    for section in sections:
        SECTIONS[section](read, document)
    return document


def agreement(read: Read, document: Document) -> None:
    """Kappa and alpha of each question, theirs and ours."""
    rows = [
        ["Lowe et al., Twitter", question, "", "", f"{value:.2f}", ""] for question, (value,) in TABLE_2.rows.items()
    ]
    for name, judged in read.items():
        for dimension, ratings in judged.ratings.items():
            counts = [f"{len(ratings):,}", f"{int((~np.isnan(ratings)).sum()):,}"]
            kappa = interval_text(kappa_interval(ratings, judged.contexts), 2)
            alpha = cell_text(alpha_interval(ratings, groups=judged.contexts))
            rows.append([name, dimension, *counts, kappa, alpha])
    document.text(AGREEMENT_TEXT)
    document.table(["set", "question", "replies", "ratings", "kappa", "alpha"], rows)


def kappa_interval(ratings: Ratings, contexts: Ints, resamples: int = RESAMPLES) -> Interval:
    """The median kappa of two raters, with its interval over contexts."""
    codes, n_groups = group_codes(contexts, len(ratings))
    places = np.arange(len(ratings))
    drawn = (
        np.repeat(places, counts[codes].astype(np.int64))
        for chunk in bootstrap_chunks(n_groups, resamples, 0)
        for counts in chunk
    )
    replicates = np.array([_median_kappa(ratings[rows]) for rows in drawn])
    return bootstrap_bounds(replicates, _median_kappa(ratings), n_groups)


def _median_kappa(ratings: Ratings) -> float:
    kappas = kappa_matrix(ratings)
    known = kappas[~np.isnan(kappas)]
    return float(np.median(known)) if known.size else np.nan


def answers(read: Read, document: Document) -> None:
    """How often each rating was given, question by question."""
    name, judged = next(iter(read.items()))
    groups = [(dimension, ratings[~np.isnan(ratings)]) for dimension, ratings in judged.ratings.items()]
    document.text(ANSWERS_TEXT.format(name=name))
    document.figure("rater-answers", standalone(histogram(groups, label="ratings by question")))
    rows = [
        [dimension, f"{len(values):,}", f"{values.mean():.2f}", f"{values.std(ddof=1):.2f}"]
        for dimension, values in groups
    ]
    document.table(["question", "ratings", "mean", "standard deviation"], rows)


def outliers(read: Read, document: Document) -> None:
    """Alpha and the number of ratings, before and after ratings far from the median are removed."""
    theirs = APPENDIX_A.rows
    rows = [
        [
            f"Zhao et al., {DAILYDIALOG}",
            "overall",
            *(f"{theirs[part][0]:.3f}" for part in theirs),
            *(f"{theirs[part][1]:,.0f}" for part in theirs),
        ]
    ]
    for name, judged in read.items():
        kept = judged.without_outliers()
        for dimension in judged.ratings:
            both = [each.ratings[dimension] for each in (judged, kept)]
            alphas = [cell_text(alpha_interval(ratings, groups=judged.contexts)) for ratings in both]
            rows.append([name, dimension, *alphas, *(f"{int((~np.isnan(ratings)).sum()):,}" for ratings in both)])
    document.text(OUTLIERS_TEXT)
    document.table(["set", "question", "alpha", "without outliers", "ratings", "without outliers"], rows)


def sources(read: Read, document: Document) -> None:
    """The distribution of mean ratings, overall and by source."""
    drawn, rows, whole = [], [], []
    shown_sets = [name for name in read if "overall" in read[name].ratings]
    if not shown_sets:
        return
    for name in shown_sets:
        human = read[name].without_outliers().human("overall")
        groups = _by_source(read[name], human)
        whole.append((name, groups[0][1]))
        drawn.append(box_plot(groups, label=f"mean ratings by source, {name}"))
        for source, values in groups:
            quartiles = np.percentile(values, (25, 50, 75))
            rows.append(
                [name, source, f"{len(values):,}", f"{values.mean():.2f}", *(f"{value:.2f}" for value in quartiles)]
            )
    document.text(SOURCES_TEXT.format(name=" and ".join(shown_sets)))
    document.figure("rater-distribution", standalone(histogram(whole, label="mean ratings of replies")))
    document.figure("rater-sources", panels([drawn]))
    document.table(["set", "source", "replies", "mean", "first quartile", "median", "third quartile"], rows)


def _by_source(judged: JudgedSet, human: Scores) -> list[tuple[str, Scores]]:
    """All replies, then those of each source, the best first."""
    models = merged_systems(judged, 1).systems
    known = ~np.isnan(human)
    groups = [(str(model), human[(models == model) & known]) for model in np.unique(models)]
    return [(ALL, human[known]), *sorted(groups, key=lambda group: -float(group[1].mean()))]


SECTIONS: Mapping[str, Callable[[Read, Document], None]] = {
    "agreement": agreement,
    "answers": answers,
    "outliers": outliers,
    "sources": sources,
}
"""In the order of the page."""

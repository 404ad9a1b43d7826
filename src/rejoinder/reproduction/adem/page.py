"""The page `adem-figures`: ADEM, its variants and baselines over several encoders, next to the papers' figures.

Components, gamma and what the penalty shrinks to are chosen on training folds alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.defaults import RESAMPLES
from rejoinder.errors import UnknownNameError
from rejoinder.evaluators.adem.adem import Adem
from rejoinder.meta.experiments.amounts import label_amounts
from rejoinder.meta.experiments.left_out import leave_one_system_out
from rejoinder.meta.experiments.partition import PUBLISHED, LabelledSet
from rejoinder.meta.experiments.result import measure
from rejoinder.meta.studies.length_bias import study as length_bias
from rejoinder.meta.studies.spread import study as score_spread
from rejoinder.meta.studies.true_replies import of_true_systems
from rejoinder.meta.study import ScoredSet, StudyResult, shown
from rejoinder.registry import load
from rejoinder.reproduction.adem.likeness import likeness_rows
from rejoinder.reproduction.adem.study import Columns, Study
from rejoinder.reproduction.adem.training_curves import curve_plot, curves
from rejoinder.reproduction.documents import Document
from rejoinder.reproduction.inputs import DIMENSIONS, Inputs
from rejoinder.reproduction.judged.sets import METRICS, JudgedScores
from rejoinder.reproduction.published import zhao2020
from rejoinder.reproduction.published.adem import TABLE_3, TABLE_8, TABLE_14, left_out_figures
from rejoinder.reproduction.published.zhao2020 import DAILYDIALOG, FULL, WITHOUT_TRUE
from rejoinder.stats.bootstrap_correlation import bootstrap_correlations

SETS = ("zhao2020_dailydialog", "zhao2020_personachat", "humod")
SHOWN_EPOCHS = (0, 1, 2, 5, 10, 20, 30)
OVERLAP = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE", "METEOR")
LOWE_ROWS = {"adem": "ADEM", "c-adem": "C-ADEM", "r-adem": "R-ADEM"}
LOWE_ENCODERS = {
    ("dot", "vhred"): "VHRED",
    ("dot", "tweet2vec"): "T2V",
    ("adem", "tweet2vec"): "ADEM (T2V)",
}
"""Evaluator and encoder -> its row in Table 3 of Lowe et al. 2017, where that depends on the encoder."""

Beside = Callable[[str], str]
"""From the label of an evaluator over an encoder to the paper's figures for it."""

INTRODUCTION = """\
# ADEM measured

This page measures the evaluators of [adem.md](../reference/adem.md) on public judged sets, because the data of Lowe et
al. 2017 were never released. Brackets are 95 % intervals over contexts. The number of components, gamma, and what the
penalty shrinks the matrices to are chosen within each training fold, unless a row says otherwise. `dot` is c^T r^ + r^T
r^ with the encoder's own vectors, and nothing is learned: these are vhred-dot and t2v-dot. On published splits, ratings
far from the median of their reply are left out, as in Zhao et al. 2020. `c-adem` and `r-adem` are trained as such; the
context and reference parts of one ADEM, which Zhao et al. compare in their Table 1, are on
[evaluator-studies.md](evaluator-studies.md).

Not everything was fixed in advance: we had already looked at both zhao2020 sets when we chose the grid of settings, and
we corrected the variant without length bias (true replies no longer count in the trend) after we had seen its first
result on DailyDialog."""

TABLES_TEXT = """\
## Agreement with people

Replies to a context that one of the encoders was trained on are left out: {lost}."""

OVERLAP_TEXT = """\
### Word overlap

Pearson / Spearman of the metrics of the paper's Table 3, on all replies. The paper's figures are those of its test
set."""

FIGURE_7_TEXT = """\
## While it trains (Lowe et al. 2017, Figure 7)

![correlation by epoch](adem-training.svg)

ADEM is trained on {name} by gradient descent as in the paper (7 components, gamma .02, learning rate .01, batches of
16), on four fifths of the contexts. The figure shows the correlation on the other contexts, averaged over five folds.
At epoch 0, M and N are identity matrices. There, the paper's correlation is about 0; ours is higher, because the dot
product of these vectors already correlates with people (the rows `dot` above)."""

LENGTH_TEXT = """\
## Length bias (Lowe et al. 2017, Table 8)

Out-of-fold scores are scaled to the mean and variance of the human ratings. In the rows `length taken out`, a trend
is subtracted: that of the training scores with the length of the reply and with its distance from the reference's
length."""

SPREAD_TEXT = """\
## Conservative scores (Zhao et al. 2020, Table 1)

Training on squared error favours scores near the mean.
In Zhao et al. 2020 ADEM's standard deviation is {:.2f} ({:.2f} without true replies), compared with {:.2f} ({:.2f})
for people."""

LEFT_OUT_TEXT = """\
## One system left out (Lowe et al. 2017, Table 5)

These models have 50 components as in Zhao et al. 2020, and gamma .02 as in Lowe et al. 2017. They are shrunk to the
identity, which gave better results when we first looked at these sets. A system is a model with any decoding. The
paper's figures are means over its four systems."""

AMOUNTS_TEXT = """\
## Amount of labels (Lowe et al. 2017, Table 14)

The settings are those of the previous section."""

LIKENESS_TEXT = """\
## Human-likeness

This evaluator learns to distinguish true replies from those of models, on the replies of the other folds; random
replies are left out. "Area" is the area under the ROC curve for this distinction. Mean scores are followed by the
number of replies. Generic replies are those that models gave to three contexts or more. Pearson is the correlation with
people's ratings, which the evaluator never saw."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is measured."""

    sets: tuple[str, ...] = SETS
    contexts: int | None = None
    """At most this many random contexts per set; all by default."""
    encoders: tuple[str, ...] = ()
    """Encoders to use, of those found in the models' folder; all by default."""
    resamples: int = RESAMPLES


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:
    """All sections in order; the time of each is printed to standard error."""
    for name in settings.sets:
        if name not in SETS:
            raise UnknownNameError("judged set", name, SETS)
    study = Study(inputs, settings.sets, settings.contexts, settings.encoders, settings.resamples)
    document = Document("adem-figures")
    document.text(INTRODUCTION)
    for section in sections:
        started = time.process_time()
        SECTIONS[section](study, document)
        print(f"{section}: {time.process_time() - started:.0f} s of CPU", file=sys.stderr, flush=True)
    return document


def tables(study: Study, document: Document) -> None:
    """Metrics, then every evaluator over every encoder, on every set."""
    lost = {name: len(judged) - len(study.sets[name]) for name, judged in study.read.items()}
    document.text(TABLES_TEXT.format(lost=", ".join(f"{count} of {name}" for name, count in lost.items())))
    _overlap(study, document)
    for name, tested in study.sets.items():
        document.text(f"### {name}, {tested.dimension}: five folds that share no context")
        _table(study, document, tested, study.out_of_fold[name], _lowe)
        if not set(tested.judged.splits) >= {"train", "test"}:
            continue
        cleaned = LabelledSet(tested.judged.without_outliers(), tested.dimension)
        columns = study.scored(cleaned, PUBLISHED)
        document.text(f"### {name}, published split, whose test replies share contexts with training")
        _table(study, document, cleaned, columns, _zhao(FULL) if name == DAILYDIALOG else _lowe)
        document.text("Without the true replies:")
        truth = of_true_systems(cleaned.judged.examples)
        others = {label: np.where(truth, np.nan, column) for label, column in columns.items()}
        _table(study, document, cleaned, others, _zhao(WITHOUT_TRUE) if name == DAILYDIALOG else _lowe)


def _overlap(study: Study, document: Document) -> None:
    """The metrics of Table 3 of Lowe et al. 2017, on every set."""
    scores = JudgedScores(study.inputs)
    rows = []
    for label in OVERLAP:
        theirs = TABLE_3.correlations("test")[label]
        cells = [f"{theirs.pearson:.3f} / {theirs.spearman:.3f}"]
        for name, judged in study.read.items():
            column = scores.column(load(METRICS[label]), judged)
            found = bootstrap_correlations(column, judged.human(DIMENSIONS[name]), judged.contexts, study.resamples)
            cells.append(" / ".join(shown(found[kind][0]) for kind in ("pearson", "spearman")))
        rows.append([label, *cells])
    document.text(OVERLAP_TEXT)
    document.table(["metric", "Lowe et al., Twitter", *study.read], rows)


def _table(study: Study, document: Document, tested: LabelledSet, columns: Columns, beside: Beside) -> None:
    """Correlations and standard deviations next to the papers'."""
    each, _ = measure(list(columns.values()), tested, resamples=study.resamples, seed=0)
    known = ~np.isnan(tested.human) & ~np.isnan(next(iter(columns.values())))
    rows = [
        [label, shown(one.pearson), shown(one.spearman), f"{np.nanstd(column[known], ddof=1):.2f}", beside(label)]
        for (label, column), one in zip(columns.items(), each, strict=True)
    ]
    rows.append(["people", "", "", f"{np.std(tested.human[known], ddof=1):.2f}", ""])
    document.table(["evaluator, encoder", "Pearson", "Spearman", "sd", "published: Pearson / Spearman (/ sd)"], rows)


def _lowe(label: str) -> str:
    """Comparable figures of Lowe et al. 2017, on their own data."""
    evaluator, _, encoder = label.rpartition(", ")
    row = LOWE_ENCODERS.get((evaluator, encoder)) or (LOWE_ROWS.get(evaluator) if encoder != "minilm" else None)
    if row is None:
        return ""
    figures = TABLE_3.correlations("test")[row]
    return f"{figures.pearson:.3f} / {figures.spearman:.3f} (Lowe et al., Twitter)"


def _zhao(part: str) -> Beside:
    """The figures of Zhao et al. 2020 for ADEM over HRED on the same split."""
    figures, deviations = zhao2020.TABLE_1.correlations(part), zhao2020.TABLE_1.column(f"{part}: SD")

    def beside(label: str) -> str:
        if not label.startswith("adem, ") or label.count(",") > 1:
            return ""
        found = figures["ADEM"]
        return f"{found.pearson:.2f} / {found.spearman:.2f} / {deviations['ADEM']:.2f} (Zhao et al., HRED)"

    return beside


def figure_7(study: Study, document: Document) -> None:
    """Correlation while it trains."""
    tested = next(iter(study.sets.values()))
    found = {name: curves(tested, folder) for name, folder in study.encoders.items()}
    rows = [
        [f"{name}, {kind}", *(f"{values[epoch]:.3f}" for epoch in SHOWN_EPOCHS)]
        for name, curve in found.items()
        for kind, values in curve.items()
    ]
    document.text(FIGURE_7_TEXT.format(name=tested.name))
    document.figure("adem-training", curve_plot(found))
    document.table(["encoder", *(f"epoch {epoch}" for epoch in SHOWN_EPOCHS)], rows)


def length(study: Study, document: Document) -> None:
    """Length bias of the scores, with and without the trend with length removed."""
    document.text(LENGTH_TEXT)
    for name, tested in study.sets.items():
        columns = {label: column for label, column in study.out_of_fold[name].items() if label.startswith("adem")}
        _study(
            document, name, length_bias(ScoredSet(tested.judged, tested.dimension, columns, resamples=study.resamples))
        )
    rows = [[row, *(f"{value:g}" for value in TABLE_8.rows[row])] for row in ("Human", "ADEM")]
    document.text("Lowe et al. 2017, Table 8:")
    document.table(["", "within 6 words", "others", "p"], rows)


def spread(study: Study, document: Document) -> None:
    """Standard deviations of the scores."""
    deviations = [zhao2020.TABLE_1.column(f"{part}: SD") for part in (FULL, WITHOUT_TRUE)]
    document.text(SPREAD_TEXT.format(*(each[row] for row in ("ADEM", "Human") for each in deviations)))
    for name, tested in study.sets.items():
        columns = {label: column for label, column in study.out_of_fold[name].items() if "dot" not in label}
        anything = {label: Adem(encoder="any") for label in columns}  # for their range, 1 to 5
        scored = ScoredSet(tested.judged, tested.dimension, columns, anything, resamples=study.resamples)
        _study(document, name, score_spread(scored))


def left_out(study: Study, document: Document) -> None:
    """One system left out of training."""
    document.text(LEFT_OUT_TEXT)
    means = {key: figures for key, figures in left_out_figures().items() if key[0] in {"average", "at random"}}
    for name, tested in study.sets.items():
        if len(set(tested.judged.systems.tolist())) < 2:
            continue
        fixed, cells = study.fixed(), study.inputs.cache.cells
        published = dict.fromkeys(fixed, means)
        result = leave_one_system_out(
            fixed, tested.judged, tested.dimension, published=published, folder=cells, resamples=study.resamples
        )
        _study(document, name, result)


def amounts(study: Study, document: Document) -> None:
    """Agreement by amount of labels."""
    document.text(AMOUNTS_TEXT)
    for name, tested in study.sets.items():
        fixed, cells = study.fixed(), study.inputs.cache.cells
        published = dict.fromkeys(fixed, TABLE_14.correlations())
        result = label_amounts(
            fixed, tested.judged, tested.dimension, published=published, folder=cells, resamples=study.resamples
        )
        _study(document, name, result)


def likeness(study: Study, document: Document) -> None:
    """Human replies classified against model replies."""
    document.text(LIKENESS_TEXT)
    header = ["area", "mean, people", "models", "generic", "Pearson", "of models' replies alone"]
    document.table(["set", "encoder", *header], likeness_rows(study))


def _study(document: Document, name: str, result: StudyResult | None) -> None:
    """The table of a study and its sentences."""
    document.text(f"### {name}")
    if result is None:
        document.text("There are too few replies for it.")
        return
    document.table(list(result.header), [[shown(cell) for cell in row] for row in result.rows])
    document.text("\n".join(f"- {finding}" for finding in result.findings))


SECTIONS: Mapping[str, Callable[[Study, Document], None]] = {
    "tables": tables,
    "figure_7": figure_7,
    "length": length,
    "spread": spread,
    "left_out": left_out,
    "amounts": amounts,
    "likeness": likeness,
}
"""In the order of the page."""

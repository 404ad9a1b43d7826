"""The page `adem-figures`: ADEM, its variants and baselines over several encoders, next to the papers' figures.

Components, gamma and what the penalty shrinks to are chosen on training folds alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.adem.encoders import encoder_folders
from papers.adem.likeness import likeness_rows
from papers.adem.study import (
    COMPONENTS,
    GAMMA,
    SEVERAL_SYSTEMS,
    ZHAO_COMPONENTS,
    ZHAO_LABEL,
    Columns,
    Study,
    paper_label,
)
from papers.adem.training_curves import curve_plot, curves
from papers.documents import Document
from papers.inputs import DIMENSIONS, Inputs
from papers.judged.figures import add_study
from papers.judged.sets import METRICS, JudgedScores
from papers.published import zhao2020
from papers.published.adem import TABLE_3, TABLE_8, TABLE_14, left_out_figures
from papers.published.records import Correlations
from papers.published.zhao2020 import DAILYDIALOG, FULL, WITHOUT_TRUE
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.evaluators.adem.adem import Adem
from rejoinder.options import RESAMPLES
from rejoinder.registry import load
from rejoinder.stats.correlation_intervals import bootstrap_correlations
from rejoinder.trusting.cross_validation import leave_one_system_out, trust_figures
from rejoinder.trusting.experiments import PUBLISHED, LabelledSet
from rejoinder.trusting.human_scale import of_true_systems
from rejoinder.trusting.label_curves import label_amounts
from rejoinder.trusting.probes import length_bias_probe as length_bias
from rejoinder.trusting.probes import spread_probe as score_spread
from rejoinder.trusting.probing import ScoredSet, TableResult, cell_text

SETS = (*SEVERAL_SYSTEMS, "humod")
SHOWN_EPOCHS = (0, 1, 2, 5, 10, 20, 30)
OVERLAP = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE", "METEOR")
LOWE_ENCODER, ZHAO_ENCODER = "vhred", "hred"
LOWE_ROWS = {
    "dot, vhred": "VHRED",
    "dot, tweet2vec": "T2V",
    f"{paper_label(LOWE_ENCODER)}, {LOWE_ENCODER}": "ADEM",
    f"{paper_label('tweet2vec')}, tweet2vec": "ADEM (T2V)",
}
"""Evaluator and encoder -> its row in Table 3 of Lowe et al. 2017, where both are the paper's."""

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

Of a set with more than {contexts} contexts, such as humod, {contexts} random ones are used.

Not everything was fixed in advance: we had already looked at both zhao2020 sets when we chose the grid of settings, and
we corrected the variant without length bias (true replies no longer count in the trend) after we had seen its first
result on DailyDialog."""

TABLES_TEXT = """\
## Agreement with people

Replies to a context that one of the encoders was trained on are left out: {lost}.

The papers' figures are in the rows with their encoder and settings. Lowe et al. 2017 also have C-ADEM and R-ADEM over
VHRED with {components} components; on Twitter, their Pearson / Spearman are {c_adem} and {r_adem}."""

OVERLAP_TEXT = """\
### Word overlap

Pearson / Spearman of the metrics of the paper's Table 3, on all replies. The paper's figures are those of its test
set."""

FIGURE_7_TEXT = """\
## While it trains (Lowe et al. 2017, Figure 7)

![correlation by epoch](adem-training.svg)

ADEM is trained on {name} by gradient descent as in the paper ({components} components, gamma {gamma},
learning rate .01, batches of 16), on four fifths of the contexts. The figure shows the correlation on the other
contexts, averaged over five folds. At epoch 0, M and N are identity matrices. There, the paper's correlation is about
0; ours is higher, because the dot product of these vectors already correlates with people (the rows `dot` above)."""

LENGTH_TEXT = """\
## Length bias (Lowe et al. 2017, Table 8)

Out-of-fold scores are scaled to the mean and variance of the human ratings. In the rows `length bias removed`, a
trend is subtracted: that of the training scores with the length of the reply and with its distance from the reference's
length."""

SPREAD_TEXT = """\
## Conservative scores (Zhao et al. 2020, Table 1)

Training on squared error favours scores near the mean.
In Zhao et al. 2020 ADEM's standard deviation is {:.2f} ({:.2f} without true replies), compared with {:.2f} ({:.2f})
for people."""

LEFT_OUT_TEXT = """\
## One system left out (Lowe et al. 2017, Table 5)

These models have {components} components as in Zhao et al. 2020, and gamma {gamma} as in Lowe et al. 2017. They are
shrunk to the identity, which gave better results when we first looked at these sets. A system is a model with any
decoding. The paper's figures are means over its four systems, with its own settings, and over VHRED."""

AMOUNTS_TEXT = """\
## Amount of labels (Lowe et al. 2017, Table 14)

The settings are those of the section "One system left out". The paper's figures are with its own settings, and over
VHRED."""

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
    contexts: int = 600
    """At most this many random contexts per set."""
    encoders: tuple[str, ...] = ()
    """Encoders to use; by default, all that exist in the models' folder."""
    resamples: int = RESAMPLES


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:
    """All sections in order; the time of each is printed to standard error."""
    for name in settings.sets:
        if name not in SETS:
            raise UnknownNameError("judged set", name, SETS)
    encoder_folders(inputs, settings.encoders)  # a missing encoder is reported before anything is computed
    names = used_sets(settings.sets, sections)
    study = Study(inputs, names, settings.contexts, settings.encoders, settings.resamples)
    document = Document("adem-figures")
    document.text(INTRODUCTION.format(contexts=settings.contexts))
    for section in sections:
        started = time.process_time()
        SECTIONS[section](study, document)
        inputs.say(f"{section}: {time.process_time() - started:.0f} s of CPU")
    return document


def used_sets(chosen: Sequence[str], sections: Sequence[str]) -> tuple[str, ...]:
    """Those of the chosen sets that some of the sections use: no other is read or encoded."""
    used: set[str] = set()
    for section in sections:
        if section == "figure_7":
            used.update(chosen[:1])
        elif section in BY_SYSTEM:
            used.update(name for name in chosen if name in SEVERAL_SYSTEMS)
        else:
            used.update(chosen)
    if not used:
        needed = " or ".join(SEVERAL_SYSTEMS)
        raise CallError(f"{' and '.join(sections)}: expected {needed} among the sets, found {', '.join(chosen)}")
    return tuple(name for name in chosen if name in used)


def tables(study: Study, document: Document) -> None:
    """Metrics, then every evaluator over every encoder, on every set."""
    lost = {name: len(judged) - len(study.sets[name]) for name, judged in study.read.items()}
    document.text(
        TABLES_TEXT.format(
            lost=", ".join(f"{count} of {name}" for name, count in lost.items()),
            components=COMPONENTS,
            c_adem=_lowe_figures("C-ADEM"),
            r_adem=_lowe_figures("R-ADEM"),
        )
    )
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
        cells = [_lowe_figures(label)]
        for name, judged in study.read.items():
            column = scores.column(load(METRICS[label]), judged)
            found = bootstrap_correlations(column, judged.human(DIMENSIONS[name]), judged.contexts, study.resamples)
            cells.append(" / ".join(cell_text(found[kind][0]) for kind in ("pearson", "spearman")))
        rows.append([label, *cells])
    document.text(OVERLAP_TEXT)
    document.table(["metric", "Lowe et al., Twitter", *study.read], rows)


def _table(study: Study, document: Document, tested: LabelledSet, columns: Columns, beside: Beside) -> None:
    """Correlations and standard deviations next to the papers'."""
    each, _ = trust_figures(list(columns.values()), tested, resamples=study.resamples, seed=0)
    known = ~np.isnan(tested.human) & ~np.isnan(next(iter(columns.values())))
    rows = [
        [
            label,
            cell_text(one.pearson),
            cell_text(one.spearman),
            f"{np.nanstd(column[known], ddof=1):.2f}",
            beside(label),
        ]
        for (label, column), one in zip(columns.items(), each, strict=True)
    ]
    rows.append(["people", "", "", f"{np.std(tested.human[known], ddof=1):.2f}", ""])
    document.table(["evaluator, encoder", "Pearson", "Spearman", "sd", "published: Pearson / Spearman (/ sd)"], rows)


def _lowe(label: str) -> str:
    """The figures of Lowe et al. 2017 for the same encoder and settings, on their own data."""
    return f"{_lowe_figures(LOWE_ROWS[label])} (Lowe et al., Twitter)" if label in LOWE_ROWS else ""


def _lowe_figures(row: str) -> str:
    figures = TABLE_3.correlations("test")[row]
    return f"{figures.pearson:.3f} / {figures.spearman:.3f}"


def _zhao(part: str) -> Beside:
    """The figures of Zhao et al. 2020 for ADEM over HRED on the same split."""
    found = zhao2020.TABLE_1.correlations(part)["ADEM"]
    deviation = zhao2020.TABLE_1.column(f"{part}: SD")["ADEM"]
    shown_figures = f"{found.pearson:.2f} / {found.spearman:.2f} / {deviation:.2f} (Zhao et al., HRED)"
    return lambda label: shown_figures if label == f"{ZHAO_LABEL}, {ZHAO_ENCODER}" else ""


def figure_7(study: Study, document: Document) -> None:
    """Correlation while it trains."""
    tested = next(iter(study.sets.values()))
    found = {name: curves(tested, folder) for name, folder in study.encoders.items()}
    rows = [
        [f"{name}, {kind}", *(f"{values[epoch]:.3f}" for epoch in SHOWN_EPOCHS)]
        for name, curve in found.items()
        for kind, values in curve.items()
    ]
    document.text(FIGURE_7_TEXT.format(name=tested.name, components=COMPONENTS, gamma=GAMMA))
    document.figure("adem-training", curve_plot(found))
    document.table(["encoder", *(f"epoch {epoch}" for epoch in SHOWN_EPOCHS)], rows)


def length(study: Study, document: Document) -> None:
    """Length bias of the scores, with and without the trend with length removed."""
    document.text(LENGTH_TEXT)
    for name, tested in study.sets.items():
        columns = {label: column for label, column in study.out_of_fold[name].items() if label.startswith("adem")}
        scored = ScoredSet(tested.judged, tested.dimension, columns, resamples=study.resamples)
        document.text(f"### {name}")
        add_study(document, length_bias(scored))
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
        document.text(f"### {name}")
        add_study(document, score_spread(scored))


def left_out(study: Study, document: Document) -> None:
    """One system left out of training."""
    document.text(LEFT_OUT_TEXT.format(components=ZHAO_COMPONENTS, gamma=GAMMA))
    means = {key: figures for key, figures in left_out_figures().items() if key[0] in {"average", "at random"}}
    for tested in study.sets_with_systems.values():
        _fixed_study(leave_one_system_out, study, document, tested, means)


def amounts(study: Study, document: Document) -> None:
    """Agreement by amount of labels."""
    document.text(AMOUNTS_TEXT)
    for tested in study.sets.values():
        _fixed_study(label_amounts, study, document, tested, TABLE_14.correlations())


def likeness(study: Study, document: Document) -> None:
    """Human replies classified against model replies."""
    document.text(LIKENESS_TEXT)
    header = ["area", "mean, people", "models", "generic", "Pearson", "of models' replies alone"]
    document.table(["set", "encoder", *header], likeness_rows(study))


def _fixed_study(
    run: Callable[..., TableResult],
    study: Study,
    document: Document,
    tested: LabelledSet,
    published: Mapping[Any, Correlations],
) -> None:
    """A study of ADEM with fixed settings; the paper's figures are next to the encoder of the paper."""
    evaluators = study.fixed()
    document.text(f"### {tested.name}")
    result = run(
        evaluators,
        tested.judged,
        tested.dimension,
        published={label: published for label in evaluators if label == f"adem, {LOWE_ENCODER}"},
        folder=study.inputs.cache.cells,
        resamples=study.resamples,
    )
    add_study(document, result)


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

BY_SYSTEM = ("left_out", "likeness")
"""Sections that compare systems."""

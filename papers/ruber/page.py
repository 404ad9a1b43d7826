"""The page `ruber-figures`: RUBER on the judged replies of Zhao et al. 2020, next to the papers' figures.

Settings were fixed before the judged replies were looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from papers.documents import Document
from papers.inputs import Inputs
from papers.published import zhao2020
from papers.published.records import Correlations
from papers.published.ruber import RETRIEVAL, SEQ2SEQ, TABLE_2
from papers.published.zhao2020 import FULL, PERSONACHAT, RUBER, WITHOUT_TRUE
from papers.ruber.baselines import BASELINES, baselines
from papers.ruber.differences import DIFFERENCES, difference_rows, target_rows
from papers.ruber.models import ENCODERS, SETS, TUNED, Models, Replies, pooled
from papers.ruber.study import QUANTILES, Study, check_encoders
from papers.ruber.trainings import trainings
from papers.ruber.transfer import transfer_rows
from rejoinder.options import RESAMPLES
from rejoinder.show.figures import PlotCurve
from rejoinder.show.plots import line_plot, standalone
from rejoinder.show.text import p_text
from rejoinder.trusting.probing import cell_text
from rejoinder.types import Scores

PARTS = ("s_R", "s_U", "arithmetic")
SCORES = ("s_R", "s_U", "min", "geometric", "arithmetic", "max", *TUNED)
HEADER = ("encoder", "score", "all: r", "all: rho", "test split: r", "test split: rho", "theirs: r / rho")
ZHAO_ROWS = {
    "s_R": "RUBER, reference",
    "s_U": "RUBER, context",
    "arithmetic": "RUBER",
    "s_U, tuned": "RUBER, context, semi-supervised",
    "arithmetic, tuned": "RUBER, semi-supervised",
}
"""Our score -> its row in the tables of Zhao et al. 2020."""

INTRODUCTION = """\
# RUBER: figures

This page shows how well RUBER (Tao et al. 2018) agrees with people on the replies that Zhao et al. 2020 had judged: 900
replies to 100 contexts of DailyDialog, and 900 to 149 contexts of PersonaChat, with four raters per reply. (Two pairs
of the 149 differ only in punctuation. Experiments, whose folds keep such contexts together, count 147.) r is
Pearson's and rho Spearman's correlation. Brackets are 95 % intervals over contexts. [ruber.md](../reference/ruber.md)
says what RUBER is and how it is trained; [ruber-transfer.md](ruber-transfer.md) tests it on the corpus that it was not
trained on.

- *all*: 900 replies, with the mean of all ratings. Tuned scores come from five folds: each model is tuned on replies to
  other contexts.
- *test split*: the 90 test replies of Zhao et al., without ratings far from the median of their reply, which they drop
  too. The split divides replies, not contexts, so that other replies to a tested context are in the training split. It
  is used only to compare with the paper.
- *theirs*: the RUBER of Zhao et al., which is hierarchical. The paper does not say how it combines the two scores.

The next table lists the models, which were trained on dialogues alone. Dialogues that contain a judged context, or the
last two turns of one, are left out. The last column counts judged replies whose context a model was nevertheless
trained on."""

TRAININGS_TEXT = (
    "Tuned models were trained further, starting from these models. No setting was chosen by looking at these replies."
)

SET_TEXT = "## {corpus}, models trained on {corpus}"

RUBER_TEXT = """\
## Compared with Tao et al. 2018

Their replies are Chinese and were never released. Each cell has r / rho, ours over all replies of each set. The rows
*human* compare one rater with the mean of the others: the mean over raters, and the highest. Our data do not say who
gave a rating, so that the first ratings of all replies count as those of one rater."""

ENCODERS_TEXT = """\
## Other encoders against the GRU

Differences of r over all replies, with intervals from a bootstrap over contexts and p from a permutation test."""

TRANSFER_TEXT = """\
## From DailyDialog to PersonaChat

Models trained without labels, tested on all replies of PersonaChat (PC: trained on PersonaChat, DD -> PC: trained on
DailyDialog). The last two columns have r / rho on the test split, next to Table 4 of Zhao et al."""

WITHOUT_TRUE_TEXT = """\
## Without true replies

Replies of DailyDialog, scored by the model with a GRU. A true reply is its own reference, so that its s_R is 1. Theirs
is r on the test split (Zhao et al. 2020, Table 1). SD is the standard deviation of the score. Ours is on RUBER's own
scale from 0 to 1. Those that Zhao et al. print for s_U and for the blend are too large for that scale; on a scale from
1 to 5, which is likely theirs, ours would be four times as large."""

FIGURE_1_TEXT = """\
## s_U by rating

As in Figure 1 of Tao et al., replies are divided by their rating into five groups of equal size, lowest first; the
figure shows the mean s_U of each group. The paper uses true replies only, of which there are too few here, and gives no
numbers.

![mean s_U by fifth of ratings](ruber-quantiles.svg)"""

DIFFERENCES_TEXT = """\
## Blends, parts and labels

Differences of r over all replies: between max and the worst of the other blends, between the arithmetic blend and the
better of its parts, and between the arithmetic blend with and without labels."""

TARGETS_TEXT = """\
## Targets

What this package set out to reach before anything was measured."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is trained."""

    budget: str = "full"
    """`full`, or `small`, which trains less."""
    encoders: tuple[str, ...] = ENCODERS
    """The encoders that are measured, the GRU first."""
    hred: str = ""
    """The folder of a hred of DailyDialog, which the hierarchical form of that corpus starts from."""
    resamples: int = RESAMPLES


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:
    """The trained models, then all sections in order."""
    check_encoders(inputs, settings.encoders)
    study = Study(Models(inputs, settings.budget, settings.hred), settings.encoders, settings.resamples)
    document = Document("ruber-figures")
    document.text(INTRODUCTION)
    trainings(study, document)
    document.text(TRAININGS_TEXT)
    for section in sections:
        SECTIONS[section](study, document)
    return document


def sets(study: Study, document: Document) -> None:
    """Each judged set: all replies, and the published test split."""
    for corpus, theirs in {"DailyDialog": _theirs(), "PersonaChat": _theirs_on_personachat()}.items():
        replies = study.replies[corpus]
        pool = pooled(replies)
        rows = [_row(study, replies, ("", "pool"), (pool, pool), None)]
        for encoder in study.encoders:
            everything, split = study.measured[corpus, encoder]
            for score in SCORES:
                if score != "s_R" or encoder == study.encoders[0]:
                    published = theirs.get(score) if encoder != "MiniLM" else None
                    both = (everything[score], split[score])
                    rows.append(_row(study, replies, (encoder, score), both, published))
        document.text(SET_TEXT.format(corpus=corpus))
        document.table(HEADER, rows)


def _theirs() -> dict[str, Correlations]:
    """Our score -> the figures of Zhao et al. for it on DailyDialog."""
    figures = {**zhao2020.TABLE_3.correlations(), **zhao2020.TABLE_1.correlations(FULL)}
    return {score: figures[row] for score, row in ZHAO_ROWS.items()}


def _theirs_on_personachat() -> dict[str, Correlations]:
    """The figures of Zhao et al. for RUBER on PersonaChat, trained on PersonaChat."""
    return {"arithmetic": zhao2020.TABLE_4.correlations(RUBER)[PERSONACHAT, PERSONACHAT]}


def _row(
    study: Study, replies: Replies, names: tuple[str, str], columns: tuple[Scores, Scores], theirs: Correlations | None
) -> list[str]:
    """Correlations with people over all replies, and over the published test replies."""
    everything, split = columns
    both, tested = study.agreement(everything, replies), study.agreement_on_test(split, replies)
    ours = [cell_text(each) for found in (both, tested) for each in (found.pearson, found.spearman)]
    return [*names, *ours, theirs.text() if theirs else ""]


def ruber(study: Study, document: Document) -> None:
    """The figures of Tao et al. next to ours."""
    theirs = [TABLE_2.correlations(system) for system in (RETRIEVAL, SEQ2SEQ)]
    others = [baselines(study, replies) for replies in study.replies.values()]
    rows = [[row, *(each[row].text(3) for each in theirs), *(each[row].text() for each in others)] for row in BASELINES]
    for score in ("pool", "s_R", "s_U", "min", "geometric", "arithmetic", "max"):
        cells = [each[score].text(3) for each in theirs]
        for corpus, replies in study.replies.items():
            column = pooled(replies) if score == "pool" else study.column(corpus, study.encoders[0], score)
            cells.append(study.agreement(column, replies).text())
        rows.append([score, *cells])
    ours = [f"ours, {study.encoders[0]}, {corpus}" for corpus in study.replies]
    document.text(RUBER_TEXT)
    document.table(["", "Tao et al., retrieval", "Tao et al., Seq2Seq", *ours], rows)


def encoders(study: Study, document: Document) -> None:
    """How much better the other encoders are than the first."""
    first, *others = study.encoders
    rows = []
    for corpus in SETS:
        for encoder in others:
            for score in ("s_U", "arithmetic", *TUNED):
                found = study.compared(corpus, (first, score), (encoder, score))
                rows.append([corpus, encoder, score, cell_text(found.difference), p_text(found.p_value)])
    if rows:
        document.text(ENCODERS_TEXT)
        document.table(["set", "encoder", "score", f"r above the {first}'s", "p"], rows)


def transfer(study: Study, document: Document) -> None:
    """PersonaChat by models of DailyDialog."""
    document.text(TRANSFER_TEXT)
    header = ["encoder", "score", "PC, r", "DD -> PC, r", "difference", "test split", "theirs"]
    document.table(header, transfer_rows(study, "PersonaChat", PARTS))


def without_true(study: Study, document: Document) -> None:
    """DailyDialog with and without true replies."""
    replies = study.replies["DailyDialog"]
    everything = np.ones(len(replies.examples), np.bool_)
    rows = []
    for score in PARTS:
        column = study.column("DailyDialog", study.encoders[0], score)
        cells = []
        for used, part in ((everything, FULL), (~replies.true, WITHOUT_TRUE)):
            found = study.agreement(column, replies, used)
            theirs = [zhao2020.TABLE_1.column(f"{part}: {kind}")[ZHAO_ROWS[score]] for kind in ("Pearson", "SD")]
            cells += [
                cell_text(found.pearson),
                f"{np.nanstd(column[used]):.2f}",
                " / ".join(map("{:.2f}".format, theirs)),
            ]
        rows.append([score, *cells])
    count = int(replies.true.sum())
    document.text(WITHOUT_TRUE_TEXT)
    header = [
        f"{kind}, {part}" for part in ("all", f"without {count} true replies") for kind in ("r", "SD", "theirs: r / SD")
    ]
    document.table(["", *header], rows)


def figure_1(study: Study, document: Document) -> None:
    """Mean s_U by fifth of ratings."""
    lines, rows = [], []
    short = {"DailyDialog": "DD", "PersonaChat": "PC"}
    for corpus in study.replies:
        for encoder in study.encoders:
            means = study.quantiles(corpus, encoder)
            lines.append(PlotCurve(f"{short[corpus]} {encoder}", range(1, QUANTILES + 1), means))
            rows.append([corpus, encoder, *(f"{mean:.3f}" for mean in means)])
    svg = line_plot(lines, label="mean s_U by rating", x_label="fifth of ratings", y_label="mean s_U")
    document.text(FIGURE_1_TEXT)
    document.figure("ruber-quantiles", standalone(str(svg)))
    document.table(["set", "encoder", *map(str, range(1, QUANTILES + 1))], rows)


def differences(study: Study, document: Document) -> None:
    """How much blends, parts and labels differ."""
    document.text(DIFFERENCES_TEXT)
    document.table(["set", "encoder", *DIFFERENCES], difference_rows(study))


def targets(study: Study, document: Document) -> None:
    """The targets of this package, each with our result."""
    document.text(TARGETS_TEXT)
    document.table(["target", "reached", "figures"], target_rows(study))


SECTIONS: Mapping[str, Callable[[Study, Document], None]] = {
    "sets": sets,
    "ruber": ruber,
    "encoders": encoders,
    "transfer": transfer,
    "without_true": without_true,
    "figure_1": figure_1,
    "differences": differences,
    "targets": targets,
}
"""In the order of the page."""

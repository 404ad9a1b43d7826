"""The page `evaluator-studies`: the papers' tables and figures of single replies, systems and robustness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from papers.adem.study import BY_REPLY
from papers.documents import Document
from papers.inputs import Inputs
from papers.judged.agreement import agreement
from papers.judged.examples import add_examples, disagreements, first_of_contexts
from papers.judged.figures import add_study, against_people
from papers.judged.models import ADEM, DEFAULT, DIALOGUES, ENCODER, EPOCHS, RUBER, Evaluators, Study
from papers.judged.published_split import noisy, robustness, table_1, table_3, table_4
from papers.judged.sets import JudgedScores
from papers.published import adem, ruber, zhao2020
from papers.published.zhao2020 import DAILYDIALOG, PERSONACHAT
from rejoinder.options import RESAMPLES
from rejoinder.show.figures import HistogramPanel
from rejoinder.show.plots import histogram, line_plot, panels, scatter, standalone
from rejoinder.trusting.correlations import system_level
from rejoinder.trusting.experiments import PUBLISHED
from rejoinder.trusting.human_scale import of_true_systems
from rejoinder.trusting.label_curves import low_resource
from rejoinder.trusting.probes import missed_replies_probe as missed_replies
from rejoinder.trusting.probes import spread_probe as spread
from rejoinder.trusting.probing import ScoredSet, cell_text
from rejoinder.types import Scores

GUPTA = "gupta2019_dailydialog"
SCATTERED = ("BLEU-2", "ROUGE", ADEM)
BY_SYSTEM = ("BLEU-4", "ROUGE", ADEM)
"""The panels of the papers' figures, reply by reply and system by system."""
EXAMPLES = 3
UPPER, LOWER = 0.75, 0.5
"""Quantiles of "high" and "low" scores, where examples are chosen."""

INTRODUCTION = f"""\
# Evaluators: systems, single replies, robustness

This page repeats those tables and figures of Lowe et al. 2017 (ADEM), Tao et al. 2018 (RUBER) and Zhao et al. 2020 that
need little training. Brackets are 95 % intervals over contexts.

- `ADEM` is fitted to 50 principal components of MiniLM's vectors. Each reply is scored by a model that was fitted on
  other contexts, except in Tables 1, 3 and 4 and Figure 2 of Zhao et al.: there, the model is fitted on the published
  training part of a set, which contains other replies to the contexts of its test part.
- `RUBER` is trained without labels on {DIALOGUES:,} dialogues of DailyDialog for {EPOCHS} epochs. This takes a minute,
  far less than the training for [ruber-figures.md](ruber-figures.md).
- `default@1` is the first version of `default`, and was trained on no label of these sets, unlike later versions. It
  stands in for RoBERTa-eval, a network with 355 million parameters that was fitted on labels of the same set."""

SYSTEMS_TEXT = """\
## Over the means of systems (Lowe et al. 2017, Table 4 and Figure 4)

The Pearson correlation between mean scores and mean ratings of the systems of {name}. The paper has four systems, one
of which is people who wrote new replies. Here, the true replies are one of the systems and also the references, which
gives metrics that compare with references full marks for them. So there is also a column without them."""

REPLIES_TEXT = """\
## Reply by reply (Lowe et al. 2017, Figure 3)

![scores and people, reply by reply](evaluator-replies.svg)

Replies of {name}. Noise with a standard deviation of .3 is added to the human ratings, as in the paper."""

MISSED_TEXT = f"""\
## Good replies that metrics miss (Lowe et al. 2017, Table 6)

The counts in the paper, which has {adem.TEST_REPLIES} test replies:"""

EXAMPLES_TEXT = """\
## Examples (Lowe et al. 2017, Table 7)

All replies to one context of {name}, which was drawn at random."""

LIKED_TEXT = """\
## Replies that {label} and people like and BLEU-2 does not ({source})

Random replies of {name} in the upper quarter by people's ratings and by {label}, and in the lower half by BLEU-2; at
most one per context. {rule}"""
ADEM_RULE = """\
The paper takes scores above 4 for high ones and scores below 2 for low ones, after normalisation to people's mean and
variance."""

TOO_LOW_TEXT = """\
## Replies that ADEM scores too low (Lowe et al. 2017, Table 12)

The replies whose rank by people is furthest above their rank by ADEM; at most one per context. The paper draws from all
replies that people and either BLEU-2 or ROUGE score above 4 and ADEM below 2."""

TOO_HIGH_TEXT = """\
## Replies that ADEM scores too high (Lowe et al. 2017, Table 13)

The replies whose rank by ADEM is furthest above their rank by people; at most one per context. The paper draws from all
replies that ADEM scores above 4, and people and either BLEU-2 or ROUGE below 2."""

RUBER_TEXT = """\
## RUBER reply by reply (Tao et al. 2018, Figures 4 to 6)

![RUBER and people, reply by reply](evaluator-ruber.svg)

From top to bottom: replies of a retrieval system (a dual encoder) and of Seq2Seq, both from gupta2019_dailydialog, and
replies of Seq2Seq with attention from the other corpus, PersonaChat, scored by a model trained on DailyDialog. The
table has Pearson / Spearman."""

AMOUNTS_TEXT = """\
## Few labels (Zhao et al. 2020, Figure 2)

![correlation by number of labels](evaluator-amounts.svg)

ADEM takes the place of RoBERTa-eval. The split is the published one, with three random samples for each number of
labels. In the paper, about 100 labels do nearly as well as all 720."""

SPREAD_TEXT = """\
## Distributions of scores (Zhao et al. 2020, Figure 3)

![distributions of scores](evaluator-distributions.svg)

The 90 published test replies of {name}. ADEM is fitted on other contexts here, unlike in Tables 1 and 3, so its
standard deviation is not the one in those tables. For the histograms and the columns after *sd*, each metric's range is
mapped to the human scale, and its mean is moved to the human mean. In the paper, the standard deviations are
{theirs}."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is computed."""

    resamples: int = RESAMPLES


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:
    """All sections in order."""
    inputs.model(ENCODER)  # its absence is reported before anything is computed
    scores = JudgedScores(inputs, settings.resamples)
    study = Study(Evaluators(scores, (DAILYDIALOG, PERSONACHAT, GUPTA)))
    document = Document("evaluator-studies")
    document.text(INTRODUCTION)
    for section in sections:
        SECTIONS[section](study, document)
    return document


def systems(study: Study, document: Document) -> None:
    """Correlation over the means of systems, and a dot for each system."""
    scored = study.overlap
    theirs = adem.TABLE_4.column("Pearson")
    document.text(SYSTEMS_TEXT.format(name=DAILYDIALOG))
    untrue = scored.take(np.flatnonzero(~of_true_systems(scored.judged.examples)))
    found = [_over_systems(part) for part in (scored, untrue)]
    rows = [[label, f"{theirs[label]:.3f}", *(part.get(label, "-") for part in found)] for label in scored.scores]
    document.table(["", "Lowe et al.", "ours", "without true replies"], rows)
    names = np.unique(scored.judged.systems)
    people = np.array([np.nanmean(scored.human[scored.judged.systems == name]) for name in names])
    drawn = []
    for label in BY_SYSTEM:
        means = np.array([np.nanmean(scored.scores[label][scored.judged.systems == name]) for name in names])
        drawn.append(scatter(people, means, label=f"{label} by system", x_label="people", y_label=label))
    document.text("![scores and people, system by system](evaluator-systems.svg)")
    document.figure("evaluator-systems", panels([drawn]))


def _over_systems(scored: ScoredSet) -> dict[str, str]:
    """Metric -> its correlation with people over the means of systems; empty if there are fewer than three systems."""
    table = system_level(scored)
    return {each.metric: cell_text(each.measured["pearson"].interval) for each in table.rows} if table else {}


def replies(study: Study, document: Document) -> None:
    """One dot per reply."""
    scored = study.overlap
    document.text(REPLIES_TEXT.format(name=DAILYDIALOG))
    drawn = [against_people(label, scored.scores[label], scored.human) for label in SCATTERED]
    document.figure("evaluator-replies", panels([drawn]))


def missed(study: Study, document: Document) -> None:
    """Counts of good replies that metrics score low."""
    document.text(MISSED_TEXT)
    document.table(["", *adem.TABLE_6.columns], [[row, f"{n}", f"{of}"] for row, (n, of) in adem.TABLE_6.rows.items()])
    document.text("Ours:")
    add_study(document, missed_replies(study.overlap))


def examples(study: Study, document: Document) -> None:
    """All replies to one context."""
    scored = study.everything
    drawn = int(np.random.default_rng(0).integers(scored.judged.contexts.max() + 1))
    document.text(EXAMPLES_TEXT.format(name=DAILYDIALOG))
    rows = np.flatnonzero(scored.judged.contexts == drawn).tolist()
    add_examples(document, scored.judged, scored.human, study.shown, rows)


def liked_by_adem(study: Study, document: Document) -> None:
    """Replies that ADEM and people like and BLEU-2 does not."""
    _liked(study, document, ADEM, "Lowe et al. 2017, Table 9")


def liked_by_ruber(study: Study, document: Document) -> None:
    """Replies that RUBER and people like and BLEU-2 does not."""
    _liked(study, document, RUBER, "Tao et al. 2018, Table 3")


def _liked(study: Study, document: Document, label: str, source: str) -> None:
    scored = study.everything
    high = [column >= np.nanquantile(column, UPPER) for column in (scored.human, scored.scores[label])]
    low = scored.scores["BLEU-2"] <= np.nanquantile(scored.scores["BLEU-2"], LOWER)
    found = np.random.default_rng(0).permutation(np.flatnonzero(high[0] & high[1] & low))
    rule = ADEM_RULE if label == ADEM else ""
    document.text(LIKED_TEXT.format(label=label, source=source, name=DAILYDIALOG, rule=rule).rstrip())
    add_examples(document, scored.judged, scored.human, study.shown, first_of_contexts(scored.judged, found, EXAMPLES))


def too_low(study: Study, document: Document) -> None:
    """Replies that ADEM ranks far below people."""
    document.text(TOO_LOW_TEXT)
    _furthest(study, document, study.everything.human, study.everything.scores[ADEM])


def too_high(study: Study, document: Document) -> None:
    """Replies that ADEM ranks far above people."""
    document.text(TOO_HIGH_TEXT)
    _furthest(study, document, study.everything.scores[ADEM], study.everything.human)


def _furthest(study: Study, document: Document, first: Scores, second: Scores) -> None:
    scored = study.everything
    ordered = disagreements(first, second, ~np.isnan(first) & ~np.isnan(second))
    rows = first_of_contexts(scored.judged, ordered, EXAMPLES)
    add_examples(document, scored.judged, scored.human, study.shown, rows)


def ruber_replies(study: Study, document: Document) -> None:
    """Scatter plots and correlations of BLEU-2, ROUGE, the parts of RUBER and RUBER on three kinds of replies."""
    wanted = {
        "retrieval": (GUPTA, "dualencoder_train"),
        "Seq2Seq": (GUPTA, "seq2seqf"),
        "the other corpus": (PERSONACHAT, "S2S_attn"),
    }
    drawn, rows = [], []
    for title, (name, system) in wanted.items():
        scored = study.evaluators.scored(name, ("BLEU-2", "ROUGE"))
        part = scored.take(np.flatnonzero(scored.judged.systems == system))
        columns = {**part.scores, **study.evaluators.ruber_parts(part.judged.examples)}
        drawn.append([against_people(label, column, part.human) for label, column in columns.items()])
        rows.append([title, f"{len(part.judged)}", *(_agreement(study, part, column) for column in columns.values())])
    document.text(RUBER_TEXT)
    document.figure("evaluator-ruber", panels(drawn))
    published = {
        "retrieval": ruber.TABLE_2.correlations(ruber.RETRIEVAL),
        "Seq2Seq": ruber.TABLE_2.correlations(ruber.SEQ2SEQ),
    }
    published["the other corpus"] = ruber.TABLE_4.correlations()
    for title, figures in published.items():
        cells = [figures[row] for row in ("BLEU-2", "ROUGE", "s_R", "s_U", "arithmetic")]
        rows.append([f"Tao et al., {title}", "", *(found.text() for found in cells)])
    document.table(["", "replies", "BLEU-2", "ROUGE", "s_R", "s_U", "RUBER, arithmetic"], rows)


def amounts(study: Study, document: Document) -> None:
    """Agreement by number of labels."""
    judged = study.evaluators.inputs.judged(DAILYDIALOG).without_outliers()
    result = low_resource(
        {ADEM: study.evaluators.unfitted_adem(judged)},
        judged,
        "overall",
        folds=PUBLISHED,
        allow_leakage=BY_REPLY,
        folder=study.evaluators.inputs.cache.cells,
        resamples=study.evaluators.scores.resamples,
    )
    (panel,) = result.panels
    document.text(AMOUNTS_TEXT)
    drawn = line_plot(panel.curves, label=panel.title, x_label=panel.x_label, y_label=panel.y_label)  # type: ignore[union-attr]
    document.figure("evaluator-amounts", standalone(drawn))
    add_study(
        document, result, ("amount", "labels", "Pearson", "Spearman", "SD over seeds", "lowest seed", "highest seed")
    )


def distributions(study: Study, document: Document) -> None:
    """Standard deviations of scores."""
    deviations = zhao2020.TABLE_3.column("SD")
    theirs = ", ".join(f"{row} {deviations[row]:.2f}" for row in ("ADEM", "RUBER", "RoBERTa-eval", "Human"))
    test = study.everything.judged.in_split("test")
    columns = {label: study.everything.scores[label][test] for label in (ADEM, RUBER, DEFAULT)}
    judged = study.everything.judged.without_outliers().part("test")
    result = spread(ScoredSet(judged, "overall", columns, resamples=study.everything.resamples))
    document.text(SPREAD_TEXT.format(name=DAILYDIALOG, theirs=theirs))
    if result is not None:
        panel = next(panel for panel in result.panels if isinstance(panel, HistogramPanel))
        document.figure("evaluator-distributions", standalone(histogram(panel.groups, label=panel.title)))
    add_study(document, result)


def _agreement(study: Study, part: ScoredSet, column: Scores) -> str:
    return agreement(column, part.human, part.judged.contexts, study.evaluators.scores.resamples).text(2)


SECTIONS: Mapping[str, Callable[[Study, Document], None]] = {
    "systems": systems,
    "replies": replies,
    "missed": missed,
    "examples": examples,
    "liked_by_adem": liked_by_adem,
    "too_low": too_low,
    "too_high": too_high,
    "liked_by_ruber": liked_by_ruber,
    "ruber_replies": ruber_replies,
    "amounts": amounts,
    "table_1": table_1,
    "table_3": table_3,
    "table_4": table_4,
    "distributions": distributions,
    "robustness": robustness,
    "noisy": noisy,
}
"""In the order of the page."""

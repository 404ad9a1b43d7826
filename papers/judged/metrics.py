"""The page `metric-figures`: metrics against people on the judged sets at hand (Liu et al. 2016)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from papers.documents import Document
from papers.inputs import Inputs
from papers.judged.agreement import Agreement, agreement_of_halves
from papers.judged.examples import add_examples, disagreements, first_of_contexts
from papers.judged.figures import add_study, against_people, people_against_people
from papers.judged.sets import METRICS, JudgedScores, check_sets
from papers.published.liu2016 import CORPORA, TABLE_3, TABLE_4, TABLE_5
from rejoinder.options import RESAMPLES
from rejoinder.show.plots import panels
from rejoinder.stats.correlation_intervals import bootstrap_correlations
from rejoinder.trusting.probes import length_bias_probe as length_bias
from rejoinder.trusting.probing import ScoredSet, cell_text

SETS = (
    "zhao2020_dailydialog",
    "zhao2020_personachat",
    "usr_personachat",
    "gupta2019_dailydialog",
    "grade_dailydialog",
    "grade_empatheticdialogues",
)
"""Judged sets of conversations between people and of reply models, with references."""
STRIPPED = {label: f"{name}(strip=stopwords+punctuation)" for label, name in METRICS.items() if label in TABLE_4.rows}
SHOWN = ("BLEU-2", "average")
"""The metrics of Figure 1."""
EXAMPLES = 3

INTRODUCTION = """\
# Metrics against people

This page repeats the tables and figures of Liu et al. 2016 (How NOT To Evaluate Your Dialogue System) on public judged
sets, because the judged Twitter and Ubuntu replies of the paper are not public. Metrics have their default settings,
and nothing was trained. Brackets are 95 % intervals over contexts."""

TABLE_3_TEXT = """\
## Metrics against people (Table 3)

Each cell has Pearson's correlation above and Spearman's below. `Human` is the correlation of the mean ratings of two
random halves of the raters; in the paper, of two halves of 25 raters."""

TABLE_4_TEXT = """\
## Without stop words and punctuation (Table 4)

Pearson above, Spearman below. The paper's figures are for Twitter."""

TABLE_5_TEXT = """\
## Length (Table 5)

The mean score of replies whose length is within 6 words of the reference's, and that of all others. Scores are scaled
to the mean and variance of the human ratings. Replies that equal their reference are left out. The paper's figures are
for Twitter:"""

FIGURE_1_TEXT = """\
## Reply by reply (Figure 1)

![metrics and people, reply by reply](metric-scatter.svg)

Replies of {name}: BLEU-2 against people, the embedding average against people, and one half of the raters against the
other half. Noise is added to the ratings, as in Lowe et al. 2017. At most 250 replies are shown."""

FIGURE_2_TEXT = """\
## Replies that metrics and people judge differently (Figure 2)

Replies of {name} that people rank high and BLEU-2 ranks low, then the reverse. Replies that equal their reference are
left out. The difference of ranks alone decides which replies are shown, at most one per context."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is measured."""

    sets: tuple[str, ...] = SETS
    resamples: int = RESAMPLES


@dataclass(frozen=True, eq=False)
class Study:
    """The sets of the page, with the scores of all metrics."""

    scores: JudgedScores
    sets: Mapping[str, ScoredSet]


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:
    """All sections in order."""
    check_sets(settings.sets, SETS)
    scores = JudgedScores(inputs, settings.resamples)
    study = Study(scores, {name: scores.scored(name) for name in settings.sets})
    document = Document("metric-figures")
    document.text(INTRODUCTION)
    for section in sections:
        SECTIONS[section](study, document)
    return document


def table_3(study: Study, document: Document) -> None:
    """Correlations with people, on every set, next to those on Twitter and Ubuntu."""
    measured = {name: correlations(scored) for name, scored in study.sets.items()}
    people = {name: _halves(scored) for name, scored in study.sets.items()}
    theirs = {corpus: TABLE_3.correlations(corpus) for corpus in reversed(CORPORA)}
    rows = []
    for row in TABLE_3.rows:
        published = [found[row].text(between="<br>") for found in theirs.values()]
        ours = [(people[name] if row == "Human" else measured[name][row]).text(between="<br>") for name in study.sets]
        rows.append([row, *published, *ours])
    document.text(TABLE_3_TEXT)
    document.table(["", *(f"Liu et al., {corpus}" for corpus in theirs), *study.sets], rows)
    sentences = []
    for name, found in measured.items():
        best = max(found, key=lambda label: found[label].pearson.estimate)
        halves = people[name].pearson
        beside = "" if np.isnan(halves.estimate) else f"; two halves of the raters reach {cell_text(halves)}"
        sentences.append(f"- {name}: the best metric is {best}, at {cell_text(found[best].pearson)} Pearson{beside}.")
    document.text("The paper finds that no metric comes near the agreement of people. Here:", "\n".join(sentences))


def correlations(scored: ScoredSet) -> dict[str, Agreement]:
    """Metric -> its correlations with people."""
    matrix = np.stack([scored.oriented(label) for label in scored.scores], axis=1)
    found = bootstrap_correlations(matrix, scored.human, scored.judged.contexts, scored.resamples)
    both = zip(found["pearson"], found["spearman"], strict=True)
    return {label: Agreement(*figures) for label, figures in zip(scored.scores, both, strict=True)}


def _halves(scored: ScoredSet) -> Agreement:
    """The agreement of two random halves of the raters."""
    return agreement_of_halves(scored.judged.ratings[scored.dimension], scored.judged.contexts, scored.resamples)


def table_4(study: Study, document: Document) -> None:
    """BLEU without stop words and punctuation."""
    theirs = TABLE_4.correlations()
    stripped = {name: correlations(study.scores.scored(name, STRIPPED)) for name in study.sets}
    rows = [
        [
            row,
            figures.text(between="<br>"),
            *(found[row].text(between="<br>") for found in stripped.values()),
        ]
        for row, figures in theirs.items()
    ]
    document.text(TABLE_4_TEXT)
    document.table(["", "Liu et al.", *stripped], rows)


def table_5(study: Study, document: Document) -> None:
    """Mean scores by difference of length."""
    document.text(TABLE_5_TEXT)
    document.table(["", *TABLE_5.columns], [[row, *(f"{v:g}" for v in values)] for row, values in TABLE_5.rows.items()])
    for name, scored in study.sets.items():
        document.text(f"### {name}")
        add_study(document, length_bias(scored), ("metric", "within 6 words", "others", "difference", "p"))


def figure_1(study: Study, document: Document) -> None:
    """Scatter plots of two metrics, and of people against people."""
    name, scored = next(iter(study.sets.items()))
    drawn = [against_people(label, scored.scores[label], scored.human) for label in SHOWN]
    document.text(FIGURE_1_TEXT.format(name=name))
    document.figure(
        "metric-scatter", panels([[*drawn, people_against_people(scored.judged.ratings[scored.dimension])]])
    )


def figure_2(study: Study, document: Document) -> None:
    """Replies on which BLEU-2 and people differ most, with all scores."""
    name, scored = next(iter(study.sets.items()))
    bleu = scored.scores["BLEU-2"]
    eligible = np.array([each.response not in each.references for each in scored.judged.examples])
    document.text(FIGURE_2_TEXT.format(name=name))
    for first, second in ((scored.human, bleu), (bleu, scored.human)):
        rows = first_of_contexts(scored.judged, disagreements(first, second, eligible), EXAMPLES)
        add_examples(document, scored.judged, scored.human, scored.scores, rows)


SECTIONS: Mapping[str, Callable[[Study, Document], None]] = {
    "table_3": table_3,
    "table_4": table_4,
    "table_5": table_5,
    "figure_1": figure_1,
    "figure_2": figure_2,
}
"""In the order of the page."""

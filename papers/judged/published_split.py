"""Sections of the page `evaluator-studies` on the published test replies of Zhao et al. 2020."""

from __future__ import annotations

import numpy as np

from papers.adem.study import BY_REPLY
from papers.documents import Document
from papers.judged.agreement import agreement
from papers.judged.figures import add_study
from papers.judged.models import ADEM, BLEND, DEFAULT, RUBER, Study
from papers.published import zhao2020
from papers.published.zhao2020 import DAILYDIALOG, PERSONACHAT, ROBERTA_EVAL
from papers.ruber.models import TUNED, Replies, by_split
from rejoinder.arrays import Bools
from rejoinder.trusting.experiments import PUBLISHED
from rejoinder.trusting.human_scale import of_true_systems
from rejoinder.trusting.probing import ScoredSet
from rejoinder.trusting.robustness import noise_probe as noise
from rejoinder.trusting.transfer import transfer
from rejoinder.types import Scores

METRIC_ROWS = ("BLEU-2", "average", "extrema", "greedy")
RUBER_ROWS = {"RUBER, context, semi-supervised": TUNED[0], "RUBER, semi-supervised": TUNED[1]}
"""Row of the paper's table -> score of a RUBER that is also trained on labels."""

TABLE_1_TEXT = """\
## The parts of ADEM and RUBER (Zhao et al. 2020, Table 1)

Pearson / Spearman / SD on the published test replies, where outlying ratings are left out: all 90, and those that are
not true replies. ADEM is fitted on the published training part. Its parts are terms of one fitted model, as in the
paper, and not a C-ADEM and an R-ADEM that are trained as such. RUBER was trained without labels; its scores are from 0
to 1. SD is the standard deviation of the score, on the score's own scale."""

TABLE_3_TEXT = f"""\
## Metrics and evaluators against people (Zhao et al. 2020, Table 3)

Measured on the 90 published test replies, where outlying ratings are left out. ADEM and the semi-supervised forms of
RUBER are fitted on the published training part, whose contexts are also those of the test part. SD is the standard
deviation of the score, on the score's own scale: 0 to 1 for RUBER, where the paper seems to use 1 to 5, on which ours
would be four times as large. `{DEFAULT}` was not fitted on this set; it stands in the row of RoBERTa-eval, whose own
training is repeated in [roberta-eval.md](roberta-eval.md)."""

TABLE_4_TEXT = """\
## From one corpus to another (Zhao et al. 2020, Table 4)

Evaluators that were fitted on the published training part of one set and tested on the 90 test replies of each, where
outlying ratings are left out. The published figures in the rows of `blend` are those of RoBERTa-eval. Neither needs
references. The blend weighs the parts of `default`, among them `{default}`, which was trained on other dialogues and
ratings. RUBER is in [ruber-transfer.md](ruber-transfer.md)."""

ROBUST_TEXT = """\
## Without true replies, and other dimensions (Zhao et al. 2020, section 6.3)

Pearson / Spearman on the 90 published test replies, where outlying ratings are left out, and on all replies. ADEM is
fitted on other contexts here, and not on the published training part as in Tables 1 and 3, so its figures for the same
test replies are not those of these tables."""

NOISE_TEXT = """\
## Noise on labels, rounded scores (Zhao et al. 2020, Appendix D)

Measured on the 90 published test replies, with an ADEM that was fitted on other contexts, unlike in Tables 1 and 3. The
noise is added to the ratings of these replies; the paper does not say whether it also trained on noisy ratings. There,
RoBERTa-eval has these figures: {theirs}."""


def table_1(study: Study, document: Document) -> None:
    """ADEM and RUBER with their parts, with and without true replies."""
    judged = study.everything.judged.without_outliers()
    test = judged.in_split("test")
    untrue = test & ~of_true_systems(judged.examples)
    evaluators, human = study.evaluators, judged.human("overall")
    ruber_parts = evaluators.ruber_parts(judged.examples)
    columns = {
        **evaluators.adem_parts(judged),
        "RUBER": ruber_parts[RUBER],
        "RUBER, reference": ruber_parts["s_R"],
        "RUBER, context": ruber_parts["s_U"],
        "Human": human,
    }
    rows = []
    for row, theirs in zhao2020.TABLE_1.rows.items():
        cells = []
        for part, published in ((test, theirs[:3]), (untrue, theirs[3:])):
            found = "" if row == "Human" else _agreement(study, columns[row], human, part) + " / "
            cells += [" / ".join(f"{value:.2f}" for value in published), found + _deviation(columns[row][part])]
        rows.append([row, *cells])
    parts = (f"all {test.sum()}", f"{untrue.sum()} not true")
    document.text(TABLE_1_TEXT)
    document.table(["", *(f"{whose}, {part}" for part in parts for whose in ("Zhao et al.", "ours"))], rows)


def table_3(study: Study, document: Document) -> None:
    """Correlations and standard deviations of metrics and evaluators on the test replies."""
    scored = study.everything
    cleaned = scored.judged.without_outliers()
    test = cleaned.in_split("test")
    tuned = by_split(study.evaluators.ruber, Replies(scored.judged))
    columns = {
        **study.evaluators.scored(DAILYDIALOG, METRIC_ROWS).scores,
        ADEM: study.evaluators.adem(cleaned, scored.dimension, PUBLISHED),
        RUBER: scored.scores[RUBER],
        **{row: tuned[name] for row, name in RUBER_ROWS.items()},
        ROBERTA_EVAL: scored.scores[DEFAULT],
        "Human": cleaned.human(scored.dimension),
    }
    rows = []
    for row, theirs in zhao2020.TABLE_3.rows.items():
        column = columns[row]
        found = "" if row == "Human" else _agreement(study, column, columns["Human"], test)
        name = f"{row}; ours: {DEFAULT}" if row == ROBERTA_EVAL else row
        rows.append([name, " / ".join(f"{value:.2f}" for value in theirs), found, _deviation(column[test])])
    document.text(TABLE_3_TEXT)
    document.table(["", "Zhao et al.: Pearson / Spearman / SD", "ours: Pearson / Spearman", "ours: SD"], rows)


def table_4(study: Study, document: Document) -> None:
    """Each corpus by evaluators fitted on it and on the other one."""
    evaluators = study.evaluators
    sets = {name: evaluators.inputs.judged(name).without_outliers() for name in (DAILYDIALOG, PERSONACHAT)}
    result = transfer(
        {ADEM: evaluators.unfitted_adem(*sets.values()), BLEND: evaluators.unfitted_blend()},
        sets,
        "overall",
        folds=PUBLISHED,
        allow_leakage=BY_REPLY,
        published={BLEND: zhao2020.TABLE_4.correlations(ROBERTA_EVAL)},
        folder=evaluators.inputs.cache.cells,
        resamples=evaluators.scores.resamples,
    )
    document.text(TABLE_4_TEXT.format(default=DEFAULT))
    add_study(document, result)


def robustness(study: Study, document: Document) -> None:
    """Correlations without true replies, and with other dimensions."""
    scored = study.everything
    cleaned = scored.judged.without_outliers()
    true, every = of_true_systems(scored.judged.examples), np.ones(len(scored.judged), np.bool_)
    parts = {
        "all replies": ("overall", every),
        "without true replies": ("overall", ~true),
        "relevance": ("relevance", every),
        "grammar": ("grammar", every),
    }
    theirs = {"all replies": zhao2020.TABLE_3.correlations()["RoBERTa-eval"], **zhao2020.SECTION_6_3.correlations()}
    test = cleaned.in_split("test")
    rows = []
    for title, (dimension, rows_wanted) in parts.items():
        cells = [theirs[title].text()]
        for label in (DEFAULT, ADEM):
            column = scored.scores[label]
            cells.append(_agreement(study, column, cleaned.human(dimension), test & rows_wanted))
            cells.append(_agreement(study, column, scored.judged.human(dimension), rows_wanted))
        rows.append([title, *cells])
    header = [f"{label}, {part}" for label in (DEFAULT, ADEM) for part in ("test replies", "all 900")]
    document.text(ROBUST_TEXT)
    document.table(["", "RoBERTa-eval", *header], rows)


def noisy(study: Study, document: Document) -> None:
    """Correlations under noise on the labels."""
    scored = study.everything
    test = scored.judged.in_split("test")
    columns = {label: scored.scores[label][test] for label in (ADEM, DEFAULT)}
    part = ScoredSet(scored.judged.without_outliers().part("test"), "overall", columns, resamples=scored.resamples)
    published = zhao2020.APPENDIX_D.correlations()
    theirs = "; ".join(f"{row}: {found.text()}" for row, found in published.items())
    document.text(NOISE_TEXT.format(theirs=theirs))
    add_study(document, noise(part))


def _deviation(scores: Scores) -> str:
    return f"{np.nanstd(scores):.2f}"


def _agreement(study: Study, scores: Scores, human: Scores, rows: Bools) -> str:
    contexts = study.everything.judged.contexts[rows]
    return agreement(scores[rows], human[rows], contexts, study.evaluators.scores.resamples).text()

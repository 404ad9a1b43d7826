"""Zhao et al. 2020, Designing Precise and Robust Dialogue Response Evaluators (RoBERTa-eval).

Their judged replies to DailyDialog and PersonaChat are public, with the split that the paper uses.
"""

from __future__ import annotations

from math import nan

from papers.published.records import Item, Paper, PublishedTable, State

_AUTHORS = "Zhao et al. 2020"
DAILYDIALOG, PERSONACHAT = "zhao2020_dailydialog", "zhao2020_personachat"
"""The judged sets."""
FULL, WITHOUT_TRUE = "full", "without true replies"
"""The 90 test replies, and the 77 of them that are not true ones."""

TABLE_1 = PublishedTable(
    f"{_AUTHORS}, Table 1",
    tuple(f"{part}: {kind}" for part in (FULL, WITHOUT_TRUE) for kind in ("Pearson", "Spearman", "SD")),
    {
        "ADEM": (0.34, 0.36, 0.51, 0.25, 0.23, 0.30),
        "ADEM, reference": (0.32, 0.35, 0.52, 0.21, 0.23, 0.30),
        "ADEM, context": (0.26, 0.26, 0.32, 0.28, 0.27, 0.33),
        "RUBER": (0.37, 0.31, 0.67, 0.43, 0.41, 0.68),
        "RUBER, reference": (0.32, 0.29, 0.07, 0.12, 0.13, 0.04),
        "RUBER, context": (0.35, 0.29, 1.32, 0.43, 0.39, 1.35),
        "Human": (1.0, 1.0, 1.42, 1.0, 1.0, 1.40),
    },
)
"""DailyDialog, the published test replies; SD: standard deviation of the scores."""

TABLE_2 = PublishedTable(
    f"{_AUTHORS}, Table 2",
    ("Pearson", "Spearman"),
    {"RUBER": (0.37, 0.31), "RUBER, semi-supervised": (0.45, 0.41)},
)

TABLE_3 = PublishedTable(
    f"{_AUTHORS}, Table 3",
    ("Pearson", "Spearman", "SD"),
    {
        "BLEU-2": (0.31, 0.23, 0.31),
        "average": (0.25, 0.23, 0.19),
        "extrema": (0.26, 0.26, 0.23),
        "greedy": (0.25, 0.23, 0.21),
        "ADEM": (0.34, 0.36, 0.51),
        "RUBER": (0.37, 0.31, 0.67),
        "RUBER, semi-supervised": (0.45, 0.41, 0.42),
        "RUBER, context, semi-supervised": (0.43, 0.39, 0.83),
        "RoBERTa-eval": (0.64, 0.66, 1.26),
        "Human": (1.0, 1.0, 1.42),
    },
)
"""DailyDialog, the 90 published test replies."""

ROBERTA_EVAL, RUBER = "RoBERTa-eval", "RUBER"

TABLE_4 = PublishedTable(
    f"{_AUTHORS}, Table 4",
    tuple(f"{evaluator}: {kind}" for evaluator in (ROBERTA_EVAL, RUBER) for kind in ("Pearson", "Spearman")),
    {
        (DAILYDIALOG, DAILYDIALOG): (0.64, 0.66, 0.37, 0.31),
        (DAILYDIALOG, PERSONACHAT): (0.69, 0.69, 0.12, 0.17),
        (PERSONACHAT, PERSONACHAT): (0.75, 0.76, 0.58, 0.57),
        (PERSONACHAT, DAILYDIALOG): (0.50, 0.47, 0.06, 0.06),
    },
)
"""(Trained on, tested on), the published splits."""

SECTION_6_3 = PublishedTable(
    f"{_AUTHORS}, section 6.3",
    ("Pearson", "Spearman"),
    {"without true replies": (0.62, 0.64), "relevance": (0.68, 0.67), "grammar": (0.09, 0.15)},
)
"""RoBERTa-eval, trained on appropriateness: on other replies, and against other dimensions."""

APPENDIX_A = PublishedTable(
    f"{_AUTHORS}, Appendix A",
    ("Krippendorff's alpha", "ratings"),
    {"all ratings": (0.431, 3600), "without outliers": (0.815, 2705)},
)
"""Outliers are ratings further from their reply's median than one median absolute deviation."""

APPENDIX_D = PublishedTable(
    f"{_AUTHORS}, Appendix D",
    ("Pearson", "Spearman"),
    {
        "as it is": (0.64, 0.66),
        "noise of 0.1 on the labels": (0.64, 0.65),
        "noise of 0.5 on the labels": (0.61, 0.62),
        "scores rounded to 1..5": (0.65, 0.66),
    },
)
"""RoBERTa-eval; with noise, the mean of 100 random seeds."""

TABLE_6 = PublishedTable(
    f"{_AUTHORS}, Table 6",
    ("ADEM", "RUBER", "RoBERTa-eval"),
    {
        "unsupervised: learning rate": (nan, 1e-4, 3e-6),
        "unsupervised: batch": (nan, 30, 3),
        "unsupervised: epochs": (nan, 30, 2),
        "supervised: learning rate": (1e-3, 1e-4, 3e-6),
        "supervised: batch": (30, 30, 3),
        "supervised: epochs": (50, 50, 50),
    },
)

_SAME = "zhao2020_dailydialog, the same replies and split"
_BOTH = "zhao2020, the same replies and splits; ADEM and a blend; RoBERTa-eval in roberta-eval, RUBER in ruber-transfer"
_REPLIES = "zhao2020_dailydialog, the same replies"
_OTHERS = f"{_SAME}; ADEM and the default evaluator in place of RoBERTa-eval"
_STUDIES = "evaluator-studies"

ZHAO2020 = Paper(
    "zhao2020",
    _AUTHORS,
    "Designing Precise and Robust Dialogue Response Evaluators",
    (
        Item(
            "Table 1",
            "parts of ADEM and RUBER",
            State.SAME_DATA,
            _SAME,
            _STUDIES,
            "table_1",
            TABLE_1,
        ),
        Item("Table 2", "RUBER with and without labels", State.SAME_DATA, _SAME, "ruber-figures", "sets", TABLE_2),
        Item(
            "Table 3",
            "metrics and evaluators against people",
            State.SAME_DATA,
            f"{_SAME}; the default evaluator in place of RoBERTa-eval, whose own training is in roberta-eval",
            _STUDIES,
            "table_3",
            TABLE_3,
        ),
        Item("Table 4", "from one corpus to another", State.SAME_DATA, _BOTH, _STUDIES, "table_4", TABLE_4),
        Item("Table 5", "how Krippendorff's alpha is read", State.NOTHING_MEASURED, "rules of thumb"),
        Item("Table 6", "training settings", State.NOTHING_MEASURED, "a list of training settings", table=TABLE_6),
        Item("Figure 1", "ratings, overall and by source", State.SAME_DATA, _REPLIES, "rater-figures", "sources"),
        Item(
            "Figure 2",
            "agreement by amount of labels",
            State.SAME_DATA,
            f"{_SAME}; ADEM in place of RoBERTa-eval",
            _STUDIES,
            "amounts",
        ),
        Item(
            "Figure 3",
            "distributions of scores on the test replies",
            State.SAME_DATA,
            f"{_SAME}; the default evaluator in place of RoBERTa-eval",
            _STUDIES,
            "distributions",
        ),
        Item(
            "Section 6.3",
            "without true replies, and other dimensions",
            State.SAME_DATA,
            _OTHERS,
            _STUDIES,
            "robustness",
            SECTION_6_3,
        ),
        Item(
            "Appendix A",
            "agreement of raters with and without outliers",
            State.SAME_DATA,
            "zhao2020_dailydialog, the same ratings",
            "rater-figures",
            "outliers",
            APPENDIX_A,
        ),
        Item("Appendix D", "noise on labels, rounded scores", State.SAME_DATA, _OTHERS, _STUDIES, "noisy", APPENDIX_D),
    ),
)

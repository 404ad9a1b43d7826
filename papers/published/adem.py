"""Lowe et al. 2017, Towards an Automatic Turing Test: Learning to Evaluate Dialogue Responses (ADEM).

Their 4,104 judged Twitter replies were never released, nor was the VHRED that encodes them.
"""

from __future__ import annotations

from math import nan

from papers.published.records import Correlations, Item, Paper, PublishedTable, State

_AUTHORS = "Lowe et al. 2017"

TABLE_2 = PublishedTable(
    f"{_AUTHORS}, Table 2",
    ("kappa",),
    {"overall": (0.63,), "topicality": (0.57,), "informativeness": (0.31,), "background": (0.05,)},
)
"""Median agreement of raters on each question that was tried."""

REPLIES, TEST_REPLIES = 4_104, 616
"""Judged replies, and those of the test set (section 3 and appendix)."""

TABLE_3 = PublishedTable(
    f"{_AUTHORS}, Table 3",
    ("first: Spearman", "first: Pearson", "test: Spearman", "test: Pearson"),
    {
        "BLEU-1": (0.026, 0.055, 0.036, 0.074),
        "BLEU-2": (0.039, 0.081, 0.051, 0.120),
        "BLEU-3": (0.045, 0.043, 0.051, 0.073),
        "BLEU-4": (0.051, 0.025, 0.063, 0.073),
        "ROUGE": (0.062, 0.114, 0.096, 0.147),
        "METEOR": (0.021, 0.022, 0.013, 0.021),
        "T2V": (0.140, 0.141, 0.140, 0.141),
        "VHRED": (-0.035, -0.030, -0.091, -0.010),
        "C-ADEM": (0.272, 0.238, 0.293, 0.303),
        "R-ADEM": (0.428, 0.383, 0.409, 0.392),
        "ADEM (T2V)": (0.395, 0.392, 0.408, 0.411),
        "ADEM": (0.436, 0.389, 0.414, 0.395),
    },
)
"""`first` is the full data set of 4,104 replies, for ADEM the 616 of validation; `test` is the test set of 616."""

TABLE_4 = PublishedTable(
    f"{_AUTHORS}, Table 4",
    ("Pearson",),
    {
        "BLEU-1": (-0.079,),
        "BLEU-2": (0.308,),
        "BLEU-3": (-0.537,),
        "BLEU-4": (-0.536,),
        "ROUGE": (0.268,),
        "ADEM": (0.981,),
    },
)
"""Over the means of four systems."""

ALL, LEFT_OUT = "all systems", "left out"
"""What a model that was fitted without one system is tested on."""

TABLE_5 = PublishedTable(
    f"{_AUTHORS}, Table 5",
    (f"{ALL}: Spearman", f"{ALL}: Pearson", f"{LEFT_OUT}: Spearman", f"{LEFT_OUT}: Pearson"),
    {
        "TF-IDF": (0.4097, 0.3975, 0.3931, 0.3645),
        "Dual Encoder": (0.4000, 0.3907, 0.4256, 0.4098),
        "HRED": (0.4128, 0.3961, 0.3998, 0.3956),
        "Human": (0.4052, 0.3910, 0.4472, 0.4230),
        "average": (0.4069, 0.3938, 0.4164, 0.3982),
        "at random": (0.4077, 0.3932, nan, nan),
    },
)
"""The system that was left out of training; `at random`: a quarter of the training data was left out at random."""

TABLE_6 = PublishedTable(
    f"{_AUTHORS}, Table 6",
    ("replies", "of"),
    {
        "human at least 4": (237, TEST_REPLIES),
        "of these, BLEU-2 and ROUGE below 2": (146, 237),
        "of these, ADEM above 4": (60, 146),
        "human at least 4, ADEM below 2": (42, 237),
        "of these, BLEU-2 or ROUGE above 4": (14, 42),
    },
)
"""Good replies that metrics miss; scores have the mean and variance of human ones, clipped to 1..5."""

TABLE_8 = PublishedTable(
    f"{_AUTHORS}, Table 8",
    ("within 6 words", "others", "p at most"),
    {
        "ROUGE": (0.042, 0.031, 0.01),
        "BLEU-2": (0.0022, 0.0007, 0.23),
        "ADEM": (2.072, 2.015, 0.23),
        "Human": (2.671, 2.698, 0.83),
    },
)
"""Mean score of replies whose length is within 6 words of the reference's (312 replies), and of the others (304)."""

TABLE_10 = PublishedTable(
    f"{_AUTHORS}, Table 10",
    ("Spearman", "Pearson"),
    {
        "BLEU-1": (-0.026, 0.016),
        "BLEU-2": (0.065, 0.080),
        "BLEU-3": (0.139, 0.088),
        "BLEU-4": (0.139, 0.092),
        "ROUGE": (-0.083, -0.010),
    },
)
"""The Twitter replies of Liu et al. 2016 without the speaker tokens at their beginning."""

TABLE_11 = PublishedTable(f"{_AUTHORS}, Table 11", ("seconds",), {"CPU": (2861,), "GPU": (168,)})
"""Time to score the 616 test replies."""

TABLE_14 = PublishedTable(
    f"{_AUTHORS}, Table 14",
    ("Spearman", "Pearson"),
    {
        "100 %": (0.414, 0.395),
        "75 %": (0.408, 0.393),
        "50 %": (0.400, 0.391),
        "25 %": (0.330, 0.331),
        "10 %": (0.245, 0.265),
        "5 %": (0.098, 0.161),
    },
)
"""By the share of the training data; 100 % are 2,872 labels."""


def left_out_figures() -> dict[tuple[str, str], Correlations]:
    """Table 5 in the form that the study `leave_one_system_out` takes: (system, what was tested) -> figures."""
    return {
        (system, part): figures for part in (LEFT_OUT, ALL) for system, figures in TABLE_5.correlations(part).items()
    }


_IN_PLACE = "in place of the judged Twitter replies, which were never released"
_SETS = f"zhao2020 and humod, {_IN_PLACE}"
_ZHAO = f"zhao2020, {_IN_PLACE}"
_ONE_SET = f"zhao2020_dailydialog, {_IN_PLACE}"
_RATED = f"zhao2020, usr_personachat and humod, {_IN_PLACE}"
_PAGE, _STUDIES, _RATERS = "adem-figures", "evaluator-studies", "rater-figures"

ADEM = Paper(
    "adem",
    _AUTHORS,
    "Towards an Automatic Turing Test: Learning to Evaluate Dialogue Responses",
    (
        Item(
            "Table 1", "size of the judged data and agreement of raters", State.OTHER_DATA, _RATED, _RATERS, "agreement"
        ),
        Item("Table 2", "agreement of raters by question", State.OTHER_DATA, _RATED, _RATERS, "agreement", TABLE_2),
        Item(
            "Table 3",
            "metrics, baselines and ADEM against people",
            State.OTHER_DATA,
            f"{_SETS}; metrics in metric-figures and evaluator-figures",
            _PAGE,
            "tables",
            TABLE_3,
        ),
        Item(
            "Table 4", "agreement over the means of systems", State.OTHER_DATA, _ONE_SET, _STUDIES, "systems", TABLE_4
        ),
        Item("Table 5", "one system left out of training", State.OTHER_DATA, _ZHAO, _PAGE, "left_out", TABLE_5),
        Item("Table 6", "good replies that metrics miss", State.OTHER_DATA, _ONE_SET, _STUDIES, "missed", TABLE_6),
        Item("Table 7", "example replies with scores", State.OTHER_DATA, _ONE_SET, _STUDIES, "examples"),
        Item("Table 8", "score by difference of length", State.OTHER_DATA, _SETS, _PAGE, "length", TABLE_8),
        Item(
            "Table 9",
            "replies that ADEM and people like and BLEU does not",
            State.OTHER_DATA,
            _ONE_SET,
            _STUDIES,
            "liked_by_adem",
        ),
        Item(
            "Table 10",
            "the replies of Liu et al. 2016 without speaker tokens",
            State.NOT_PUBLIC,
            "the judged Twitter replies of Liu et al. 2016 are not available",
            table=TABLE_10,
        ),
        Item(
            "Table 11",
            "time to score the test set",
            State.OTHER_DATA,
            f"{TEST_REPLIES} replies of {_ONE_SET}",
            "adem-speed",
            table=TABLE_11,
        ),
        Item("Table 12", "replies that ADEM scores too low", State.OTHER_DATA, _ONE_SET, _STUDIES, "too_low"),
        Item("Table 13", "replies that ADEM scores too high", State.OTHER_DATA, _ONE_SET, _STUDIES, "too_high"),
        Item("Table 14", "agreement by amount of labels", State.OTHER_DATA, _SETS, _PAGE, "amounts", TABLE_14),
        Item("Figure 1", "a reply that word overlap misjudges", State.NOTHING_MEASURED, "an invented example"),
        Item("Figure 2", "the model", State.NOTHING_MEASURED, "a diagram"),
        Item("Figure 3", "scores and people, reply by reply", State.OTHER_DATA, _ONE_SET, _STUDIES, "replies"),
        Item("Figure 4", "scores and people, system by system", State.OTHER_DATA, _ONE_SET, _STUDIES, "systems"),
        Item("Figure 5", "answers of the raters to each question", State.OTHER_DATA, _ONE_SET, _RATERS, "answers"),
        Item("Figure 6", "VHRED", State.NOTHING_MEASURED, "a diagram"),
        Item("Figure 7", "agreement by training epoch", State.OTHER_DATA, _ONE_SET, _PAGE, "figure_7"),
    ),
)

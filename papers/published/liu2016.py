"""Liu et al. 2016, How NOT To Evaluate Your Dialogue System.

Their judged replies, 20 contexts each of Twitter and of the Ubuntu Dialogue Corpus with five replies per context, are
not among the data here.
"""

from __future__ import annotations

from papers.published.records import Item, Paper, PublishedTable, State

_AUTHORS = "Liu et al. 2016"
CORPORA = ("Ubuntu", "Twitter")
METRICS = ("average", "greedy", "extrema")

TABLE_2 = PublishedTable(
    f"{_AUTHORS}, Table 2",
    tuple(f"{corpus}: {metric}" for corpus in CORPORA for metric in METRICS),
    {
        "R-TFIDF": (0.536, 0.370, 0.342, 0.483, 0.356, 0.340),
        "C-TFIDF": (0.571, 0.373, 0.353, 0.531, 0.362, 0.353),
        "DE": (0.650, 0.413, 0.376, 0.597, 0.384, 0.365),
        "LSTM": (0.130, 0.097, 0.089, 0.593, 0.439, 0.420),
        "HRED": (0.580, 0.418, 0.384, 0.599, 0.439, 0.422),
    },
)
"""Embedding metrics of five reply models over the test sets; the 95 % intervals are .001 to .003 either way."""

CLAIMS = (
    ("the dual encoder is above R-TFIDF", "DE", "R-TFIDF"),
    ("the dual encoder is above C-TFIDF", "DE", "C-TFIDF"),
    ("HRED is above the LSTM", "HRED", "LSTM"),
    ("HRED and the dual encoder are alike", "HRED", "DE"),
)
"""What the paper concludes from Table 2 (section 5): in words, which row, compared with which."""

TABLE_3 = PublishedTable(
    f"{_AUTHORS}, Table 3",
    ("Twitter: Spearman", "Twitter: Pearson", "Ubuntu: Spearman", "Ubuntu: Pearson"),
    {
        "greedy": (0.2119, 0.1994, 0.05276, 0.02049),
        "average": (0.2259, 0.1971, -0.1387, -0.1631),
        "extrema": (0.2103, 0.1842, 0.09243, -0.002903),
        "METEOR": (0.1887, 0.1927, 0.06314, 0.1419),
        "BLEU-1": (0.1665, 0.1288, -0.02552, 0.01929),
        "BLEU-2": (0.3576, 0.3874, 0.03819, 0.0586),
        "BLEU-3": (0.3423, 0.1443, 0.0878, 0.1116),
        "BLEU-4": (0.3417, 0.1392, 0.1218, 0.1132),
        "ROUGE": (0.1235, 0.09714, 0.05405, 0.06401),
        "Human": (0.9476, 1.0, 0.9550, 1.0),
    },
)
"""Metrics against people over 100 judged replies per corpus; `Human`: one random half of the judges and the other."""

TABLE_4 = PublishedTable(
    f"{_AUTHORS}, Table 4",
    ("Spearman", "Pearson"),
    {"BLEU-1": (0.1580, 0.2074), "BLEU-2": (0.2030, 0.1300)},
)
"""Twitter, without stop words and punctuation."""

TABLE_5 = PublishedTable(
    f"{_AUTHORS}, Table 5",
    ("within 6 words", "others", "p at most"),
    {
        "BLEU-1": (0.1724, 0.1009, 0.01),
        "BLEU-2": (0.0744, 0.04176, 0.01),
        "average": (0.6587, 0.6246, 0.25),
        "METEOR": (0.2386, 0.2073, 0.01),
        "Human": (2.66, 2.57, 0.73),
    },
)
"""Mean score of replies whose length is within 6 words of the true reply's (47 replies), and of the others (53)."""

_IN_PLACE = "in place of the judged Twitter and Ubuntu replies, which we do not have"
_JUDGED = f"zhao2020, usr_personachat, gupta2019_dailydialog and the GRADE sets, {_IN_PLACE}"
_ONE_SET = f"zhao2020_dailydialog, {_IN_PLACE}"
_PAGE = "metric-figures"

LIU2016 = Paper(
    "liu2016",
    _AUTHORS,
    "How NOT To Evaluate Your Dialogue System",
    (
        Item("Table 1", "two valid replies that share no word", State.NOTHING_MEASURED, "an invented example"),
        Item(
            "Table 2",
            "embedding metrics of five reply models",
            State.OTHER_DATA,
            "DailyDialog, in place of Ubuntu and Twitter; EmpatheticDialogues in reply-model-figures-empathetic",
            "reply-model-figures",
            table=TABLE_2,
        ),
        Item("Table 3", "metrics against people", State.OTHER_DATA, _JUDGED, _PAGE, "table_3", TABLE_3),
        Item(
            "Table 4", "BLEU without stop words and punctuation", State.OTHER_DATA, _JUDGED, _PAGE, "table_4", TABLE_4
        ),
        Item("Table 5", "score by difference of length", State.OTHER_DATA, _JUDGED, _PAGE, "table_5", TABLE_5),
        Item("Figure 1", "scores of metrics and people, reply by reply", State.OTHER_DATA, _ONE_SET, _PAGE, "figure_1"),
        Item(
            "Figure 2",
            "replies that metrics and people judge differently",
            State.OTHER_DATA,
            _ONE_SET,
            _PAGE,
            "figure_2",
        ),
    ),
)

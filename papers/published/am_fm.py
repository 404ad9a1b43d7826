"""D'Haro et al. 2019, Automatic Evaluation of End-to-End Dialog Systems with Adequacy-Fluency Metrics (AM-FM).

The replies, references and ratings of the 20 systems of DSTC6 are public, with what the organisers' tool printed for
each system (Hori & Hori 2017). The tweets that AM and FM were trained on are not.
"""

from __future__ import annotations

from dataclasses import dataclass

from papers.published.records import Item, Paper, PublishedTable, State

_AUTHORS = "D'Haro et al. 2019"

TABLE_1 = PublishedTable(
    f"{_AUTHORS}, Table 1",
    ("Pearson",),
    {
        "BLEU-4": (-0.5108,),
        "METEOR": (0.3628,),
        "ROUGE-L": (0.1450,),
        "CIDEr": (-0.1827,),
        "skip-thought": (-0.4563,),
        "embedding average": (0.7768,),
        "vector extrema": (0.2345,),
        "greedy matching": (0.4028,),
        "AM-FM": (0.8907,),
    },
)
"""Metrics against people over the 20 systems of DSTC6."""

TABLE_1_SYSTEMS = PublishedTable(
    f"{_AUTHORS}, Table 1, by system",
    ("AM-FM", "people"),
    {
        "S_1": (0.7571, 3.3638),
        "S_2": (0.7669, 3.4415),
        "S_3": (0.7571, 3.4298),
        "S_4": (0.7501, 3.4453),
        "S_5": (0.7651, 3.3894),
        "S_6": (0.7648, 3.4778),
        "S_7": (0.7520, 3.4382),
        "S_8": (0.7701, 3.4332),
        "S_9": (0.7623, 3.4504),
        "S_10": (0.7737, 3.5239),
        "S_11": (0.7606, 3.5082),
        "S_12": (0.7527, 3.5107),
        "S_13": (0.7507, 3.3919),
        "S_14": (0.7579, 3.4431),
        "S_15": (0.7616, 3.5209),
        "S_16": (0.7486, 3.3054),
        "S_17": (0.7639, 3.5396),
        "S_18": (0.7455, 3.4546),
        "S_19": (0.7652, 3.5098),
        "S_20": (0.6512, 2.9906),
    },
)

OUTLIER = "S_20"
"""The system that lies far from all others."""
OUTLIER_RATING = TABLE_1_SYSTEMS.column("people")[OUTLIER]
NEXT_RATING = min(value for name, value in TABLE_1_SYSTEMS.column("people").items() if name != OUTLIER)
"""People's mean rating of it, and of the lowest of the others."""

TABLE_2 = PublishedTable(
    f"{_AUTHORS}, Table 2",
    ("n-grams", "Pearson"),
    {1: (17_864, 0.8128), 2: (102_898, 0.8596), 3: (28_774, 0.8272)},
)
"""FM alone, by the order of its n-grams."""


@dataclass(frozen=True, slots=True)
class ExampleReply:
    """One reply of Table 3: the item of the test set that it answers, its scores and its human ratings."""

    item: int
    am: float
    fm: float
    total: float
    human: float
    """Mean of the ten ratings, as printed."""
    human_sd: float
    """Their standard deviation, as printed."""


TABLE_3 = (
    ExampleReply(1438, 0.817, 0.962, 0.846, 4.4, 0.6),
    ExampleReply(190, 0.081, 0.194, 0.104, 1.8, 1.0),
    ExampleReply(1031, 0.917, 0.891, 0.912, 1.4, 0.5),
    ExampleReply(1290, 0.154, 0.460, 0.215, 4.3, 0.6),
    ExampleReply(1583, 0.792, 0.912, 0.816, 1.6, 1.3),
)
"""Replies of S_17; the item numbers were found by the replies' text.

For item 1031 the paper prints a mean rating of 1.4; that of the public ratings is 1.3.
"""

DIMENSIONS, ORDER, LAMBDA = 10, 2, 0.8
"""The best settings, which the paper chose on the test data itself."""
SENTENCES, SVD_SENTENCES = 18_692, 10_000
"""Tweets of agents that FM was trained on, and those of them that the semantic space of AM was made from."""

_SAME = "DSTC6, the same replies and ratings, with other word and skip-thought vectors; AM-FM itself in am-fm-dstc6"
_TEXT = "DSTC6, with AM and FM trained on references of other items, because the tweets of the paper are not public"
_TEXTS = f"{_TEXT}; also on DailyDialog and on Self-dialogue"
_PAGE = "am-fm-dstc6"

AM_FM = Paper(
    "am-fm",
    _AUTHORS,
    "Automatic Evaluation of End-to-End Dialog Systems with Adequacy-Fluency Metrics",
    (
        Item(
            "Table 1", "metrics against people over 20 systems", State.SAME_DATA, _SAME, "am-fm-table1", table=TABLE_1
        ),
        Item("Table 2", "FM by the order of its n-grams", State.OTHER_DATA, _TEXT, _PAGE, "table_2", TABLE_2),
        Item("Table 3", "five replies with their scores", State.OTHER_DATA, _TEXT, _PAGE, "table_3"),
        Item("Figure 1", "AM by dimension", State.OTHER_DATA, _TEXT, _PAGE, "figure_1"),
        Item("Figure 2", "AM-FM by lambda", State.OTHER_DATA, _TEXTS, _PAGE, "figure_2"),
        Item("Figure 3", "scores and people, reply by reply", State.OTHER_DATA, _TEXT, _PAGE, "figure_3"),
    ),
)

"""Tao et al. 2018, RUBER: An Unsupervised Method for Automatic Evaluation of Open-Domain Dialog Systems.

Their judged replies, in Chinese from Douban and Baidu Tieba, were never released.
"""

from __future__ import annotations

from math import nan

from papers.published.records import Item, Paper, PublishedTable, State

_AUTHORS = "Tao et al. 2018"
RETRIEVAL, SEQ2SEQ = "retrieval", "Seq2Seq"

TABLE_2 = PublishedTable(
    f"{_AUTHORS}, Table 2",
    tuple(f"{system}: {kind}" for system in (RETRIEVAL, SEQ2SEQ) for kind in ("Pearson", "Spearman")),
    {
        "human, mean": (0.4927, 0.4981, 0.4692, 0.4708),
        "human, maximum": (0.5931, 0.5926, 0.6068, 0.6028),
        "BLEU-1": (0.2722, 0.2473, 0.1521, 0.2358),
        "BLEU-2": (0.2243, 0.2389, -0.0006, 0.0546),
        "BLEU-3": (0.2018, 0.2247, -0.0576, -0.0188),
        "BLEU-4": (0.1601, 0.1719, -0.0604, -0.0539),
        "ROUGE": (0.2840, 0.2696, 0.1747, 0.2522),
        "s_R": (0.2844, 0.3205, 0.3434, 0.3219),
        "pool": (0.2253, 0.2790, 0.3808, 0.3584),
        "s_U": (0.4278, 0.4338, 0.4137, 0.4240),
        "min": (0.4428, 0.4490, 0.4527, 0.4523),
        "geometric": (0.4559, 0.4771, 0.4523, 0.4490),
        "arithmetic": (0.4594, 0.4906, 0.4509, 0.4458),
        "max": (0.3263, 0.3551, 0.3868, 0.3623),
    },
)
"""Replies of a retrieval system and of Seq2Seq with attention; `pool`: vector pooling between query and reply."""

TABLE_4 = PublishedTable(
    f"{_AUTHORS}, Table 4",
    ("Pearson", "Spearman"),
    {
        "human, mean": (0.4860, 0.4890),
        "human, maximum": (0.6500, 0.6302),
        "BLEU-1": (0.2091, 0.2363),
        "BLEU-2": (0.0369, 0.0715),
        "BLEU-3": (0.1327, 0.1299),
        "BLEU-4": (nan, nan),
        "ROUGE": (0.2435, 0.2404),
        "s_R": (0.2729, 0.2487),
        "pool": (0.2690, 0.2431),
        "s_U": (0.2911, 0.2562),
        "min": (0.3629, 0.3238),
        "geometric": (0.3885, 0.3462),
        "arithmetic": (0.3593, 0.3304),
        "max": (0.2702, 0.2778),
    },
)
"""Trained on Douban, tested on Baidu Tieba: 150 replies of Seq2Seq with attention."""

_IN_PLACE = "in place of the judged Chinese replies, which were never released"
_SETS = f"zhao2020, {_IN_PLACE}"
_GUPTA = f"gupta2019_dailydialog, {_IN_PLACE}"
_PAGE, _STUDIES = "ruber-figures", "evaluator-studies"

RUBER = Paper(
    "ruber",
    _AUTHORS,
    "RUBER: An Unsupervised Method for Automatic Evaluation of Open-Domain Dialog Systems",
    (
        Item("Table 1", "a query with candidate replies", State.NOTHING_MEASURED, "an invented example"),
        Item(
            "Table 2",
            "metrics, parts and blends against people",
            State.OTHER_DATA,
            _SETS,
            _PAGE,
            "ruber",
            TABLE_2,
        ),
        Item(
            "Table 3",
            "two replies with their scores",
            State.OTHER_DATA,
            f"zhao2020_dailydialog, {_IN_PLACE}",
            _STUDIES,
            "liked_by_ruber",
        ),
        Item(
            "Table 4",
            "trained on one corpus, tested on another",
            State.OTHER_DATA,
            "from DailyDialog to PersonaChat and back; " + _SETS,
            "ruber-transfer",
            "",
            TABLE_4,
        ),
        Item(
            "Figure 1",
            "mean s_U by fifth of ratings",
            State.OTHER_DATA,
            f"zhao2020, all replies, {_IN_PLACE}; the paper has true replies only",
            _PAGE,
            "figure_1",
        ),
        Item("Figure 2", "overview of the metric", State.NOTHING_MEASURED, "a diagram"),
        Item("Figure 3", "the network of s_U", State.NOTHING_MEASURED, "a diagram"),
        Item(
            "Figure 4", "scores and people, replies of retrieval", State.OTHER_DATA, _GUPTA, _STUDIES, "ruber_replies"
        ),
        Item("Figure 5", "scores and people, replies of Seq2Seq", State.OTHER_DATA, _GUPTA, _STUDIES, "ruber_replies"),
        Item(
            "Figure 6",
            "scores and people, on the other corpus",
            State.OTHER_DATA,
            f"zhao2020_personachat, {_IN_PLACE}",
            _STUDIES,
            "ruber_replies",
        ),
    ),
)

"""Published figures, (Pearson, Spearman) by row, for the argument `published={label: ...}` of a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rejoinder.meta.experiments.left_out import ALL, AT_RANDOM, AVERAGE, LEFT_OUT
from rejoinder.meta.experiments.result import Figures

ADEM_TABLE_5: Mapping[Any, Figures] = {
    ("TF-IDF", LEFT_OUT): (0.3645, 0.3931),
    ("TF-IDF", ALL): (0.3975, 0.4097),
    ("Dual Encoder", LEFT_OUT): (0.4098, 0.4256),
    ("Dual Encoder", ALL): (0.3907, 0.4000),
    ("HRED", LEFT_OUT): (0.3956, 0.3998),
    ("HRED", ALL): (0.3961, 0.4128),
    ("Human", LEFT_OUT): (0.4230, 0.4472),
    ("Human", ALL): (0.3910, 0.4052),
    (AVERAGE, LEFT_OUT): (0.3982, 0.4164),
    (AVERAGE, ALL): (0.3938, 0.4069),
    (AT_RANDOM, ALL): (0.3932, 0.4077),
}
"""Lowe et al. 2017, leave one system out, on 616 test replies; the data was not released."""

ADEM_TABLE_14: Mapping[Any, Figures] = {
    "100 %": (0.395, 0.414),
    "75 %": (0.393, 0.408),
    "50 %": (0.391, 0.400),
    "25 %": (0.331, 0.330),
    "10 %": (0.265, 0.245),
    "5 %": (0.161, 0.098),
}
"""Lowe et al. 2017, amount of training data; 100 % is 2,872 labels."""

_DAILYDIALOG, _PERSONACHAT = "zhao2020_dailydialog", "zhao2020_personachat"

ZHAO_TABLE_4: Mapping[Any, Figures] = {
    (_DAILYDIALOG, _DAILYDIALOG): (0.64, 0.66),
    (_DAILYDIALOG, _PERSONACHAT): (0.69, 0.69),
    (_PERSONACHAT, _PERSONACHAT): (0.75, 0.76),
    (_PERSONACHAT, _DAILYDIALOG): (0.50, 0.47),
}
"""Zhao et al. 2020, the RoBERTa evaluator between corpora, on the published split."""

ZHAO_TABLE_4_RUBER: Mapping[Any, Figures] = {
    (_DAILYDIALOG, _DAILYDIALOG): (0.37, 0.31),
    (_DAILYDIALOG, _PERSONACHAT): (0.12, 0.17),
    (_PERSONACHAT, _PERSONACHAT): (0.58, 0.57),
    (_PERSONACHAT, _DAILYDIALOG): (0.06, 0.06),
}
"""Zhao et al. 2020, RUBER between corpora, on the published split."""

RUBER_TABLE_4: Mapping[Any, Figures] = {("douban", "tieba"): (0.3885, 0.3462)}
"""Tao et al. 2018, RUBER (geometric mean) trained on Douban and tested on Tieba; the data was not released."""

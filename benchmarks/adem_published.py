"""What the papers report of ADEM, to stand beside ours. Pearson, Spearman."""

from __future__ import annotations

Figures = tuple[float, float]

# Lowe et al. 2017, Table 3, test set of 616 Twitter replies. Their data were never released.
ADEM_TABLE_3: dict[str, Figures] = {
    "adem": (0.395, 0.414),
    "c-adem": (0.303, 0.293),
    "r-adem": (0.392, 0.409),
    "adem, tweet2vec": (0.411, 0.408),
    "vhred-dot": (-0.010, -0.091),
    "t2v-dot": (0.141, 0.140),
}

# Zhao et al. 2020, Table 1: DailyDialog, published split. Pearson, Spearman, standard deviation.
ZHAO_TABLE_1: dict[str, tuple[float, float, float]] = {
    "adem": (0.34, 0.36, 0.51),
    "r-adem": (0.32, 0.35, 0.52),
    "c-adem": (0.26, 0.26, 0.32),
}
ZHAO_TABLE_1_WITHOUT_TRUTH: dict[str, tuple[float, float, float]] = {
    "adem": (0.25, 0.23, 0.30),
    "r-adem": (0.21, 0.23, 0.30),
    "c-adem": (0.28, 0.27, 0.33),
}
ZHAO_HUMAN_DEVIATION = (1.42, 1.40)
"""Of the 90 test replies, and of the 77 that are not true ones."""

# Lowe et al. 2017, Table 5, average of four systems: tested on the system left out, and on all.
LEFT_OUT: dict[tuple[str, str], Figures] = {
    ("average", "left out"): (0.3982, 0.4164),
    ("average", "all systems"): (0.3938, 0.4069),
    ("at random", "all systems"): (0.3932, 0.4077),
}

# Lowe et al. 2017, Table 14.
AMOUNTS: dict[str, Figures] = {
    "5 %": (0.161, 0.098),
    "10 %": (0.265, 0.245),
    "25 %": (0.331, 0.330),
    "50 %": (0.391, 0.400),
    "75 %": (0.393, 0.408),
    "100 %": (0.395, 0.414),
}

# Lowe et al. 2017, Table 8: mean score within 6 words of the reference's length, further off, and p.
LENGTH: dict[str, tuple[float, float, float]] = {"people": (2.671, 2.698, 0.83), "adem": (2.072, 2.015, 0.23)}

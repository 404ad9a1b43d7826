"""What ruber (Tao et al. 2018) and roberta-eval (Zhao et al. 2020) print of RUBER: Pearson and Spearman."""

from __future__ import annotations

Two = tuple[float, float]

RETRIEVAL: dict[str, Two] = {
    "pool": (0.2253, 0.2790),
    "s_R": (0.2844, 0.3205),
    "s_U": (0.4278, 0.4338),
    "min": (0.4428, 0.4490),
    "geometric": (0.4559, 0.4771),
    "arithmetic": (0.4594, 0.4906),
    "max": (0.3263, 0.3551),
}
"""ruber, Table 2, replies of a retrieval system, in Chinese."""

SEQ2SEQ: dict[str, Two] = {
    "pool": (0.3808, 0.3584),
    "s_R": (0.3434, 0.3219),
    "s_U": (0.4137, 0.4240),
    "min": (0.4527, 0.4523),
    "geometric": (0.4523, 0.4490),
    "arithmetic": (0.4509, 0.4458),
    "max": (0.3868, 0.3623),
}
"""ruber, Table 2, replies of a sequence-to-sequence model."""

DAILYDIALOG: dict[str, Two] = {
    "s_R": (0.32, 0.29),
    "s_U": (0.35, 0.29),
    "arithmetic": (0.37, 0.31),
    "s_U, tuned": (0.43, 0.39),
    "arithmetic, tuned": (0.45, 0.41),
}
"""roberta-eval, Tables 1 and 3, the 90 test replies; which blend it is, the paper does not say."""

PERSONACHAT: dict[str, Two] = {"arithmetic": (0.58, 0.57)}
"""roberta-eval, Table 4, trained on PersonaChat."""

TRANSFER: dict[str, Two] = {"arithmetic": (0.12, 0.17)}
"""roberta-eval, Table 4, trained on DailyDialog and tested on PersonaChat."""

WITHOUT_TRUE: dict[str, Two] = {"s_R": (0.12, 0.13), "s_U": (0.43, 0.39), "arithmetic": (0.43, 0.41)}
"""roberta-eval, Table 1, the same test replies without those that were really given."""

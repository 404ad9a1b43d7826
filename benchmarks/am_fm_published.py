"""What am-fm (D'Haro et al. 2019) prints, typed from its Tables 1 to 3."""

from __future__ import annotations

from dataclasses import dataclass

OUTLIER = "S_20"

TABLE_1 = 0.8907
"""Pearson of AM-FM with people over the 20 systems."""

BY_SYSTEM = {
    f"S_{number}": value
    for number, value in enumerate(
        (
            *(0.7571, 0.7669, 0.7571, 0.7501, 0.7651, 0.7648, 0.7520, 0.7701, 0.7623, 0.7737),
            *(0.7606, 0.7527, 0.7507, 0.7579, 0.7616, 0.7486, 0.7639, 0.7455, 0.7652, 0.6512),
        ),
        start=1,
    )
}
"""Table 1: AM-FM of each system."""

FM_ORDERS = {1: (17_864, 0.8128), 2: (102_898, 0.8596), 3: (28_774, 0.8272)}
"""Table 2: order -> number of n-grams, Pearson of FM alone."""


@dataclass(frozen=True, slots=True)
class Dialogue3:
    """One example of Table 3: the item of the test set, and the paper's scores."""

    item: int
    am: float
    fm: float
    total: float


TABLE_3 = (
    Dialogue3(1438, 0.817, 0.962, 0.846),
    Dialogue3(190, 0.081, 0.194, 0.104),
    Dialogue3(1031, 0.917, 0.891, 0.912),
    Dialogue3(1290, 0.154, 0.460, 0.215),
    Dialogue3(1583, 0.792, 0.912, 0.816),
)

"""Ratings from 1 to 4 of 16 items by 4 raters, the last of whom is careless. 0: not rated."""

from __future__ import annotations

import numpy as np

_TABLE = [
    [1, 2, 3, 4], [4, 4, 3, 4], [4, 4, 3, 3], [4, 4, 4, 2], [4, 4, 0, 4], [4, 3, 4, 0], [4, 4, 4, 4], [0, 1, 1, 3],
    [0, 2, 2, 3], [3, 3, 3, 3], [0, 2, 0, 2], [1, 0, 2, 3], [4, 4, 3, 2], [0, 4, 4, 3], [2, 3, 3, 2], [1, 1, 1, 2],
]  # fmt: skip

RATINGS = np.where(np.array(_TABLE) == 0, np.nan, np.array(_TABLE, np.float64))

"""What is counted in a reply and its context."""

from __future__ import annotations

import math

import numpy as np

from rejoinder.evaluators.blend.columns import SURFACE, surface_columns
from rejoinder.types import Example


def test_by_hand() -> None:
    example = Example("", ("I like chess.", "Do you like green tea?"), "Yes, green tea and chess, tea!")
    row = dict(zip(SURFACE, surface_columns([example])[0].tolist(), strict=True))
    assert row["log length"] == math.log(7)
    assert row["distinct share"] == 5 / 6
    assert row["overlap with last turn"] == 3 / 5  # yes, green, tea, chess, tea
    assert row["overlap with context"] == 4 / 5
    assert row["question mark"] == 0
    assert row["closing punctuation"] == 1
    assert row["content share"] == 5 / 6
    assert row["turns"] == 2
    assert row["log length of last turn"] == math.log(6)


def test_what_does_not_exist_is_unknown_or_nothing() -> None:
    alone, empty = surface_columns([Example("", (), "Hello there"), Example("", ("Hi",), "?!")])
    assert np.isnan(alone).tolist() == [name in SURFACE[2:4] or name == SURFACE[8] for name in SURFACE]
    assert np.isfinite(empty).all()
    assert surface_columns([]).shape == (0, len(SURFACE))

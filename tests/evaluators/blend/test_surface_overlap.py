"""The overlap of replies that have no content words."""

from __future__ import annotations

from rejoinder.evaluators.blend.columns import SURFACE, surface_columns
from rejoinder.types import Example


def test_a_reply_without_content_words_overlaps_with_nothing() -> None:
    row = dict(zip(SURFACE, surface_columns([Example("", ("I like tea",), "it is")])[0].tolist(), strict=True))
    assert row["content share"] == 0
    assert row["overlap with last turn"] == row["overlap with context"] == 0

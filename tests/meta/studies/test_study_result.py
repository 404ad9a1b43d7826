"""How a study's table reads."""

from __future__ import annotations

import numpy as np

from rejoinder.meta.study import StudyResult


def test_a_small_p_value_is_told_as_a_bound() -> None:
    header = ("metric", "p", "p of Pearson", "precision")
    rows = (("bleu", 0.0004, np.float64(1e-9), 0.0), ("meteor", 0.04, float("nan"), 0.0002))
    result = StudyResult("name", "Title", "no paper", header, rows)
    _, _, _, first, second = str(result).splitlines()
    assert first.split() == ["bleu", "<.001", "<.001", "0.000"]
    assert second.split() == ["meteor", "0.040", "-", "0.000"]
    assert result.to_dict()["rows"][0]["p"] == 0.0004

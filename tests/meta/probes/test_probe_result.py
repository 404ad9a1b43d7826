"""How a study's table reads."""

from __future__ import annotations

import numpy as np

from rejoinder.trusting.probing import PValue, TableResult


def test_a_small_p_value_is_shown_as_a_bound() -> None:
    header = ("metric", "p", "p of Pearson", "precision")
    rows = (("bleu", PValue(0.0004), PValue(np.float64(1e-9)), 0.0), ("meteor", PValue(0.04), PValue("nan"), 0.0002))
    result = TableResult("name", "Title", "no paper", header, rows)
    _, _, _, first, second = str(result).splitlines()
    assert first.split() == ["bleu", "<", "0.001", "<", "0.001", "0.000"]
    assert second.split() == ["meteor", "0.040", "-", "0.000"]
    assert result.to_dict()["rows"][0]["p"] == 0.0004

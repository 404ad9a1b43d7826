"""Without true replies: a metric that only recognises its reference is left with nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from probe_sets import cells, example, scored_set
from rejoinder.stats.intervals import Interval
from rejoinder.trusting.probing import ScoredSet
from rejoinder.trusting.robustness import without_true_replies_probe


def recognising(n: int = 120, *, by_name: bool = False) -> ScoredSet:
    """Every fourth reply is the true one, which people like; of the others the metric knows nothing."""
    rng = np.random.default_rng(0)
    true = np.arange(n) % 4 == 0
    human = np.where(true, 5, rng.integers(1, 5, n))
    scores = np.where(true, 1.0, rng.random(n) * 0.3)
    examples = [
        example(
            i,
            "the truth" if t else f"reply {i}",
            [f"a reference {i}"] if by_name else ["The  truth"],
            system="ground-truth" if t and by_name else "bot",
            of=i // 4,
        )
        for i, t in enumerate(true.tolist())
    ]
    return scored_set(examples, human, {"overlap": scores, "people too": human})


@pytest.mark.parametrize("by_name", [False, True])
def test_correlations_with_and_without(by_name: bool) -> None:
    scored = recognising(by_name=by_name)
    result = without_true_replies_probe(scored)
    rest = np.arange(120) % 4 != 0
    human, scores = scored.human, scored.scores["overlap"]
    row = cells(result, "overlap")
    assert row["Pearson"] == pytest.approx(pearsonr(scores, human).statistic)
    assert row["Pearson without"] == pytest.approx(pearsonr(scores[rest], human[rest]).statistic)
    assert row["Spearman without"] == pytest.approx(spearmanr(scores[rest], human[rest]).statistic)
    assert row["sd without"] == pytest.approx(scores[rest].std(ddof=1))
    change = row["Spearman change"]
    assert isinstance(change, Interval)
    assert change.high < -0.2
    same = cells(result, "people too")["Pearson change"]
    assert isinstance(same, Interval)
    assert (same.estimate, same.low, same.high) == pytest.approx((0, 0, 0), abs=1e-9)
    assert result is not None
    counts = "0 equal a reference, 30 come" if by_name else "30 equal a reference, 0 come"
    assert result.sentences[0].startswith(f"30 replies of 120 are true ones: {counts}")
    assert "lower for overlap (-" in result.sentences[1]
    assert "people too" not in result.sentences[1]


def test_without_true_replies_or_with_nothing_else_there_is_no_study() -> None:
    human = np.arange(30) % 5
    assert (
        without_true_replies_probe(
            scored_set([example(i, f"reply {i}", ["x"]) for i in range(30)], human, {"m": human})
        )
        is None
    )
    assert (
        without_true_replies_probe(scored_set([example(i, "x", ["x"]) for i in range(30)], human, {"m": human})) is None
    )

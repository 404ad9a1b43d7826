"""Spread: scores that use as much of their range as people do of theirs have a ratio of 1."""

from __future__ import annotations

import numpy as np
import pytest

from probe_sets import BLEU, cells, example, scored_set
from rejoinder.registry import load
from rejoinder.show.figures import HistogramPanel
from rejoinder.stats.intervals import Interval
from rejoinder.trusting.probes import spread_probe

HUMAN = np.tile([1.0, 2, 3, 4, 5], 20)
EXAMPLES = [example(i, of=i // 4) for i in range(100)]


def test_ratio_of_standard_deviations() -> None:
    scores = {"same": (HUMAN - 1) / 4, "half": 0.3 + (HUMAN - 1) / 8, "none": np.full(100, 0.5)}
    result = spread_probe(scored_set(EXAMPLES, HUMAN, scores, dict.fromkeys(scores, BLEU)))
    for label, ratio in (("people", 1), ("same", 1), ("half", 0.5), ("none", 0)):
        found = cells(result, label)["ratio to human sd"]
        assert isinstance(found, Interval)
        assert (found.estimate, found.low, found.high) == pytest.approx((ratio, ratio, ratio))
    assert cells(result, "half")["sd on human scale"] == pytest.approx(HUMAN.std(ddof=1) / 2)
    assert cells(result, "none")["within half a step of the mean"] == 1
    assert cells(result, "same")["within half a step of the mean"] == pytest.approx(0.2)
    assert cells(result, "same")["range"] == "0..1"
    assert result is not None
    assert (
        result.sentences[1]
        == "These spread less than the human ratings: half (60% near the mean) and none (100% near the mean)."
    )
    assert result.sentences[2] == "No significant difference: same (20% near the mean)."


def test_interval_covers_the_sampling_of_contexts() -> None:
    rng = np.random.default_rng(0)
    human, scores = rng.normal(3, 1, 100), rng.normal(0.5, 0.1, 100)
    ratio = cells(spread_probe(scored_set(EXAMPLES, human, {"m": scores}, {"m": BLEU})), "m")["ratio to human sd"]
    assert isinstance(ratio, Interval)
    assert ratio.low < ratio.estimate < ratio.high


def test_a_range_without_end_or_unknown_is_the_one_that_was_seen() -> None:
    lengths = np.tile([3.0, 10, 20, 40, 60], 20)
    result = spread_probe(scored_set(EXAMPLES, HUMAN, {"length": lengths, "file": lengths}, {"length": load("length")}))
    assert cells(result, "length")["range"] == cells(result, "file")["range"] == "3..60 (observed)"


def test_the_histogram_has_all_means_at_people_s() -> None:
    result = spread_probe(
        scored_set(EXAMPLES, HUMAN, {"m": (HUMAN - 1) / 10, "r": HUMAN / 9}, {"m": BLEU, "r": load("repetition")})
    )
    assert result is not None
    panel = result.panels[0]
    assert isinstance(panel, HistogramPanel)
    assert [name for name, _ in panel.groups] == ["people", "m", "r"]
    assert [values.mean() for _, values in panel.groups] == pytest.approx([3, 3, 3])
    assert np.corrcoef(panel.groups[0][1], panel.groups[2][1])[0, 1] == pytest.approx(-1)  # low repetition is good

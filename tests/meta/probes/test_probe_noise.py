"""Noise on labels lowers a correlation as theory says; none leaves it as it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from probe_sets import cells, example, scored_set
from rejoinder.registry import load
from rejoinder.show.figures import LinePanel
from rejoinder.trusting.robustness import SIGMAS, TRIALS, noise_probe, noisy_correlations


def test_no_noise_leaves_the_correlation() -> None:
    rng = np.random.default_rng(0)
    human, scores = rng.integers(1, 6, 80).astype(float), rng.random((80, 2))
    for kind, reference in (("pearson", pearsonr), ("spearman", spearmanr)):
        found = noisy_correlations(scores, human, 0.0, kind)
        assert found.shape == (TRIALS, 2)
        for place in range(2):
            assert found[:, place] == pytest.approx(reference(scores[:, place], human).statistic)


def test_pearson_falls_by_the_reliability_of_the_labels() -> None:
    # Noise of variance s^2 on labels of variance v takes r to about r sqrt(v / (v + s^2)).
    rng = np.random.default_rng(1)
    human = rng.normal(size=2000)
    scores = (human + rng.normal(size=2000))[:, None]
    exact = pearsonr(scores[:, 0], human).statistic
    found = noisy_correlations(scores, human, 0.5, "pearson")
    assert found.mean() == pytest.approx(exact * np.sqrt(human.var() / (human.var() + 0.25)), abs=0.005)
    assert 0 < found.std() < 0.03
    assert np.array_equal(found, noisy_correlations(scores, human, 0.5, "pearson"))
    assert not np.array_equal(found, noisy_correlations(scores, human, 0.5, "pearson", seed=1))


def test_table_and_curves() -> None:
    human = np.tile([1.0, 2, 3, 4, 5], 20)
    rng = np.random.default_rng(2)
    scores = {"people": human, "guess": rng.random(100), "r": -human}
    result = noise_probe(scored_set([example(i) for i in range(100)], human, scores, {"r": load("repetition")}))
    row = cells(result, "people", "Pearson")
    assert row["exact"] == pytest.approx(1)
    assert row["rounded"] == pytest.approx(1)  # whole ratings stay whole
    assert cells(result, "r", "Pearson")["rounded"] == pytest.approx(1)  # its low scores are the good ones
    assert row["noise 0.1"] > row["noise 0.3"] > row["noise 0.5"]
    assert result is not None
    curve = result.panels[0]
    assert isinstance(curve, LinePanel)
    assert [line.name for line in curve.curves] == ["people", "guess", "r"]
    assert curve.curves[0].x == SIGMAS
    assert curve.curves[0].y[-1] == pytest.approx(row["noise 0.5"])
    assert curve.curves[0].low[-1] < curve.curves[0].y[-1] < curve.curves[0].high[-1]
    assert "that of people, from 1.000 to 0." in result.sentences[0]
    assert "people stays first in 100 of the 100 draws" in result.sentences[1]


def test_noise_is_measured_in_steps_of_the_scale() -> None:
    human, scores = np.tile([1.0, 2, 3, 4, 5], 20), np.arange(100.0) % 7
    examples = [example(i) for i in range(100)]
    small, large = (noise_probe(scored_set(examples, human * factor, {"m": scores})) for factor in (1, 2))
    assert cells(small, "m", "Pearson")["noise 0.5"] == pytest.approx(cells(large, "m", "Pearson")["noise 0.5"])


def test_a_metric_that_tells_nothing_apart_has_no_correlation() -> None:
    human = np.tile([1.0, 2, 3, 4, 5], 20)
    result = noise_probe(scored_set([example(i) for i in range(100)], human, {"flat": np.ones(100)}))
    assert np.isnan(cells(result, "flat", "Spearman")["noise 0.5"])
    assert result is not None
    assert result.sentences == (
        "Every metric gives all replies the same score, so there is no correlation for noise to change.",
    )

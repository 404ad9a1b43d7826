"""Scatter plots: a dot a reply, with the papers' jitter on people's axis."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from probe_sets import cells, example, scored_set
from rejoinder.show.figures import ScatterPanel
from rejoinder.trusting.human_scale import HumanScale
from rejoinder.trusting.probes import MOST_DOTS, jitter, scatter_probe


def test_jitter_is_that_of_the_papers() -> None:
    assert jitter(HumanScale(1, 5, 1)) == pytest.approx(0.3)  # Lowe et al. 2017, Figure 3
    assert jitter(HumanScale(0, 2, 1)) == pytest.approx(0.25)  # Tao et al. 2018, Figure 4
    assert jitter(HumanScale(0, 100, 25)) == pytest.approx(7.5)


def test_coefficients_and_dots() -> None:
    rng = np.random.default_rng(0)
    human, scores = rng.integers(1, 6, 60).astype(float), rng.random(60)
    scores[7] = np.nan
    result = scatter_probe(scored_set([example(i) for i in range(60)], human, {"m": scores}))
    known = ~np.isnan(scores)
    linear, ranked = pearsonr(scores[known], human[known]), spearmanr(scores[known], human[known])
    row = cells(result, "m")
    assert (row["Pearson"], row["Spearman"]) == pytest.approx((linear.statistic, ranked.statistic))
    # The p-values are of permutations, which draws of 1,999 know to .03.
    assert (row["p of Pearson"], row["p of Spearman"]) == pytest.approx((linear.pvalue, ranked.pvalue), abs=0.03)
    assert row["replies"] == 59
    assert result is not None
    (panel,) = result.panels
    assert isinstance(panel, ScatterPanel)
    assert np.array_equal(panel.x, human[known])
    assert np.array_equal(panel.y, scores[known])
    assert (panel.title, panel.x_label) == ("m", "people: overall")
    assert panel.x_jitter == pytest.approx(0.3)


def test_many_replies_are_sampled_for_the_plot_alone() -> None:
    n = MOST_DOTS + 500
    human = np.arange(n) % 5
    result = scatter_probe(scored_set([example(i) for i in range(n)], human, {"m": human}))
    assert cells(result, "m")["replies"] == n
    assert result is not None
    (panel,) = result.panels
    assert isinstance(panel, ScatterPanel)
    assert len(panel.x) == MOST_DOTS
    assert panel.title == "m (1,000 of 1,500 replies)"


def test_piled_scores_are_named() -> None:
    human = np.tile([1.0, 2, 3, 4], 10)
    scores = np.where(human > 2, 0.0, human)
    result = scatter_probe(scored_set([example(i) for i in range(40)], human, {"m": scores}))
    assert result is not None
    assert (
        result.sentences[1]
        == "m gives 50% of the replies the same score, 0.000; its Spearman correlation over the other replies is 1.000."
    )

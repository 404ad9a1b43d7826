"""Random-effects meta-analysis, against statsmodels and R's metafor."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from r_oracle import r_numbers, r_vector
from rejoinder.stats.random_effects import METHODS, pool_correlations, pool_effects

SETS = {
    "heterogeneous": ([0.10, 0.55, 0.32, 0.71, 0.25], [0.01, 0.02, 0.005, 0.03, 0.012]),
    "homogeneous": ([0.30, 0.32, 0.29, 0.31], [0.02, 0.01, 0.03, 0.02]),
    "two": ([0.2, 0.6], [0.01, 0.01]),
}


@pytest.mark.parametrize("name", SETS)
def test_dersimonian_and_laird_is_that_of_statsmodels(name: str) -> None:
    meta_analysis = pytest.importorskip("statsmodels.stats.meta_analysis")
    effects, variances = map(np.array, SETS[name])
    theirs = meta_analysis.combine_effects(effects, variances, method_re="chi2")
    ours = pool_effects(effects, variances, method="dersimonian-laird")
    assert ours.tau**2 == pytest.approx(max(theirs.tau2, 0), abs=1e-12)
    assert ours.q == pytest.approx(theirs.q)
    if theirs.tau2 < 0:  # which statsmodels keeps
        return
    assert ours.mean.estimate == pytest.approx(theirs.mean_effect_re)
    error = max(theirs.sd_eff_w_re, theirs.sd_eff_w_re_hksj)
    assert ours.mean.half_width == pytest.approx(t.ppf(0.975, effects.size - 1) * error)


@pytest.mark.slow
@pytest.mark.r
def test_both_methods_are_those_of_metafor() -> None:
    script = """
    shown <- function(effects, variances, method) {
      m <- rma(effects, variances, method = method, test = "adhoc", control = list(threshold = 1e-12, maxiter = 10000))
      cat(format(c(m$beta, m$ci.lb, m$ci.ub, m$tau2, m$I2, m$QE, m$QEp, sqrt(m$tau2 + m$se^2)), digits = 12), "")
    }
    """
    calls = [
        f"shown({r_vector(effects)}, {r_vector(variances)}, '{method}')\n"
        for effects, variances in SETS.values()
        for method in ("REML", "DL")
    ]
    numbers = iter(np.reshape(r_numbers(script + "".join(calls), "metafor"), (-1, 8)))
    for effects, variances in SETS.values():
        for method in METHODS:
            ours = pool_effects(effects, variances, method=method)
            theirs = next(numbers)
            found = [ours.mean.estimate, ours.mean.low, ours.mean.high, ours.tau**2, 100 * ours.i_squared, ours.q]
            np.testing.assert_allclose(found, theirs[:6], rtol=1e-5, atol=1e-7)
            assert ours.q_p_value == pytest.approx(theirs[6], rel=1e-5)
            if len(effects) > 2:
                assert ours.prediction.half_width == pytest.approx(t.ppf(0.975, len(effects) - 2) * theirs[7], rel=1e-5)


def test_correlations_are_pooled_as_z_values() -> None:
    correlations, errors = np.array([0.1, 0.4, 0.6]), np.array([0.1, 0.05, 0.2])
    by_z = pool_effects(np.arctanh(correlations), errors**2)
    found = pool_correlations(correlations, errors)
    assert found.mean.estimate == pytest.approx(np.tanh(by_z.mean.estimate))
    assert found.prediction.high == pytest.approx(np.tanh(by_z.prediction.high))
    assert found.prediction.low < found.mean.low


def test_the_interval_covers_the_mean_of_few_sets() -> None:
    """4 sets, tau .15, standard errors from .05 to .15: 95 % less three standard errors of 300 is 91 %."""
    rng = np.random.default_rng(0)
    hits = predicted = 0
    for _ in range(300):
        errors = rng.uniform(0.05, 0.15, 4)
        truth = 0.3 + 0.15 * rng.normal(size=5)
        found = pool_effects(truth[:4] + errors * rng.normal(size=4), errors**2)
        hits += found.mean.covers(0.3)
        predicted += found.prediction.covers(float(truth[4]))
    assert hits / 300 > 0.91
    assert predicted / 300 > 0.91


def test_one_set_has_no_interval() -> None:
    found = pool_effects([0.5], [0.1])
    assert found.mean.estimate == 0.5
    assert np.isnan(found.mean.low)


@pytest.mark.parametrize(("effects", "variances"), [([], []), ([1.0], [0.0]), ([1.0, 2.0], [1.0]), ([np.nan], [1.0])])
def test_bad_effects(effects: list[float], variances: list[float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        pool_effects(effects, variances)
    with pytest.raises(ValueError, match="method must be one of reml, dersimonian-laird, not 'x'"):
        pool_effects([1.0], [1.0], method="x")

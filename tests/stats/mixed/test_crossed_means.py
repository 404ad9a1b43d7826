"""Crossed random effects: against lme4 and lmerTest, a balanced design with a known answer, and simulated raters."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmark_scripts import benchmark_script
from rejoinder.stats.mixed import crossed_means, fit_reml


@pytest.fixture(scope="module")
def simulation() -> Any:
    return benchmark_script("coverage_raters")


SCRIPT = """
suppressMessages(library(lme4))
d <- read.csv("ratings.csv")
for (name in c("system", "context", "reply", "rater")) d[[name]] <- factor(d[[name]])
m <- lmer(score ~ 0 + system + (1 | context) + (1 | reply) + (1 | rater), d)
v <- as.data.frame(VarCorr(m)); rownames(v) <- v$grp
cat(v[c("context", "reply", "rater", "Residual"), "vcov"], fixef(m), sqrt(diag(as.matrix(vcov(m)))), "\\n")
cat(ranef(m)$rater[, 1], "\\n")
if (requireNamespace("lmerTest", quietly = TRUE)) {
  t <- suppressMessages(lmerTest::as_lmerModLmerTest(m))
  cat(lmerTest::contest(t, c(-1, 1, 0), joint = FALSE)$df, "\\n")
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R (Debian: r-base-core)")
def test_estimates_equal_those_of_lme4(simulation: Any, tmp_path: Path) -> None:
    made = simulation.sample(simulation.Case("", n_contexts=15, n_raters=6), np.random.default_rng(0))
    columns = [made.systems, made.contexts, made.replies, made.raters, made.scores]
    rows = (",".join(str(value) for value in row) for row in zip(*columns, strict=True))
    (tmp_path / "ratings.csv").write_text("system,context,reply,rater,score\n" + "\n".join(rows) + "\n")
    (tmp_path / "fit.R").write_text(SCRIPT)
    ran = subprocess.run(["Rscript", "fit.R"], cwd=tmp_path, capture_output=True, check=False, text=True)
    if "there is no package called" in ran.stderr:
        pytest.skip("needs lme4 (Debian: r-cran-lme4)")
    assert ran.returncode == 0, ran.stderr
    theirs = [[float(value) for value in line.split()] for line in ran.stdout.splitlines()]
    fit = fit_reml(made.scores, np.eye(3)[made.systems], [made.contexts, made.replies, made.raters])
    variances = [*fit.variances, fit.residual_variance]
    means, errors = fit.coefficients + fit.equations.shift, np.sqrt(np.diag(fit.covariance))
    assert variances == pytest.approx(theirs[0][:4], rel=1e-3, abs=1e-4)
    assert [*means, *errors] == pytest.approx(theirs[0][4:], rel=1e-4)
    assert fit.effects(2)[0].tolist() == pytest.approx(theirs[1], abs=1e-4)
    if len(theirs) > 2:
        assert fit.contrast([-1, 1, 0]).degrees == pytest.approx(theirs[2][0], rel=0.01)


def test_a_balanced_table_has_the_answer_of_the_analysis_of_variance() -> None:
    """Items x raters, each pair once: variances are differences of mean squares, and so is the error of the mean."""
    rng = np.random.default_rng(1)
    table = rng.normal(size=(12, 1)) + rng.normal(size=(1, 8)) + 0.5 * rng.normal(size=(12, 8))
    items, raters = np.indices(table.shape)
    fit = fit_reml(table.ravel(), np.ones((96, 1)), [items.ravel(), raters.ravel()])
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    between_items, between_raters = 8 * rows.var(ddof=1), 12 * columns.var(ddof=1)
    rest = float(np.sum((table - rows[:, None] - columns + table.mean()) ** 2)) / (11 * 7)
    assert fit.variances.tolist() == pytest.approx([(between_items - rest) / 8, (between_raters - rest) / 12], rel=1e-4)
    assert fit.residual_variance == pytest.approx(rest, rel=1e-4)
    contrast = fit.contrast([1])
    assert contrast.interval.estimate == pytest.approx(table.mean())
    assert contrast.error**2 == pytest.approx((between_items + between_raters - rest) / 96, rel=1e-4)
    margin = stats.t.ppf(0.975, contrast.degrees) * contrast.error
    assert (contrast.interval.low, contrast.interval.high) == pytest.approx(
        (table.mean() - margin, table.mean() + margin)
    )
    squares = between_items**2 / 11 + between_raters**2 / 7 + rest**2 / 77  # Satterthwaite 1946
    assert contrast.degrees == pytest.approx((between_items + between_raters - rest) ** 2 / squares, rel=0.02)


def test_errors_of_severities_are_those_of_hendersons_equations() -> None:
    """The inverse of the whole matrix of the mixed-model equations (Henderson 1975), with the fitted variances."""
    rng = np.random.default_rng(2)
    items, raters = rng.integers(0, 9, 60), rng.integers(0, 5, 60)
    fit = fit_reml(
        rng.normal(size=9)[items] + rng.normal(size=5)[raters] + rng.normal(size=60), np.ones((60, 1)), [items, raters]
    )
    design = np.hstack([np.ones((60, 1)), np.eye(9)[items], np.eye(5)[raters]])
    shrinkage = np.repeat([0, *fit.residual_variance / fit.variances], [1, 9, 5])
    whole = fit.residual_variance * np.linalg.inv(design.T @ design + np.diag(shrinkage))
    assert fit.effects(1)[1] == pytest.approx(np.sqrt(np.diag(whole)[10:]))


def test_a_strict_rater_does_not_pull_down_the_systems_that_she_rated() -> None:
    """Half of the raters are strict, and they rated mostly system A, which is as good as B."""
    rng = np.random.default_rng(0)
    contexts = np.repeat(np.arange(60), 8)
    systems = np.tile(np.repeat([0, 1], 4), 60)
    strict = rng.random(480) < np.where(systems == 0, 0.8, 0.2)
    raters = np.where(strict, rng.integers(0, 4, 480), rng.integers(4, 8, 480))
    keep = np.unique(np.stack([contexts, systems, raters]), axis=1, return_index=True)[1]
    scores = 3.0 - 1.0 * strict + rng.normal(0, 0.4, 60)[contexts] + rng.normal(0, 0.4, 480)
    found = crossed_means(*(a[keep] for a in (scores, systems, contexts, contexts * 2 + systems, raters)))
    assert found is not None
    plain = scores[keep][systems[keep] == 1].mean() - scores[keep][systems[keep] == 0].mean()
    (difference,) = found.differences
    assert plain > 0.4
    assert difference.contrast.interval.covers(0)
    half = crossed_means(
        *(a[keep] for a in (scores, systems, contexts, contexts * 2 + systems, raters)), confidence=0.5
    )
    assert half is not None
    ratio = found.severities[0].effect.half_width / half.severities[0].effect.half_width
    assert ratio == pytest.approx(stats.t.ppf(0.975, 7) / stats.t.ppf(0.75, 7)), "eight raters"
    severities = {row.rater: row.effect for row in found.severities}
    for rater in range(4):
        assert severities[str(rater)].covers(-0.5)
        assert severities[str(rater + 4)].covers(0.5)
        assert severities[str(rater)].estimate < -0.3 < 0.3 < severities[str(rater + 4)].estimate


@pytest.mark.slow
def test_intervals_cover_about_as_often_as_they_should(simulation: Any) -> None:
    """A short run of benchmarks/coverage_raters.py: 25 data sets, in each of which three intervals are alike."""
    tally = simulation.run_case(simulation.Case("", n_contexts=15, n_raters=8, per_reply=2), 25)
    assert tally["means"] == tally["differences"] == 75
    assert tally["means covered"] >= 63
    assert tally["differences covered"] >= 63


def test_what_cannot_be_separated_is_left_out() -> None:
    scores = np.random.default_rng(0).normal(size=12)
    twelve, pairs, two = np.arange(12), np.arange(12) // 2, np.arange(12) % 2
    assert crossed_means(scores, two, twelve, twelve, two) is None  # one rating per reply and context, two raters
    found = crossed_means(scores, two, pairs, twelve, two)
    assert found is not None
    assert set(found.variances) == {"context", "noise"}
    assert found.severities == ()
    assert crossed_means(np.ones(12), two, pairs, twelve, two) is None


def test_the_search_does_not_stay_at_zero() -> None:
    """Three raters, one of whom is stricter by 2: the first step of a search may lead to variances of 0."""
    rng = np.random.default_rng(0)
    for scale in (0.3, 1.0, 3.0):
        raters, items = np.tile(np.arange(3), 40), np.repeat(np.arange(40), 3)
        scores = scale * rng.normal(size=120) - 2.0 * scale * (raters == 2)
        fit = fit_reml(scores, np.eye(2)[items % 2], [items, raters])
        assert fit.variances[1] > 0.5 * scale**2
        assert fit.effects(1)[0].argmin() == 2


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="must have as many rows"):
        fit_reml([1.0, 2.0], np.ones((3, 1)), [np.array([0, 1])])
    with pytest.raises(ValueError, match="more rows than fixed effects"):
        fit_reml([1.0], np.ones((1, 1)), [np.array([0])])


def test_means_stay_within_the_scale_of_the_ratings() -> None:
    """The second system gets 5 from all but one rater of one reply."""
    contexts, raters, systems = (part.reshape(-1) for part in np.meshgrid(range(8), range(4), range(2)))
    scores = np.where(systems == 0, 1.0 + (contexts + raters) % 3, 5.0)
    scores[(systems == 1) & (contexts == 0)] = [1, 5, 5, 5]
    found = crossed_means(scores, systems, contexts, 2 * contexts + systems, raters)
    assert found is not None
    best = found.means["1"]
    assert best.interval.high == 5
    assert best.interval.estimate + stats.t.ppf(0.975, best.degrees) * best.error > 5, "it would exceed the scale"

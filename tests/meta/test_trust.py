"""Metrics against people: on made-up data whose answer is known, and on published sets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from places import JUDGED
from rejoinder.data.judged import JudgedSet, read_judged
from rejoinder.errors import CallError, NeedsError
from rejoinder.stats.raters import krippendorff_alpha
from rejoinder.trusting.correlations import outlier_note, system_level, utterance_level, within_context
from rejoinder.trusting.probing import ScoredSet
from rejoinder.trusting.trust import trust
from rejoinder.types import Example, JudgedExample


def shared(name: str) -> Path:
    path = JUDGED / name
    if not path.exists():
        pytest.skip(f"needs {name} of ../shared/data")
    return path


@pytest.fixture(scope="module")
def made_up() -> ScoredSet:
    """40 contexts x 5 systems, 3 raters; metrics that see much, little or nothing of the true quality."""
    rng = np.random.default_rng(7)
    quality = rng.normal(0, 1, (40, 5)) + np.arange(5) * 0.5
    items, truth = [], []
    for context in range(40):
        for system in range(5):
            ratings = tuple(np.clip(np.round(3 + quality[context, system] + rng.normal(0, 0.5, 3)), 1, 5).tolist())
            example = Example(
                f"{context}-{system}", (f"context {context}",), "reply", ("reference",), f"system {system}"
            )
            items.append(JudgedExample(example, {"overall": ratings}))
            truth.append(quality[context, system])
    scores = {
        "sharp": np.array(truth) + rng.normal(0, 0.3, 200),
        "dull": np.array(truth) + rng.normal(0, 2.0, 200),
        "blind": rng.normal(0, 1, 200),
    }
    return ScoredSet(JudgedSet.of(items), "overall", scores, resamples=200)


def test_coefficients_equal_scipy(made_up: ScoredSet) -> None:
    table = utterance_level(made_up)
    for row in table.rows:
        column = made_up.scores[row.metric]
        for kind, peer in (
            ("pearson", scipy.stats.pearsonr),
            ("spearman", scipy.stats.spearmanr),
            ("kendall", scipy.stats.kendalltau),
        ):
            expected = peer(column, made_up.human)
            assert row.measured[kind].interval.estimate == pytest.approx(expected.statistic, abs=1e-9)
            assert row.measured[kind].interval.low < expected.statistic < row.measured[kind].interval.high


@pytest.mark.slow
def test_p_values_count_contexts_not_replies() -> None:
    """Scores and ratings that vary by context alone: to take replies as independent would find what is not there."""
    rng, found = np.random.default_rng(3), 0
    for _ in range(40):
        items, scores = [], []
        for context in range(40):
            mood, luck = rng.normal(), rng.normal()
            for reply in range(6):
                example = Example(f"{context}-{reply}", (str(context),), "x")
                items.append(JudgedExample(example, {"overall": (mood + 0.5 * rng.normal(),)}))
                scores.append(luck + 0.5 * rng.normal())
        scored = ScoredSet(JudgedSet.of(items), "overall", {"metric": np.array(scores)}, resamples=100)
        found += utterance_level(scored).rows[0].measured["pearson"].p_value < 0.05
    assert found <= 7  # 2 are expected; replies taken as independent give about 16


def test_many_metrics_can_still_be_told_apart() -> None:
    rng = np.random.default_rng(0)
    quality = rng.normal(0, 1, 300)
    items = [
        JudgedExample(Example(str(row), (str(row // 3),), "x", (), f"s{row % 3}"), {"overall": (value,)})
        for row, value in enumerate(quality.tolist())
    ]
    scores = {"sharp": quality + rng.normal(0, 0.3, 300)}
    scores |= {f"blind {place}": rng.normal(0, 1, 300) for place in range(12)}
    table = utterance_level(ScoredSet(JudgedSet.of(items), "overall", scores, resamples=100))
    assert table.rows[0].metric == "sharp"
    assert [row.cluster for row in table.rows] == [1] + [2] * 12


def test_metrics_whose_low_scores_are_good(made_up: ScoredSet) -> None:
    turned = ScoredSet(
        made_up.judged,
        "overall",
        {"error": -made_up.scores["sharp"], "dull": made_up.scores["dull"]},
        resamples=100,
        lower_is_better=frozenset({"error"}),
    )
    assert [row.metric for row in utterance_level(turned).rows] == ["error", "dull"]
    assert utterance_level(turned).rows[0].measured["pearson"].interval.estimate > 0.8
    assert within_context(turned)[0].metric == "error"


def test_intervals_at_system_level_hold_their_estimate(made_up: ScoredSet) -> None:
    table = system_level(made_up)
    assert table is not None
    for row in table.rows:
        for measured in row.measured.values():
            assert -1 <= measured.interval.low <= measured.interval.estimate <= measured.interval.high <= 1


def test_the_better_metric_is_told_from_the_worse(made_up: ScoredSet) -> None:
    table = utterance_level(made_up)
    assert [row.metric for row in table.rows] == ["sharp", "dull", "blind"]
    assert [row.cluster for row in table.rows] == [1, 2, 3]
    for contest in table.contests:
        assert contest.p_adjusted >= contest.p_permutation
        assert contest.p_williams < 0.05


def test_system_level_correlates_the_means(made_up: ScoredSet) -> None:
    table = system_level(made_up)
    assert table is not None
    row = next(row for row in table.rows if row.metric == "sharp")
    by_system = [
        (
            made_up.scores["sharp"][made_up.judged.systems == name].mean(),
            made_up.human[made_up.judged.systems == name].mean(),
        )
        for name in np.unique(made_up.judged.systems)
    ]
    expected = scipy.stats.pearsonr(*zip(*by_system, strict=True)).statistic
    assert row.measured["pearson"].interval.estimate == pytest.approx(expected)
    assert row.n == 5


def test_fewer_than_three_systems_have_no_system_level(made_up: ScoredSet) -> None:
    rows = np.flatnonzero(np.isin(made_up.judged.systems, ["system 0", "system 1"]))
    assert system_level(made_up.take(rows)) is None


def test_a_correlation_over_three_systems_has_no_p_value(made_up: ScoredSet) -> None:
    for systems, known in ((3, False), (5, True)):
        rows = np.flatnonzero(np.isin(made_up.judged.systems, [f"system {n}" for n in range(systems)]))
        table = system_level(made_up.take(rows))
        assert table is not None
        assert {bool(np.isfinite(row.measured["pearson"].p_value)) for row in table.rows} == {known}


def test_within_context(made_up: ScoredSet) -> None:
    rows = within_context(made_up)
    assert [row.metric for row in rows] == ["sharp", "dull", "blind"]
    assert rows[0].agreement.n_pairs == 40 * 10
    alone = made_up.take(np.flatnonzero(made_up.judged.systems == "system 0"))
    assert within_context(alone) == ()


def test_metrics_are_compared_on_what_all_of_them_scored(made_up: ScoredSet) -> None:
    holes = dict(made_up.scores)
    holes["dull"] = np.where(np.arange(200) < 50, np.nan, holes["dull"])
    table = utterance_level(ScoredSet(made_up.judged, "overall", holes, resamples=50))
    assert {row.n for row in table.rows} == {150}
    assert {row.metric: row.coverage for row in table.rows} == {"sharp": 1, "dull": 0.75, "blind": 1}


def test_report_of_bundled_like_data(made_up: ScoredSet, tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    records = [
        {
            "id": example.id,
            "context": example.context,
            "response": f"reply number {row} " * (row % 4 + 1),
            "references": ["reply number"],
            "system": example.system,
            "scores": {"overall": made_up.judged.ratings["overall"][row].tolist()},
        }
        for row, example in enumerate(made_up.judged.examples)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    report = trust(path, metrics=["rouge-l", "length"], resamples=50)
    plain = report.to_dict()
    assert set(plain["dimensions"]["overall"]["utterance"]["metrics"]) == {"rouge-l", "length"}
    assert plain["contexts"] == 40
    assert "Correlation with people over 200 replies" in str(report)
    json.dumps(plain, allow_nan=False)


def test_scores_of_other_examples(tmp_path: Path) -> None:
    (tmp_path / "judged.jsonl").write_text('{"id": "1", "response": "a", "scores": 1}\n')
    (tmp_path / "scores.jsonl").write_text('{"id": "2", "system": "", "scores": {"x": 1}}\n')
    with pytest.raises(CallError, match="scores none of the examples"):
        trust(tmp_path / "judged.jsonl", scores=[tmp_path / "scores.jsonl"])


def test_too_few_examples(tmp_path: Path) -> None:
    (tmp_path / "judged.jsonl").write_text('{"id": "1", "response": "a b", "scores": 1}\n')
    with pytest.raises(NeedsError, match="expected at least 10"):
        trust(tmp_path / "judged.jsonl", metrics=["length"])


def test_agreement_of_zhao_as_published() -> None:
    """Zhao et al. 2020, section 4: Krippendorff's alpha .431, and .815 without outliers (MAD, threshold 1)."""
    judged = read_judged(shared("zhao2020_dailydialog.jsonl.gz"))
    assert krippendorff_alpha(judged.ratings["overall"]) == pytest.approx(0.431, abs=5e-4)
    cleaned = judged.without_outliers()
    assert krippendorff_alpha(cleaned.ratings["overall"]) == pytest.approx(0.815, abs=5e-4)
    # Appendix A: 3,600 ratings, of which 2,705 remain
    told = outlier_note(judged, cleaned, "overall")
    assert told.startswith("overall: 895 of 3600 ratings were removed as outliers; ")
    assert "alpha is 0.431 with them and 0.815 without" in told


def test_the_agreement_before_and_after_outliers_is_told(tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "response": "a " * (n % 5 + 1), "scores": {"overall": [n % 5, n % 5, n % 5, (n + 3) % 5]}}
        for n in range(20)
    ]
    (tmp_path / "judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = trust(tmp_path / "judged.jsonl", metrics=["length"], remove_outliers=True)
    [note] = [note for note in found.notes if "outliers" in note]
    assert note.startswith("overall: 20 of 80 ratings were removed as outliers; Krippendorff's alpha is ")
    assert " and 1.000 without" in note
    assert note in found.to_dict()["warnings"]
    assert not any("outliers" in note for note in trust(tmp_path / "judged.jsonl", metrics=["length"]).notes)


@pytest.mark.slow
def test_human_means_of_dstc6_as_published() -> None:
    """dstc6_t2.systems.json, human_mean_of_10_raters: the organisers' means of ten raters."""
    judged = read_judged(shared("dstc6_t2.jsonl.gz"))
    published = json.loads(shared("dstc6_t2.systems.json").read_text())["human_mean_of_10_raters"]
    for system in np.unique(judged.systems):
        mean = judged.human("overall")[judged.systems == system].mean()
        assert mean == pytest.approx(published[system], abs=1e-5), system

"""`rejoinder.agree`: ratings with rater ids, filters, one score per reply."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from places import JUDGED
from rated_items import RATINGS
from rejoinder.errors import CallError, DataError
from rejoinder.people.agreement import agree, read_ratings
from rejoinder.types import Rating

NAMES = ["ann", "bo", "cy", "dot"]


def judged_records() -> list[dict[str, object]]:
    """The ratings as judged records; who did not rate a reply is not in its lists."""
    records = []
    for row, scores in enumerate(RATINGS.tolist()):
        given = [(name, score) for name, score in zip(NAMES, scores, strict=True) if not math.isnan(score)]
        records.append(
            {
                "id": f"r{row}",
                "context": [f"context {row // 2}"],
                "response": f"reply {row}",
                "system": "AB"[row % 2],
                "scores": {"overall": [score for _, score in given]},
                "raters": [name for name, _ in given],
                "probability": 0.25,
            }
        )
    return records


def long_rows() -> list[dict[str, object]]:
    return [
        {
            "id": f"r{row}",
            "system": "AB"[row % 2],
            "rater": name,
            "dimension": "overall",
            "score": score,
            "time": "9:00",
        }
        for row, scores in enumerate(RATINGS.tolist())
        for name, score in zip(NAMES, scores, strict=True)
        if not math.isnan(score)
    ]


def test_judged_records_and_a_long_table_are_the_same_ratings(tmp_path: Path) -> None:
    rated = read_ratings(judged_records())
    assert rated.raters == tuple(NAMES)
    assert rated.named
    np.testing.assert_array_equal(rated.ratings["overall"], RATINGS)
    long = read_ratings(long_rows())
    np.testing.assert_array_equal(long.ratings["overall"], RATINGS)
    assert not long.has_texts
    table = tmp_path / "ratings.csv"
    rows = long_rows()
    lines = [",".join(map(str, row.values())) for row in rows]
    table.write_text("\n".join([",".join(rows[0]), *lines]) + "\n")
    np.testing.assert_array_equal(read_ratings(table).ratings["overall"], RATINGS)


def test_the_report_has_the_figures_of_the_packages() -> None:
    """Sources: tests/stats/agreement/test_item_bootstrap.py; kappa of ann and bo by scikit-learn:
    cohen_kappa_score(ann, bo, weights="quadratic")."""
    (found,) = agree(judged_records(), resamples=100).dimensions
    assert found.alpha.estimate == pytest.approx(0.5318461990)
    assert found.intraclass.single_2 == pytest.approx(0.517970, abs=1e-6)
    ann, bo = RATINGS[:, 0], RATINGS[:, 1]
    both = ~np.isnan(ann + bo)
    sklearn = pytest.importorskip("sklearn.metrics")
    assert found.kappas[0, 1] == pytest.approx(sklearn.cohen_kappa_score(ann[both], bo[both], weights="quadratic"))
    rows = {row.rater: row for row in found.raters}
    assert rows["dot"].kappa < 0.3 < rows["bo"].kappa
    assert rows["bo"].n_ratings == 15
    assert "single ratings are not reliable (alpha 0.532 [" in found.sentence()
    assert found.ceiling.low < found.ceiling.estimate < found.ceiling.high < 1


def test_raters_with_a_low_kappa_are_left_out() -> None:
    report = agree(judged_records(), least_kappa=0.3, resamples=100)
    (found,) = report.dimensions
    assert found.removed == ("left out 1 rater with a median kappa below 0.3: dot",)
    assert found.before is not None
    assert found.alpha.estimate > 0.7 > found.before.estimate
    assert "alpha before the filters" in str(report)
    json.dumps(report.to_dict(), allow_nan=False)


@pytest.mark.parametrize("method", ["mean", "normalised", "dawid-skene", "mace"])
def test_one_score_per_reply_is_a_judged_file(method: str, tmp_path: Path) -> None:
    target = tmp_path / "judged.jsonl"
    report = agree(judged_records(), aggregation=method, output=target, resamples=10)
    records = [json.loads(line) for line in target.read_text().splitlines()]
    assert len(records) == 16
    assert records[0]["probability"] == 0.25
    assert records[0]["response"] == "reply 0"
    scores = [record["scores"]["overall"] for record in records]
    assert scores == pytest.approx(report.aggregated["overall"].tolist())
    if method == "mean":
        assert scores == pytest.approx(np.nanmean(RATINGS, axis=1).tolist())


def test_a_long_table_gets_its_replies_from_another_file(tmp_path: Path) -> None:
    target = tmp_path / "judged.jsonl"
    with pytest.raises(CallError, match="has no replies, only their ids"):
        agree(long_rows(), aggregation="mean", output=target, resamples=10)
    replies = [{key: record[key] for key in ("id", "system", "response")} for record in judged_records()]
    agree(long_rows(), replies=replies, aggregation="mean", output=target, resamples=10)
    assert json.loads(target.read_text().splitlines()[3])["response"] == "reply 3"
    with pytest.raises(CallError, match="no reply has the id 'r15'"):
        agree(long_rows(), replies=replies[:-1], aggregation="mean", output=target, resamples=10)


def test_scores_without_names_are_taken_by_their_place() -> None:
    records = [{"id": str(row), "response": "", "scores": [1, 2]} for row in range(3)]
    report = agree(records, resamples=10)
    assert report.rated.raters == ("1", "2")
    assert report.dimensions[0].raters == ()
    assert "do not say who gave which score" in report.notes[0]


BAD = [
    ({"raters": ["a"]}, r"field 'raters': expected one name per score \(2\), found 1"),
    ({"raters": ["a", "a"]}, "field 'raters': expected a different name for each score"),
    ({"raters": "ann"}, "field 'raters': expected a list of names as JSON, found 'ann'"),
    ({"raters": {"style": ["a", "b"]}}, "expected a dimension of the scores, one of overall"),
    ({"probability": 0}, "field 'probability': expected a probability above 0 and up to 1, found 0"),
    ({"probability": "often"}, "field 'probability': expected a number, found 'often'"),
]


@pytest.mark.parametrize(("fields", "message"), BAD)
def test_bad_records_are_told(fields: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_ratings([{"id": "1", "response": "a", "scores": {"overall": [1, 2]}, **fields}])


def test_bad_rows_are_told() -> None:
    row = {"id": "1", "rater": "a", "score": 3}
    for bad, message in (
        ({**row, "score": "x"}, "field 'score': expected a number, found 'x'"),
        ({**row, "rater": ""}, "field 'rater': is missing"),
        ({"rater": "a", "score": 3}, "field 'id': is missing"),
    ):
        with pytest.raises(DataError, match=message):
            read_ratings([bad])
    with pytest.raises(DataError, match="the rater 'a' rated '1' twice: expected one score score"):
        read_ratings([row, row])


def test_wrong_calls_are_told() -> None:
    for settings, message in (
        ({"level": "ratio"}, "level must be 'nominal', 'ordinal' or 'interval', not 'ratio'"),
        ({"aggregation": "median"}, "aggregation must be 'mean', 'normalised', .* not 'median'"),
        ({"least_kappa": 2}, "least_kappa must be a number from -1 to 1"),
        ({"mad": -1}, "mad must be a number of at least 0"),
        ({"dimension": "style"}, "unknown dimension"),
        ({"least_kappa": 1}, "the filters leave no rating of overall"),
    ):
        with pytest.raises(CallError, match=message):
            agree(judged_records(), **settings)


def test_the_outliers_of_zhao_et_al() -> None:
    """Zhao et al. 2020, section 4: alpha .431 before and .815 after removing outliers."""
    path = JUDGED / "zhao2020_dailydialog.jsonl.gz"
    if not path.exists():
        pytest.skip("needs zhao2020_dailydialog of ../shared/data")
    (found,) = agree(path, dimension="overall", mad=1.0, resamples=50).dimensions
    assert found.before is not None
    assert round(found.before.estimate, 3) == 0.431
    assert round(found.alpha.estimate, 3) == 0.815
    assert found.removed[0].startswith("left out 895 of 3,600 ratings")


def test_ratings_have_system_rater_and_time() -> None:
    from rejoinder.data.judged import RatingSource

    _, first = next(iter(RatingSource(long_rows()).ratings()))
    assert first == Rating("r0", "ann", "overall", 1.0, "A", "9:00")
    assert rejoinder.agree is agree

"""A table of scores: columns, summary, frames, text."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rejoinder.errors import UnknownNameError
from rejoinder.scoring.table import ScoreTable
from rejoinder.stats.resampling import mean_interval

NAN = float("nan")


@pytest.fixture
def table() -> ScoreTable:
    return ScoreTable(
        scores={"good": np.array([0.5, 1.0, NAN, 0.0, 0.25]), "long": np.array([3.0, 1500.0, 2.0, 1.0, 4.0])},
        signatures={"good": "good|v:1", "long": "long|v:1"},
        system_names=("one", "two"),
        system_of=np.array([0, 0, 0, 0, 1], np.int32),
        ids=["a", "b", "c", "d", "e"],
        corpus={"good": {"one": 0.9}},
        seed=3,
        resamples=200,
    )


def test_columns_by_label(table: ScoreTable) -> None:
    assert len(table) == 5
    assert table.metrics == ("good", "long")
    assert table["long"].tolist() == [3.0, 1500.0, 2.0, 1.0, 4.0]
    with pytest.raises(UnknownNameError, match=r"^unknown column 'god'; did you mean good\?$"):
        table["god"]


def test_rows_by_system(table: ScoreTable) -> None:
    assert table.rows_of("one").tolist() == [0, 1, 2, 3]
    assert table.rows_of("two").tolist() == [4]
    with pytest.raises(UnknownNameError, match=r"^unknown system 'three'; known: one, two$"):
        table.rows_of("three")


def test_the_summary_leaves_out_what_could_not_be_scored(table: ScoreTable) -> None:
    cell = table.summary()["good"]["one"]
    expected = mean_interval([0.5, 1.0, NAN, 0.0], n_resamples=200, seed=3)
    assert (cell.mean, cell.low, cell.high) == (expected.estimate, expected.low, expected.high)
    assert (cell.mean, cell.n, cell.std, cell.corpus) == (0.5, 3, 0.5, 0.9)
    assert cell.signature == "good|v:1"
    alone = table.summary()["long"]["two"]
    assert (alone.mean, alone.n, alone.corpus) == (4.0, 1, 4.0)
    assert np.isnan([alone.low, alone.high, alone.std]).all()


def test_plain_values_hold_none_for_the_unknown(table: ScoreTable) -> None:
    told = table.to_dict()
    assert (told["examples"], told["seed"], told["warnings"]) == (5, 3, [])
    assert told["summary"]["long"]["two"] == {
        "mean": 4.0,
        "low": None,
        "high": None,
        "n": 1,
        "std": None,
        "corpus": 4.0,
        "signature": "long|v:1",
    }


def test_frames(table: ScoreTable) -> None:
    frame = table.to_polars()
    assert frame.columns == ["id", "system", "good", "long"]
    assert frame["good"].to_list() == [0.5, 1.0, None, 0.0, 0.25]
    assert frame["system"].to_list() == ["one"] * 4 + ["two"]
    assert frame.schema["good"] == pl.Float64
    pandas = table.to_pandas()
    assert list(pandas.columns) == frame.columns
    assert pandas["good"].isna().tolist() == [False, False, True, False, False]
    assert pandas["good"].dtype == "float64"


def test_frames_without_ids_and_with_a_column_that_nothing_could_score() -> None:
    table = ScoreTable(
        scores={"x": np.array([NAN, NAN])},
        signatures={"x": "x"},
        system_names=("",),
        system_of=np.zeros(2, np.int32),
    )
    assert table.to_polars().columns == ["system", "x"]
    assert table.to_pandas()["x"].dtype == "float64"
    cell = table.summary()["x"][""]
    assert cell.n == 0
    assert np.isnan([cell.mean, cell.low, cell.high, cell.std, cell.corpus]).all()
    assert str(table).splitlines()[2].split() == ["x", "-"]


def test_the_text_has_a_row_a_metric(table: ScoreTable) -> None:
    header, _, good, long = str(table).splitlines()
    assert header.split() == ["metric", "one", "two"]
    cell = table.summary()["good"]["one"]
    assert good.split(maxsplit=1) == ["good", f"0.500 [{cell.low:.3f}, {cell.high:.3f}]  0.250"]
    assert long.split()[-1] == "4.000", "one reply has no interval"


def test_the_text_shows_both_ends_of_an_interval_that_is_not_symmetric() -> None:
    skewed = np.random.default_rng(0).exponential(size=40) ** 2
    table = ScoreTable({"x": skewed}, {"x": "x"}, system_names=("",), system_of=np.zeros(40, np.int32))
    cell = table.summary()["x"][""]
    assert cell.high - cell.mean > 1.1 * (cell.mean - cell.low)
    assert str(table).splitlines()[2] == f"x       {cell.mean:.3f} [{cell.low:.3f}, {cell.high:.3f}]"

"""The best, worst and disputed replies are those that the percentiles say; the sample is as large as promised."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

import numpy as np
import pytest

from rejoinder.data.contexts import GroupFinder
from rejoinder.scoring.chosen_rows import percentile_of, percentiles, ranked_metrics, rows_to_show, standing
from rejoinder.scoring.table import ScoreTable
from scored_replies import NAN, random_table, table_of


def test_percentiles_count_ties_half_and_keep_nan() -> None:
    column = np.array([0.5, 0.1, 0.5, NAN, 0.9])
    # Worked by hand: of four scores, 0.1 has half of itself below, the two 0.5 have one and half of two.
    assert percentiles(column)[[1, 0, 2, 4]].tolist() == [0.125, 0.5, 0.5, 0.875]
    assert np.isnan(percentiles(column)[3])
    assert percentiles(column, higher_is_better=False)[1] == 0.875


@pytest.mark.parametrize("higher", [True, False])
def test_one_percentile_equals_that_of_the_column(higher: bool) -> None:
    column = np.random.default_rng(0).integers(0, 5, 40).astype(np.float64)
    column[3] = NAN
    each = [percentile_of(row, column, higher_is_better=higher) for row in range(40)]
    np.testing.assert_allclose(each, percentiles(column, higher_is_better=higher))


def test_lower_is_better_is_turned_round_and_length_left_out() -> None:
    scores = {"bleu": [0.1, 0.2, 0.3, 0.4], "perplexity": [40.0, 30.0, 20.0, 10.0], "length": [99.0, 5.0, 4.0, 1.0]}
    table = table_of(scores, ["a"] * 4)
    chosen = rows_to_show(table)
    assert ranked_metrics(table) == ("bleu", "perplexity")
    assert (chosen.best, chosen.worst) == ((3, 2), (0, 1))
    assert chosen.disputed == ()  # the two metrics agree on every reply


def test_the_most_disputed_reply_is_the_one_that_metrics_rank_furthest_apart() -> None:
    table = table_of({"a": [0.1, 0.5, 0.6, 0.9], "b": [0.9, 0.4, 0.6, 0.8]}, ["s"] * 4)
    # Percentiles (1, 3, 5, 7 and 7, 1, 3, 5 eighths): spreads 6, 2, 2, 2 eighths.
    assert standing(table)[1].tolist() == [0.75, 0.25, 0.25, 0.25]
    assert rows_to_show(table).disputed == (0, 1, 2, 3)


def test_a_reply_that_most_metrics_could_not_score_is_not_best() -> None:
    scores = {"a": [1.0, 0.5, 0.1, 0.2], "b": [NAN, 0.5, 0.1, 0.2], "c": [NAN, 0.5, 0.1, 0.2]}
    chosen = rows_to_show(table_of(scores, ["s"] * 4))
    assert chosen.best[0] == 1
    assert 0 not in chosen.best + chosen.worst + chosen.disputed


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 11, 12, 40])
def test_no_reply_is_best_and_worst(rows: int) -> None:
    chosen = rows_to_show(random_table(rows))
    assert not set(chosen.best) & set(chosen.worst)
    assert len(chosen.best) == min(6, (rows + 1) // 2)
    assert len(chosen.worst) == min(6, rows // 2)


def test_no_reply_is_best_and_worst_where_all_are_equal() -> None:
    chosen = rows_to_show(table_of({"a": [0.5] * 7, "b": [0.1] * 7}, ["s"] * 7))
    assert (chosen.best, chosen.worst) == ((0, 1, 2, 3), (6, 5, 4))


def test_all_rows_are_listed_up_to_the_limit_and_a_seeded_sample_beyond() -> None:
    table = random_table(300)
    assert rows_to_show(table, most=300).listed == tuple(range(300))
    sample = rows_to_show(table, most=50, seed=1)
    assert len(set(sample.listed)) == 50
    assert list(sample.listed) == sorted(sample.listed)
    assert sample == rows_to_show(table, most=50, seed=1)
    assert sample.listed != rows_to_show(table, most=50, seed=2).listed
    assert sample.needed == {*sample.best, *sample.worst, *sample.disputed, *sample.listed}
    assert len(rows_to_show(random_table(5001)).listed) == 5000


def test_metrics_without_an_end_alone_rank_nothing() -> None:
    chosen = rows_to_show(table_of({"length": [1.0, 2.0, 3.0]}, ["s"] * 3))
    assert chosen.best == chosen.worst == chosen.disputed == ()


def test_most_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        rows_to_show(random_table(3), most=0)


def contrasts_one_by_one(table: ScoreTable, scores: list[float]) -> list[list[int]]:
    """Plain loops: each system's first scored reply to each context, the contexts with the largest gaps first."""
    assert table.grouping is not None
    first: dict[int, dict[int, int]] = {int(context): {} for context in table.grouping.contexts}
    for row, score in enumerate(scores):
        if not np.isnan(score):
            first[int(table.grouping.contexts[row])].setdefault(int(table.system_of[row]), row)
    answers = [sorted(rows.values(), key=lambda row: -scores[row]) for rows in first.values()]
    found = [rows for rows in answers if len(rows) > 1 and scores[rows[0]] > scores[rows[-1]]]
    found.sort(key=lambda rows: scores[rows[-1]] - scores[rows[0]])
    if len(table.system_names) == 2:
        sides = [[rows for rows in found if table.system_of[rows[0]] == system] for system in (0, 1)]
        found = [rows for pair in zip_longest(*sides) for rows in pair if rows]
    return [rows if len(rows) <= 4 else rows[:2] + rows[-2:] for rows in found[:4]]


@pytest.mark.parametrize("systems", [2, 3, 6])
@pytest.mark.parametrize("metric", ["bleu", "perplexity"])
def test_contrasts_are_those_of_plain_loops(systems: int, metric: str) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(2, 60))
        column = rng.integers(0, 6, rows).astype(np.float64)  # few values: many equal gaps
        column[rng.random(rows) < 0.2] = NAN
        contexts = rng.integers(0, rows // 3 + 1, rows)  # a system often has several replies to one context
        table = table_of({metric: column.tolist()}, [f"bot-{code}" for code in rng.integers(0, systems, rows)])
        grouping = GroupFinder().of_keys(contexts, np.zeros(rows, np.int64))
        table = replace(table, grouping=grouping)
        expected = contrasts_one_by_one(table, (column if metric == "bleu" else -column).tolist())
        if len(table.system_names) > 1:
            assert [list(shown) for shown in rows_to_show(table, primary=metric).contrasts] == expected

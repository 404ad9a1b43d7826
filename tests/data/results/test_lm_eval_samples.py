"""Samples of the Language Model Evaluation Harness as scores to compare.

The files were written by lm_eval 0.4.13: a task of 8 questions with two choices, its dummy model with two seeds. The
folders were renamed to `old` and `new`; the expected means are those of the harness's tables.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import rejoinder
from rejoinder.data.results import result_rows
from rejoinder.errors import DataError

FILES = Path(__file__).parent / "files" / "lm-eval"
(OLD,), (NEW,) = ((list((FILES / name).glob("samples_*.jsonl"))) for name in ("old", "new"))


def test_the_means_are_those_of_the_harness() -> None:
    compared = rejoinder.compare(scores=[OLD, NEW])
    summary = compared.table.summary()
    assert {column: {system: cell.mean for system, cell in cells.items()} for column, cells in summary.items()} == {
        "acc": {"old": 0.25, "new": 0.5},
        "acc_norm": {"old": 0.25, "new": 0.5},
    }
    assert compared.verdicts[0].result.paired
    assert compared.verdicts[0].n == 8


def test_ids_begin_with_the_task_and_filters_follow_the_metric(tmp_path: Path) -> None:
    rows: Any = result_rows(str(OLD))
    assert [row["id"] for row in rows] == [f"sums/{n}" for n in range(8)]
    sample = json.loads(OLD.read_text().splitlines()[0])
    filtered = tmp_path / "samples_long_task_2026-01-02T03-04-05.6.jsonl"
    filtered.write_text(json.dumps({**sample, "filter": "strict-match"}))
    assert result_rows(filtered) == [
        {
            "id": "long_task/0",
            "system": tmp_path.name,
            "scores": {"acc,strict-match": 1.0, "acc_norm,strict-match": 1.0},
        }
    ]


def test_bad_lines_are_told_with_their_number(tmp_path: Path) -> None:
    bad = tmp_path / OLD.name
    for line, message in (
        ("oops", "is not valid JSON"),
        ('{"doc_id": 3}', "expected a sample with doc_id and metrics"),
    ):
        shutil.copy(OLD, bad)
        bad.write_text(bad.read_text() + line)
        with pytest.raises(DataError, match=rf"{bad.name}:9: {message}"):
            rejoinder.compare(scores=[bad, NEW])


def test_other_jsonl_files_are_tables_as_before(tmp_path: Path) -> None:
    table = tmp_path / "table.jsonl"
    table.write_text('{"id": 1, "system": "a", "rating": 2}\n')
    assert result_rows(table) is None
    assert result_rows(tmp_path / "missing.jsonl") is None
    assert result_rows([{"id": 1}]) is None

"""A blank reference counts as missing: null in the scores, and a note on standard error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rejoinder.data.source import Source, survey

if TYPE_CHECKING:
    from running import Run, WriteLines

GOOD = {"id": "good", "response": "hi there", "references": ["hi there", "hello"]}
OTHER = {"id": "other", "response": "see you", "references": ["bye"]}
BLANK: list[Any] = ["", [""], [" ", "\t"]]
METRICS = ["bleu", "rouge-l", "meteor", "cider", "chrf", "greedy-matching"]


@pytest.mark.parametrize("blank", BLANK)
def test_scores_of_blank_references_are_null_with_a_remark(
    blank: Any, run: Run, write_lines: WriteLines, tmp_path: Path
) -> None:
    path = write_lines([GOOD, {"id": "blank", "response": "hi there", "references": blank}, OTHER])
    chosen = [part for name in METRICS for part in ("-m", name)]
    ran = run("score", path, *chosen, "-o", "scores.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert rows[1]["scores"] == dict.fromkeys(METRICS)
    assert None not in [*rows[0]["scores"].values(), *rows[2]["scores"].values()]
    for name in METRICS:
        assert f"{name} could not score 1 of 3 replies (no references" in ran.err


@pytest.mark.parametrize("blank", BLANK)
def test_data_with_only_blank_references_have_none(blank: Any, run: Run, write_lines: WriteLines) -> None:
    path = write_lines([{"response": "hi", "references": blank}, {"response": "yo", "references": blank}])
    assert survey(Source(path)).has["references"] == 0
    ran = run("score", path, "-m", "bleu")
    assert (ran.code, ran.out) == (2, "")
    assert "references" in ran.err

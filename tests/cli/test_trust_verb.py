"""`rejoinder trust`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from running import Run, WriteLines


def test_scores_from_a_file_count_as_those_of_the_metric(run: Run, write_lines: WriteLines) -> None:
    ratings = np.random.default_rng(7).integers(1, 6, (200, 3)).tolist()
    replies = [
        {
            "id": str(row),
            "context": [f"context {row // 5}"],
            "response": "a " * (row % 7 + 1),
            "system": f"system {row % 5}",
        }
        for row in range(200)
    ]
    judged = [reply | {"scores": {"overall": rated}} for reply, rated in zip(replies, ratings, strict=True)]
    write_lines(replies, "replies.jsonl")
    write_lines(judged, "judged.jsonl")
    assert run("score", "replies.jsonl", "-m", "length", "-o", "scores.jsonl", "--quiet").code == 0
    call = ["trust", "judged.jsonl", "--resamples", "50", "--json", "--quiet"]
    from_file = run(*call, "--scores", "scores.jsonl").json
    assert run(*call, "-m", "length").json["dimensions"] == from_file["dimensions"]
    both = run(*call, "-m", "length", "--scores", "scores.jsonl")
    assert both.code == 2
    assert "scores named 'length', which another" in both.err


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_of_many_digits_is_one_line(digits: int, run: Run, tmp_path: Path) -> None:
    line = '{"response": "hi", "scores": ' + "1" * digits + "}\n"
    (tmp_path / "judged.jsonl").write_text(line)
    (tmp_path / "judged.csv").write_text(f"response,scores\nhi,{'1' * digits}\n")
    for name in ("judged.jsonl", "judged.csv"):
        ran = run("trust", name, "-m", "length")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"rejoinder: {name}:")
        assert ran.err.count("\n") == 1
        assert len(ran.err) < 300
